"""The teacher against a server that is busy, away, slow or unwilling, over real HTTP (docs/explanation/reliability.md)."""

import json
import logging
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from drag_graph.errors import (
    ContextOverflow,
    ModelAccessDenied,
    ModelUnavailable,
    UnknownModel,
)
from drag_graph.models.chat_client import complete
from drag_graph.models.model_server import Server
from drag_graph.models.teachers.served_teacher import ServedTeacher
from drag_graph.settings import load_settings
from drag_graph.testing.server import Fault, Say, ScriptedServer
from tests.integration.teacher_requests import FACTS, QUESTION, SECRET, evidence_request


@pytest.fixture
def server():
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def waits():
    return []


@pytest.fixture(params=["gpt-4o-mini", "o3-mini"], ids=["direct", "litellm"])
def teacher(request, server, waits):
    """A teacher that is reached directly, and one that is reached through LiteLLM."""
    return ServedTeacher(Server(request.param, base_url=server.url, timeout=5, sleep=waits.append))


class TestTransport:
    def test_waits_double(self, server, teacher, waits):
        server.script("evidence", Fault(429), Fault(500), Fault(503), Fault(), Fault(529))
        teacher.ask(evidence_request())
        assert all(0 <= wait <= most for wait, most in zip(waits, [1, 2, 4, 8, 16], strict=True)), waits
        assert len(set(waits)) == 5, "spread, so that what failed together does not come back together"

    @pytest.mark.parametrize("fault", [Fault(429), Fault(500), Fault(502), Fault(503), Fault(504), Fault(408), Fault()])
    def test_five_retries_then_unavailable(self, server, teacher, waits, fault):
        server.script("evidence", *[fault] * 7)
        with pytest.raises(ModelUnavailable) as caught:
            teacher.ask(evidence_request())
        assert (server.count(), len(waits)) == (6, 5)
        assert caught.value.exit_code == 4
        assert caught.value.hint

    def test_the_number_of_retries_can_be_set(self, server, waits):
        server.script("evidence", *[Fault(503)] * 7)
        spec = load_settings({"teacher": "gpt-4o-mini", "teacher_base_url": server.url, "retries": 1}).model_for("teacher")
        with pytest.raises(ModelUnavailable):
            ServedTeacher(Server.of(spec, sleep=waits.append)).ask(evidence_request())
        assert (server.count(), len(waits)) == (2, 1)

    def test_retry_after_in_seconds_and_as_a_date(self, server, teacher, waits):
        date = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
        server.script("evidence", Fault(429, retry_after="7"), Fault(503, retry_after=date), Fault(429, retry_after="soon"))
        teacher.ask(evidence_request())
        assert 7 <= waits[0] <= 7.7
        assert 90 < waits[1] <= 110
        assert 0 <= waits[2] <= 4

    def test_a_wait_of_hours_is_not_waited(self, server, teacher, waits):
        server.script("evidence", Fault(429, retry_after="7200"))
        with pytest.raises(ModelUnavailable, match="7200 s"):
            teacher.ask(evidence_request())
        assert waits == []

    def test_used_up_quota_is_not_retried(self, server, teacher, waits):
        server.script("evidence", Fault(429, code="insufficient_quota"))
        with pytest.raises(ModelUnavailable, match="quota"):
            teacher.ask(evidence_request())
        assert waits == []

    def test_server_down(self, waits):
        teacher = ServedTeacher(Server("any", base_url="http://127.0.0.1:1/v1", sleep=waits.append))
        with pytest.raises(ModelUnavailable, match=r"127\.0\.0\.1:1 .*cannot be reached"):
            teacher.ask(evidence_request())
        assert all(0 <= wait <= most for wait, most in zip(waits, [1, 2, 4], strict=True)), waits

    @pytest.mark.parametrize("say", [Say("slow", interval=0.05), Say("slow", delay=60)], ids=["drip", "silence"])
    def test_no_attempt_outlasts_its_time(self, server, waits, say):
        teacher = ServedTeacher(Server("any", base_url=server.url, timeout=1.5, sleep=waits.append))
        server.script("evidence", say, Say({"evidence": FACTS}))
        began = time.monotonic()
        assert len(teacher.ask(evidence_request()).payload.evidence) == 6
        assert time.monotonic() - began < 12
        assert len(waits) == 1
        assert 0 <= waits[0] <= 1

    def test_wrong_key(self, server, waits):
        server.key = "right"
        teacher = ServedTeacher(Server("gpt-4o-mini", base_url=server.url, api_key=SECRET, sleep=waits.append))
        with pytest.raises(ModelAccessDenied) as caught:
            teacher.ask(evidence_request())
        assert "DRAG_GRAPH_TEACHER_API_KEY" in caught.value.hint
        assert SECRET not in str(caught.value) + caught.value.hint
        assert waits == []
        assert (
            ServedTeacher(Server("gpt-4o-mini", base_url=server.url, api_key="right")).ask(evidence_request()).payload.evidence
        )

    def test_missing_key_is_said_before_any_call(self, monkeypatch):
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        with pytest.raises(ModelAccessDenied) as caught:
            ServedTeacher(Server("gpt-4o-mini")).ask(evidence_request())
        assert "OPENAI_API_KEY" in caught.value.hint

    @pytest.mark.parametrize(
        ("model", "variable"),
        [
            ("gpt-4o-mini", "OPENAI_API_KEY"), ("openai/any", "OPENAI_API_KEY"), ("groq/any", "GROQ_API_KEY"),
            ("deepseek/any", "DEEPSEEK_API_KEY"), ("mistral/any", "MISTRAL_API_KEY"), ("together_ai/any", "TOGETHERAI_API_KEY"),
            ("openrouter/any/any", "OPENROUTER_API_KEY"), ("xai/any", "XAI_API_KEY"), ("anthropic/any", "ANTHROPIC_API_KEY"),
            ("perplexity/any", "PERPLEXITYAI_API_KEY"), ("fireworks_ai/any", "FIREWORKS_AI_API_KEY"),
        ],
    )  # fmt: skip
    def test_a_provider_key_does_not_go_to_another_server(self, server, model, variable, monkeypatch):
        monkeypatch.setenv(variable, SECRET)
        server.key = "right"
        with pytest.raises((ModelAccessDenied, UnknownModel)):
            ServedTeacher(Server(model, base_url=server.url, sleep=lambda _: None)).ask(evidence_request())
        assert server.requests
        assert SECRET not in json.dumps([[request.path, dict(request.headers), request.body] for request in server.requests])

    def test_unknown_models(self, server, teacher):
        server.script("evidence", Fault(404, code="model_not_found"))
        with pytest.raises(UnknownModel, match=teacher.name):
            teacher.ask(evidence_request())
        with pytest.raises(UnknownModel, match="no-such-model"):
            ServedTeacher(Server("no-such-model")).ask(evidence_request())

    def test_prompt_too_long(self, server, teacher):
        server.script("evidence", Fault(400, code="context_length_exceeded"))
        with pytest.raises(ContextOverflow):
            teacher.ask(evidence_request())

    def test_no_secret_in_errors_logs_or_output(self, server, waits, caplog, capfd):
        caplog.set_level(logging.DEBUG)
        told = f"{SECRET} {QUESTION}"
        for code in (400, 401, 403, 404, 429, 500):
            server.script("evidence", *[Fault(code, message=told)] * 6)
            teacher = ServedTeacher(Server("gpt-4o-mini", base_url=server.url, api_key=SECRET, sleep=waits.append))
            with pytest.raises(Exception) as caught:  # each code has its own error; none may leak
                teacher.ask(evidence_request())
            chain, shown = caught.value, ""
            while chain is not None:
                shown += str(chain) + getattr(chain, "hint", "")
                chain = chain.__cause__ or chain.__context__
            assert "confidential" not in shown
            assert SECRET not in shown
            server._scripts.clear()
        written = capfd.readouterr()
        everything = caplog.text + written.out + written.err
        assert "confidential" not in everything
        assert SECRET not in everything

    def test_logprobs_come_through(self, server):
        prompt = "CONTEXT light\nOPTIONS\nA. darkness\nB. light\nANSWER:"
        done = complete(Server("any", server.url), [{"role": "user", "content": prompt}], logprobs=True, top_logprobs=5)
        assert done.text == "B"
        assert [entry["token"] for entry in done.logprobs["content"][0]["top_logprobs"]] == ["B", "A"]
