"""OpenAI's own client asks a running service."""

import asyncio
import json
import threading
from contextlib import closing

import openai
import pytest
from service_clients import QUESTION, TEXTS, filled_graph, local_client

from drag_graph.service.keys import KeyRing
from drag_graph.service.limits import Limits
from drag_graph.service.openai_routes import ChatRequest, _Completion
from drag_graph.service.server import ServicePlace, served
from drag_graph.testing.server import Say, ScriptedServer

ANSWER = f"{TEXTS['steam.txt']} [1]"


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    with filled_graph(tmp_path_factory.mktemp("service")) as graph:
        yield graph


@pytest.fixture(scope="module")
def place(graph):
    """Arguments of a client with a reader's key."""
    with (
        closing(KeyRing(graph.settings.service_records_path)) as ring,
        served(graph, ServicePlace(port=0), Limits(), ring) as running,
    ):
        key, _ = ring.add("reader", "reader", ["default"])
        yield {"base_url": f"{running.address}/v1", "api_key": key, "max_retries": 0}


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
    assert client.models.retrieve("drag-graph:none").id == "drag-graph:none"
    with pytest.raises(openai.NotFoundError, match="There is no model 'gpt-4o'"):
        client.models.retrieve("gpt-4o")


@pytest.mark.parametrize("stop", [" turbine", ["never", "urb", " turbine"]])
def test_the_content_ends_before_a_stop_sequence(client, stop):
    content = ANSWER.partition(" turbine")[0]
    (choice,) = ask(client, QUESTION, stop=stop).choices
    assert (choice.message.content, choice.finish_reason) == (content, "stop")
    chunks = [chunk.choices[0].delta.content or "" for chunk in ask(client, QUESTION, stop=stop, stream=True) if chunk.choices]
    assert "".join(chunks) == content


def test_a_stream_holds_back_what_may_begin_a_stop_sequence():
    request = ChatRequest(model="drag-graph", messages=[{"role": "user", "content": "?"}], stop=["END", "\n\n"])
    completion = _Completion(request)
    events = [completion.token(text) for text in ("Tides", " rise. E", "N", "D and more")]
    parts = [json.loads(event.removeprefix("data: "))["choices"][0]["delta"]["content"] for event in events if event]
    assert "".join(parts) == "Tides rise. "
    assert parts[0] == "Tid"


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
    ],
)
def test_what_is_not_supported_is_refused(client, param, value):
    with pytest.raises(openai.BadRequestError) as raised:
        ask(client, QUESTION, **{param: value})
    assert (raised.value.param, raised.value.code) == (param, "unsupported_parameter")
    assert set(raised.value.body) == {"message", "type", "param", "code"}


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ({"role": "tool", "content": "4", "tool_call_id": "a"}, "messages[0].role"),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,x"}}]}, "messages[0].content"),
        ({"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": ""}}]}, "messages[0].content"),
        ({"role": "user", "content": " "}, "messages"),
        ({"role": "assistant", "content": QUESTION}, "messages"),
        ({"role": "system", "content": "Be brief."}, "messages"),
    ],
)
def test_messages_that_are_refused(client, message, param):
    with pytest.raises(openai.BadRequestError) as raised:
        client.chat.completions.create(model="drag-graph", messages=[message])
    assert raised.value.param == param


def test_a_message_in_parts(client):
    parts = [{"type": "text", "text": "What drives the turbine"}, {"type": "text", "text": "of the harbour crane?"}]
    reply = client.chat.completions.create(model="drag-graph", messages=[{"role": "user", "content": parts}])
    assert reply.choices[0].message.content == ANSWER


@pytest.mark.parametrize("stream", [False, True])
def test_options_are_chosen_from(client, stream):
    asked = f"{QUESTION}\nA) Sand\nB) Steam\nC) Straw"
    if stream:
        chunks = list(ask(client, asked, stream=True))
        content = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    else:
        reply = ask(client, asked)
        content = reply.choices[0].message.content
        assert (reply.drag_graph["question"], reply.drag_graph["label"]) == (QUESTION, "B")
        assert reply.drag_graph["confidence"] > 1 / 3
    assert content == "B. Steam"


