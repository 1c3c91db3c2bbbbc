"""OpenAI's own client asks a running service."""

import asyncio

import openai
import pytest
from service_clients import QUESTION, TEXTS, filled_graph

from drag_graph.service.limits import Limits
from drag_graph.service.server import ServicePlace, served

ANSWER = f"{TEXTS['steam.txt']} [1]"


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    with filled_graph(tmp_path_factory.mktemp("service"), privacy="off") as graph:
        yield graph


@pytest.fixture(scope="module")
def place(graph):
    with served(graph, ServicePlace(port=0), Limits(), None) as running:
        yield {"base_url": f"{running.address}/v1", "api_key": "none", "max_retries": 0}


@pytest.fixture(scope="module")
def client(place):
    with openai.OpenAI(**place) as client:
        yield client


def said(*texts):
    """Return messages, the user's first."""
    return [{"role": ("user", "assistant")[number % 2], "content": text} for number, text in enumerate(texts)]


def ask(client, *texts, model="drag-graph", **values):
    return client.chat.completions.create(model=model, messages=said(*texts), **values)


def test_an_answer_has_its_sources(client, graph):
    raw = client.chat.completions.with_raw_response.create(
        model="drag-graph", messages=said(QUESTION), temperature=0.2, stop=[]
    )
    reply = raw.parse()
    (choice,) = reply.choices
    assert (choice.message.content, choice.finish_reason) == (ANSWER, "stop")
    own = reply.drag_graph
    expected = graph.ask(QUESTION).to_dict()
    assert {**own, "latency_ms": 0} == {**expected, "latency_ms": 0, "question": QUESTION}
    assert own["sentences"] == [{"text": TEXTS["steam.txt"], "lines": [1], "supported": True}]
    assert raw.headers["x-answer-id"] == own["answer_id"] == graph.answer(own["answer_id"]).answer.id
    assert reply.usage.prompt_tokens == own["prompt_tokens"] > 0
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens
    assert 5 < reply.usage.completion_tokens < 30


def test_the_asynchronous_client(place):
    async def content():
        async with openai.AsyncOpenAI(**place) as client:
            reply = await client.chat.completions.create(model="drag-graph:evidence", messages=said(QUESTION))
        return reply.choices[0].message.content, reply.drag_graph["mode"]

    assert asyncio.run(content()) == (ANSWER, "evidence")


@pytest.mark.parametrize("with_usage", [True, False])
def test_a_stream(client, with_usage):
    options = {"stream_options": {"include_usage": True}} if with_usage else {}
    chunks = list(ask(client, QUESTION, stream=True, **options))
    choices = [chunk.choices[0] for chunk in chunks if chunk.choices]
    assert choices[0].delta.role == "assistant"
    assert "".join(choice.delta.content or "" for choice in choices) == ANSWER
    assert [choice.finish_reason for choice in choices][-2:] == [None, "stop"]
    assert len({chunk.id for chunk in chunks}) == 1
    last = next(chunk for chunk in chunks if chunk.choices and chunk.choices[0].finish_reason)
    assert last.drag_graph["answer_id"]
    assert [bool(chunk.usage) for chunk in chunks] == [False] * len(choices) + [True] * with_usage
    if with_usage:
        assert chunks[-1].usage == ask(client, QUESTION).usage


def test_models(client):
    names = [model.id for model in client.models.list()]
    assert names == ["drag-graph", *(f"drag-graph:{mode}" for mode in ("none", "evidence", "graph", "combined"))]


def test_an_unknown_model(client):
    with pytest.raises(openai.NotFoundError) as raised:
        ask(client, QUESTION, model="gpt-4o")
    assert (raised.value.code, raised.value.param) == ("model_not_found", "model")


@pytest.mark.parametrize(
    ("param", "value"),
    [
        ("tools", [{"type": "function", "function": {"name": "search", "parameters": {}}}]),
        ("n", 2),
        ("logprobs", True),
        ("response_format", {"type": "json_object"}),
        ("stop", ["x"]),
    ],
)
def test_what_is_not_supported_is_refused(client, param, value):
    with pytest.raises(openai.BadRequestError) as raised:
        ask(client, QUESTION, **{param: value})
    assert (raised.value.param, raised.value.code) == (param, "unsupported_parameter")
    assert set(raised.value.body) == {"message", "type", "param", "code"}