def test_the_built_in_student_says_that_it_cannot_rewrite(client):
    reply = ask(client, QUESTION, ANSWER, QUESTION)
    assert reply.choices[0].message.content == ANSWER
    assert reply.drag_graph["question"] == QUESTION
    assert "cannot rewrite" in reply.drag_graph["not_rewritten"]


def test_nothing_stored_is_an_abstention(client):
    reply = ask(client, "Zyx?")
    assert reply.drag_graph["abstained"]
    assert reply.drag_graph["answer_id"] is None
    assert reply.choices[0].message.content == "Nothing relevant is stored."


def test_a_wrong_key(place):
    with openai.OpenAI(**{**place, "api_key": "wrong"}) as client, pytest.raises(openai.AuthenticationError) as raised:
        ask(client, QUESTION)
    assert (raised.value.code, raised.value.type) == ("invalid_api_key", "authentication_error")


def test_every_error_has_the_same_shape(graph, place):
    free = threading.Event()
    body = {"model": "drag-graph", "messages": said(QUESTION)}
    headers = {"Authorization": f"Bearer {place['api_key']}"}
    with local_client(graph, Limits(asks=1, waiting_asks=0, body_bytes=2_000), headers=headers) as client:
        blocked = client.app.state.service.asks.submit(free.wait)
        post = [
            client.post("/v1/chat/completions", **values)
            for values in ({"json": body}, {"json": {**body, "stream": True}}, {"json": {}}, {"content": "{"})
        ]
        post += [client.post("/v1/chat/completions", content="x" * 3_000), client.post("/v1/models")]
        post += [client.get("/v1/models", headers={"Host": "evil.example"}), client.get("/v1/nothing")]
        post += [
            client.post("/v1/chat/completions", content='{"model": "drag-graph", "messages": [{"role": "user"}], "\\ud800": 1}')
        ]
        free.set()
        blocked.result()
    assert [reply.status_code for reply in post] == [429, 429, 400, 400, 413, 405, 421, 404, 400]
    assert {frozenset(reply.json()["error"]) for reply in post} == {frozenset({"message", "type", "param", "code"})}
    assert post[0].json()["error"]["type"] == "rate_limit_error"
    assert post[0].headers["retry-after"]


@pytest.fixture
def scripted(tmp_path):
    """A scripted student, and a client of a service that uses it."""
    with (
        ScriptedServer() as student,
        filled_graph(tmp_path, student="scripted", student_base_url=student.url, scoring="reply") as graph,
        closing(KeyRing(graph.settings.service_records_path)) as ring,
        served(graph, ServicePlace(port=0), Limits(), ring) as running,
        openai.OpenAI(base_url=f"{running.address}/v1", api_key="none", max_retries=0) as client,
    ):
        yield student, client


def test_a_language_model_rewrites_a_follow_up_question(scripted):
    student, client = scripted
    student.script("student", Say(QUESTION), Say("Steam drives it [1]."))
    reply = ask(client, "Tell me about the turbine of the harbour crane.", "It is old.", "What drives it?", max_tokens=99)
    rewriting, answering = student.requests
    assert "assistant: It is old." in rewriting.prompt
    assert QUESTION in answering.prompt
    assert "It is old." not in answering.prompt
    assert answering.body["max_tokens"] == 99
    assert reply.choices[0].message.content == "Steam drives it [1]."
    assert reply.drag_graph["question"] == QUESTION
    assert "not_rewritten" not in reply.drag_graph
    assert reply.usage.prompt_tokens > reply.drag_graph["prompt_tokens"]


def test_a_system_message_replaces_the_instruction(scripted):
    student, client = scripted
    messages = [{"role": "system", "content": "Reply in Latin."}, *said(QUESTION)]
    client.chat.completions.create(model="drag-graph", messages=messages)
    (answering,) = student.requests
    assert answering.prompt.endswith("[ANSWER]\nReply in Latin.")


def test_a_stream_ends_with_what_was_checked_or_with_the_error(scripted):
    student, client = scripted
    student.script("student", Say("Steam drives it [1] [9]."))
    chunks = list(ask(client, QUESTION, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Steam drives it [1] [9]."
    assert chunks[-1].drag_graph["answer"] == "Steam drives it [1]."
    with pytest.raises(openai.APIError, match="has room"):
        list(ask(client, QUESTION, stream=True, max_tokens=100_000))
