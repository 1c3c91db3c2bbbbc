"""The teacher against a scripted server, over real HTTP: every row of the failure table (design, section 8)."""

import io
import json
import logging
import threading
import time
import warnings
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from drag_graph import log
from drag_graph.adapters.budget import Budget
from drag_graph.adapters.litellm_client import complete
from drag_graph.adapters.litellm_errors import RequestRejected
from drag_graph.adapters.litellm_teacher import LiteLLMTeacher
from drag_graph.adapters.tape import Tape, TapeTeacher
from drag_graph.errors import (
    BudgetReached,
    ContextOverflow,
    MalformedReply,
    ModelAccessDenied,
    ModelUnavailable,
    RefusedReply,
    ReplyError,
    TruncatedReply,
    UnknownModel,
)
from drag_graph.identity import query_id
from drag_graph.model import Query
from drag_graph.ports import TeacherRequest
from drag_graph.testing.plausible import plausible_tokens
from drag_graph.testing.server import Fault, Say, ScriptedServer, fenced, half
from drag_graph.wire import EvidenceReply, ScoresReply, TriplesReply

SECRET = "the-secret-key-4711"
QUESTION = "Why do confidential plants need light?"
FACTS = [{"text": f"Fact number {i} about plants.", "framing": "causal"} for i in range(6)]
TRIPLE = {"subject": "plant", "predicate": "needs", "object": "light", "confidence": 0.9, "evidence": [0]}
TEXTS = tuple(fact["text"] for fact in FACTS[:3])


@pytest.fixture
def server():
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def waits():
    return []


@pytest.fixture
def teacher(server, waits):
    return LiteLLMTeacher("gpt-4o-mini", base_url=server.url, timeout=5, sleep=waits.append)


def request_for(schema=EvidenceReply, *, count=0, texts=(), question=QUESTION, namespace="default", **parameters):
    query = Query(id=query_id(namespace, question), namespace=namespace, text=question)
    lines = "\n".join(f"{i}. {text}" for i, text in enumerate(texts))
    return TeacherRequest(
        query=query,
        stage=schema.schema_name,
        schema=schema,
        messages=({"role": "system", "content": "You help."}, {"role": "user", "content": f"{question}\n{lines}"}),
        prompt_version="test-1",
        simpler=({"role": "user", "content": f"SIMPLER {question}"},),
        parameters=parameters,
        count=count,
        texts=tuple(texts),
    )


def evidence_request(count=6):
    return request_for(count=count)


class TestGoodReplies:
    def test_call_record(self, server, teacher):
        server.script("evidence", Say({"evidence": FACTS}))
        reply = teacher.ask(evidence_request())
        assert [item.text for item in reply.payload.evidence] == [fact["text"] for fact in FACTS]
        call = reply.call
        assert not reply.cached
        assert (call.model, call.stage, call.prompt_version) == ("gpt-4o-mini", "evidence", "test-1")
        assert call.query_id == query_id("default", QUESTION)
        assert call.tokens_in > 0
        assert call.cost_usd == pytest.approx(call.tokens_in * 1.5e-7 + call.tokens_out * 6e-7)
        assert datetime.fromisoformat(call.created_at).tzinfo == UTC

    def test_schema_is_sent_and_the_model_name_is_bare(self, server, teacher):
        teacher.ask(evidence_request())
        body = server.of("evidence")[0].body
        assert body["model"] == "gpt-4o-mini"
        assert body["response_format"]["json_schema"]["name"] == "evidence"
        assert body["response_format"]["json_schema"]["schema"] == EvidenceReply.json_schema
        assert body["max_tokens"] == 4096

    @pytest.mark.parametrize("schema", [EvidenceReply, ScoresReply, TriplesReply])
    def test_default_replies_of_the_server_are_valid(self, teacher, schema):
        reply = teacher.ask(request_for(schema, texts=TEXTS))
        assert len(getattr(reply.payload, schema.list_name)) >= 3
        assert reply.payload.discarded == ()

    def test_a_server_without_schemas_gets_words(self, server, teacher):
        refused = [Fault(400, message="response_format is not supported")] * 2
        server.script("evidence", *refused, Say({"evidence": FACTS}))
        assert len(teacher.ask(evidence_request()).payload.evidence) == 6
        formats = [(request.body.get("response_format") or {}).get("type") for request in server.of("evidence")]
        assert formats == ["json_schema", "json_object", None]
        assert 'schema "evidence"' in server.of("evidence")[2].prompt
        teacher.ask(evidence_request(count=5))
        assert "response_format" not in server.of("evidence")[3].body, "what the server takes is remembered"

    def test_a_request_that_is_rejected_in_every_form(self, server, teacher):
        server.script("evidence", *[Fault(400, message=SECRET)] * 3)
        with pytest.raises(RequestRejected) as caught:
            teacher.ask(evidence_request())
        assert SECRET not in str(caught.value)


class TestTransport:
    def test_waits_double(self, server, teacher, waits):
        server.script("evidence", Fault(429), Fault(500), Fault(503), Fault(), Fault(529))
        teacher.ask(evidence_request())
        assert waits == [1, 2, 4, 8, 16]

    @pytest.mark.parametrize("fault", [Fault(429), Fault(500), Fault(502), Fault(503), Fault(504), Fault(408), Fault()])
    def test_five_retries_then_unavailable(self, server, teacher, waits, fault):
        server.script("evidence", *[fault] * 7)
        with pytest.raises(ModelUnavailable) as caught:
            teacher.ask(evidence_request())
        assert (server.count(), len(waits)) == (6, 5)
        assert caught.value.exit_code == 4
        assert caught.value.hint

    def test_retry_after_in_seconds_and_as_a_date(self, server, teacher, waits):
        date = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
        server.script("evidence", Fault(429, retry_after="7"), Fault(503, retry_after=date), Fault(429, retry_after="soon"))
        teacher.ask(evidence_request())
        assert waits[0] == 7
        assert 90 < waits[1] <= 100
        assert waits[2] == 4

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
        teacher = LiteLLMTeacher("any", base_url="http://127.0.0.1:1/v1", sleep=waits.append)
        with pytest.raises(ModelUnavailable, match=r"127\.0\.0\.1:1 .*cannot be reached"):
            teacher.ask(evidence_request())
        assert waits == [1, 2, 4]

    @pytest.mark.parametrize("say", [Say("slow", interval=0.05), Say("slow", delay=3)], ids=["drip", "silence"])
    def test_no_attempt_outlasts_its_time(self, server, waits, say):
        teacher = LiteLLMTeacher("any", base_url=server.url, timeout=0.4, sleep=waits.append)
        server.script("evidence", say, Say({"evidence": FACTS}))
        began = time.monotonic()
        assert len(teacher.ask(evidence_request()).payload.evidence) == 6
        assert time.monotonic() - began < 2.5
        assert waits == [1]

    def test_deadline_covers_all_attempts(self, server):
        server.script("student", *[Fault(503)] * 9)
        moments = [0.0]
        with pytest.raises(ModelUnavailable):
            complete(
                "any", [{"role": "user", "content": "?"}], base_url=server.url, deadline=4.0,
                sleep=lambda seconds: moments.append(moments[-1] + seconds), clock=lambda: moments[-1],
            )  # fmt: skip
        assert moments == [0.0, 1.0, 3.0]

    def test_wrong_key(self, server, waits):
        server.key = "right"
        teacher = LiteLLMTeacher("gpt-4o-mini", base_url=server.url, api_key=SECRET, sleep=waits.append)
        with pytest.raises(ModelAccessDenied) as caught:
            teacher.ask(evidence_request())
        assert "DRAG_GRAPH_TEACHER_API_KEY" in caught.value.hint
        assert SECRET not in str(caught.value) + caught.value.hint
        assert waits == []
        assert LiteLLMTeacher("gpt-4o-mini", base_url=server.url, api_key="right").ask(evidence_request()).payload.evidence

    def test_missing_key_is_said_before_any_call(self, monkeypatch):
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        with pytest.raises(ModelAccessDenied) as caught:
            LiteLLMTeacher("gpt-4o-mini").ask(evidence_request())
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
            LiteLLMTeacher(model, base_url=server.url, sleep=lambda _: None).ask(evidence_request())
        assert server.requests
        assert SECRET not in json.dumps([[request.path, dict(request.headers), request.body] for request in server.requests])

    def test_unknown_models(self, server, teacher):
        server.script("evidence", Fault(404, code="model_not_found"))
        with pytest.raises(UnknownModel, match="gpt-4o-mini"):
            teacher.ask(evidence_request())
        with pytest.raises(UnknownModel, match="no-such-model"):
            LiteLLMTeacher("no-such-model").ask(evidence_request())

    def test_prompt_too_long(self, server, teacher):
        server.script("evidence", Fault(400, code="context_length_exceeded"))
        with pytest.raises(ContextOverflow):
            teacher.ask(evidence_request())

    def test_no_secret_in_errors_logs_or_output(self, server, waits, caplog, capfd):
        caplog.set_level(logging.DEBUG)
        told = f"{SECRET} {QUESTION}"
        for code in (400, 401, 403, 404, 429, 500):
            server.script("evidence", *[Fault(code, message=told)] * 6)
            teacher = LiteLLMTeacher("gpt-4o-mini", base_url=server.url, api_key=SECRET, sleep=waits.append)
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
        done = complete("any", [{"role": "user", "content": prompt}], base_url=server.url, logprobs=True, top_logprobs=5)
        assert done.text == "B"
        assert [entry["token"] for entry in done.logprobs["content"][0]["top_logprobs"]] == ["B", "A"]


class TestCutOff:
    def test_continuation(self, server, teacher):
        text = json.dumps({"evidence": FACTS})
        server.script("evidence", Say(text[:200], finish_reason="length"), Say(text[180:]))
        reply = teacher.ask(evidence_request())
        assert [item.text for item in reply.payload.evidence] == [fact["text"] for fact in FACTS]
        asked = server.requests[1].body["messages"]
        assert asked[-2] == {"role": "assistant", "content": text[:200]}
        assert server.count() == 2

    def test_half_a_json_counts_as_cut_off_whatever_the_server_says(self, server, teacher):
        text = json.dumps({"evidence": FACTS})
        server.script("evidence", half({"evidence": FACTS}, 0.5, "stop"), Say(text[int(len(text) * 0.5) :]))
        assert len(teacher.ask(evidence_request()).payload.evidence) == 6

    def test_a_model_that_begins_anew(self, server, teacher):
        server.script("evidence", half({"evidence": FACTS}), fenced({"evidence": FACTS}))
        assert len(teacher.ask(evidence_request()).payload.evidence) == 6

    def test_smaller_ask_then_error(self, server, teacher):
        server.script("evidence", half({"evidence": FACTS}), half({"evidence": FACTS}), Say({"evidence": FACTS[:2]}))
        assert len(teacher.ask(evidence_request()).payload.evidence) == 2
        assert "at most 3 entries" in server.requests[2].prompt
        assert "SIMPLER" in server.requests[2].prompt
        server.script("evidence", *[half({"evidence": FACTS}, 0.4 + i / 9) for i in range(3)])
        with pytest.raises(TruncatedReply) as caught:
            teacher.ask(evidence_request(count=5))
        assert caught.value.raw.startswith('{"evidence"')
        assert server.count() == 6

    def test_tokens_and_cost_are_summed(self, server, teacher):
        server.script("evidence", half({"evidence": FACTS}), fenced({"evidence": FACTS}))
        reply = teacher.ask(evidence_request())
        call = reply.call
        assert server.count() == reply.requests == 2
        assert call.tokens_in == sum(plausible_tokens(request.prompt) for request in server.requests)
        assert call.cost_usd == pytest.approx(call.tokens_in * 1.5e-7 + call.tokens_out * 6e-7)


class TestRefusals:
    @pytest.mark.parametrize(
        "refusal",
        [Say("I'm sorry, but I can't help with that."), Say("", refusal="I can't."), Say("", finish_reason="content_filter"),
         Fault(400, code="content_policy_violation")],
        ids=["words", "field", "filter", "status"],
    )  # fmt: skip
    def test_one_reformulation_then_refused(self, server, teacher, refusal):
        server.script("evidence", refusal, Say({"evidence": FACTS}))
        assert len(teacher.ask(evidence_request()).payload.evidence) == 6
        assert "publicly known" in server.requests[1].prompt
        server.script("evidence", refusal, refusal)
        with pytest.raises(RefusedReply):
            teacher.ask(evidence_request(count=5))
        assert server.count() == 4


class TestMalformed:
    def test_asked_again_with_the_reason_then_simpler_then_error(self, server, teacher):
        server.script("evidence", *[Say("Plants are green.")] * 3)
        with pytest.raises(MalformedReply) as caught:
            teacher.ask(evidence_request())
        assert caught.value.raw == "Plants are green."
        first, second, third = server.requests
        assert "response_format" in first.body
        assert "cannot be used: there is no JSON in the reply" in second.prompt
        assert 'schema "evidence"' in second.prompt
        assert "SIMPLER" in third.prompt
        assert "You help." not in third.prompt

    @pytest.mark.parametrize(
        "say",
        [
            fenced({"evidence": FACTS}),
            Say(f'<think>Maybe {{"evidence": []}}?</think>{json.dumps({"evidence": FACTS})}'),
            Say(f"Sure! {json.dumps({'evidence': FACTS})} I hope that [this] helps."),
            Say(json.dumps(FACTS)),
            Say("\n".join(json.dumps(fact) for fact in FACTS)),
            Say(json.dumps({"evidence": FACTS}).replace('"', "'")),
            Say(json.dumps({"evidence": FACTS})[:-2]),
            Say(json.dumps({"result": {"evidence": FACTS}})),
            Say(json.dumps(json.dumps({"evidence": FACTS}))),
        ],
        ids=["fence", "reasoning", "prose", "bare list", "lines", "single quotes", "no closing", "wrapped", "encoded twice"],
    )
    def test_messy_replies_need_no_second_request(self, server, teacher, say):
        server.script("evidence", say)
        reply = teacher.ask(evidence_request())
        assert [item.text for item in reply.payload.evidence] == [fact["text"] for fact in FACTS]
        assert server.count() == 1

    def test_wrong_number_of_evidence(self, server, teacher):
        server.script("evidence", Say({"evidence": FACTS}))
        reply = teacher.ask(evidence_request(count=4))
        assert len(reply.payload.evidence) == 4
        assert "more than the 4 asked for" in reply.payload.discarded[0]
        server.script("evidence", Say({"evidence": FACTS[:2]}))
        assert len(teacher.ask(evidence_request(count=5)).payload.evidence) == 2

    def test_no_evidence_at_all_is_asked_again(self, server, teacher):
        server.script("evidence", Say({"evidence": []}), Say({"evidence": FACTS}))
        assert len(teacher.ask(evidence_request()).payload.evidence) == 6

    def test_bad_triples_are_discarded_one_by_one(self, server, teacher):
        bad = [
            {**TRIPLE, "subject": " "},
            {**TRIPLE, "object": "Plant"},
            {**TRIPLE, "confidence": 7},
            {**TRIPLE, "confidence": "high"},
            {**TRIPLE, "confidence": float("nan")},
            {**TRIPLE, "confidence": True},
            {**TRIPLE, "evidence": []},
            {**TRIPLE, "evidence": [99]},
            ["plant", "needs", "light"],
            None,
        ]
        server.script("triples", Say({"triples": [TRIPLE, *bad]}))
        reply = teacher.ask(request_for(TriplesReply, texts=TEXTS))
        assert len(reply.payload.triples) == 1
        assert len(reply.payload.discarded) == len(bad)
        assert server.count() == 1

    def test_only_bad_triples_are_asked_again(self, server, teacher):
        server.script("triples", Say({"triples": [{**TRIPLE, "confidence": "high"}]}), Say({"triples": [TRIPLE]}))
        assert len(teacher.ask(request_for(TriplesReply, texts=TEXTS)).payload.triples) == 1
        assert "confidence" in server.requests[1].prompt

    def test_no_triples_is_an_answer(self, server, teacher):
        server.script("triples", Say({"triples": []}))
        assert teacher.ask(request_for(TriplesReply, texts=TEXTS)).payload.triples == ()

    def test_a_doubled_key_discards_its_object(self, server, teacher):
        doubled = json.dumps(TRIPLE).replace('"object": "light"', '"object": "light", "object": "dark"')
        server.script("triples", Say(f'{{"triples": [{json.dumps(TRIPLE)}, {doubled}]}}'))
        reply = teacher.ask(request_for(TriplesReply, texts=TEXTS))
        assert len(reply.payload.triples) == 1
        assert "twice" in reply.payload.discarded[0]


class TestWhatIsWritten:
    @pytest.fixture
    def events(self, monkeypatch):
        """What `--log-json` writes."""
        logger, written = log.LOGGER, io.StringIO()
        before = (logger.handlers[:], logger.level, logger.propagate)
        with monkeypatch.context() as patched:
            patched.setattr("sys.stderr", written)
            log.configure("info", as_json=True)
        yield lambda: [json.loads(line) for line in written.getvalue().splitlines()]
        logger.handlers[:], logger.propagate = before[0], before[2]
        logger.setLevel(before[1])

    def test_a_call_has_its_fields(self, server, teacher, events):
        server.script("evidence", Fault(503), Say("no"), Say({"evidence": FACTS}))
        request = evidence_request()
        teacher.ask(request)
        server.script("evidence", *[Say("no")] * 3)
        with pytest.raises(MalformedReply):
            teacher.ask(evidence_request(count=5))
        written = events()
        calls = [entry for entry in written if entry["event"] == "teacher call"]
        assert [(call["stage"], call["query"], call["status"], call["requests"]) for call in calls] == [
            ("evidence", request.query.id, "ok", 2),
            ("evidence", request.query.id, "quarantined", 3),
        ]
        assert all(call["duration_ms"] >= 0 for call in calls)
        waiting = next(entry for entry in written if entry["event"] == "waiting for the model server")
        assert (waiting["attempt"], waiting["wait_s"]) == (1, 1)
        again = next(entry for entry in written if entry["event"] == "asking again")
        assert (again["stage"], again["query"], again["status"]) == ("evidence", request.query.id, "malformed")

    def test_an_odd_reply_is_not_shown(self, server, teacher):
        """Of a reply with parts of another type than expected, pydantic would warn, and show them."""
        server.script("evidence", Say({"evidence": FACTS}, logprobs={"content": [{"token": 4711, "logprob": "x"}]}))
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("always")
            teacher.ask(evidence_request())
        assert not [warning for warning in shown if "4711" in str(warning.message)]


class TestTapeAndBudget:
    def test_a_recorded_reply_is_never_paid_again(self, server, tmp_path):
        request = evidence_request()
        with Tape(tmp_path / "t.tape") as tape:
            first = LiteLLMTeacher("gpt-4o-mini", base_url=server.url, tape=tape).ask(request)
        with Tape(tmp_path / "t.tape") as tape:
            budget = Budget(0.0)
            again = LiteLLMTeacher("gpt-4o-mini", base_url=server.url, tape=tape, budget=budget).ask(request)
        assert server.count() == 1
        assert again.cached
        assert replace(again, cached=False, requests=1) == first
        assert budget.spent_usd == 0
        offline = TapeTeacher(tmp_path / "t.tape")
        assert offline.name == "gpt-4o-mini"
        assert offline.ask(request) == again
        with pytest.raises(ReplyError, match="no reply"):
            offline.ask(request_for(question="Another one?"))

    def test_an_unusable_reply_is_not_recorded(self, server, tmp_path):
        server.script("evidence", *[Say("no")] * 3)
        with Tape(tmp_path / "t.tape") as tape:
            with pytest.raises(MalformedReply):
                LiteLLMTeacher("any", base_url=server.url, tape=tape).ask(evidence_request())
            assert len(tape) == 0

    def test_an_unusable_reply_is_kept_beside_the_tape(self, server, tmp_path):
        server.script("evidence", Say("no"), Say("no"), Say("Plants \u2028 are green."))
        request = evidence_request()
        with Tape(tmp_path / "t.tape") as tape:
            teacher = LiteLLMTeacher("any", base_url=server.url, api_key=SECRET, tape=tape)
            with pytest.raises(MalformedReply) as caught:
                teacher.ask(request)
            server.script("evidence", *[Say("I'm sorry, but I can't help with that.")] * 2)
            with pytest.raises(RefusedReply):
                teacher.ask(evidence_request(count=5))
        path = tmp_path / "t.tape.quarantine.jsonl"
        assert str(path) in caught.value.hint
        assert path.stat().st_mode & 0o777 == 0o600
        first, second = [json.loads(line) for line in path.read_text().splitlines()]
        assert datetime.fromisoformat(first.pop("at")).tzinfo == UTC
        assert first == {
            "query_id": request.query.id,
            "stage": "evidence",
            "model": "any",
            "error": str(caught.value),
            "raw": "Plants \u2028 are green.",
        }
        assert second["raw"].startswith("I'm sorry")
        assert SECRET not in path.read_text()

    def test_a_quarantine_that_cannot_be_written_is_said(self, server, tmp_path):
        server.script("evidence", *[Say("no")] * 3)
        (tmp_path / "t.tape.quarantine.jsonl").mkdir()
        with Tape(tmp_path / "t.tape") as tape, pytest.raises(MalformedReply) as caught:
            LiteLLMTeacher("any", base_url=server.url, tape=tape).ask(evidence_request())
        assert "could not be kept" in caught.value.hint

    def test_what_was_spent_is_told_with_the_error(self, server, waits):
        teacher = LiteLLMTeacher("gpt-4o-mini", base_url=server.url, sleep=waits.append)
        server.script("evidence", *[Say("Plants are green.")] * 3)
        with pytest.raises(MalformedReply) as caught:
            teacher.ask(evidence_request())
        spent = caught.value.spent
        assert spent.calls == 3
        assert spent.tokens_in == sum(plausible_tokens(request.prompt) for request in server.requests)
        assert spent.tokens_out == 3 * plausible_tokens("Plants are green.")
        assert spent.cost_usd == pytest.approx(spent.tokens_in * 1.5e-7 + spent.tokens_out * 6e-7)
        server.script("evidence", Say("no"), Fault(401))
        with pytest.raises(ModelAccessDenied) as caught:
            teacher.ask(evidence_request())
        assert caught.value.spent.calls == 1
        server.script("evidence", Fault(401))
        with pytest.raises(ModelAccessDenied) as caught:
            teacher.ask(evidence_request())
        assert caught.value.spent is None

    def test_what_was_spent_before_the_budget_ended_it(self, server):
        budget = Budget(0.0031)  # room for one reply of at most 5000 tokens at $0.6 a million, but not for the next
        teacher = LiteLLMTeacher("gpt-4o-mini", base_url=server.url, budget=budget, max_tokens=5000)
        server.script("evidence", Say("no " * 1000))
        with pytest.raises(BudgetReached) as caught:
            teacher.ask(evidence_request())
        assert caught.value.spent.calls == 1
        assert caught.value.spent.cost_usd == pytest.approx(budget.spent_usd)

    def test_the_key_is_not_on_the_tape(self, server, tmp_path):
        with Tape(tmp_path / "t.tape") as tape:
            LiteLLMTeacher("any", base_url=server.url, api_key=SECRET, tape=tape).ask(evidence_request())
        assert SECRET not in (tmp_path / "t.tape").read_text()

    def test_32_concurrent_calls_never_pass_the_budget(self, server):
        limit = 0.05
        budget = Budget(limit)
        teacher = LiteLLMTeacher("gpt-4o", base_url=server.url, budget=budget, max_tokens=500)
        stopped, calls = [], []

        def work(number):
            try:
                for i in range(4):
                    reply = teacher.ask(request_for(question=f"Question {number} {i} about light?"))
                    calls.append(reply.call.cost_usd)
            except BudgetReached as error:
                stopped.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert stopped
        assert stopped[0].exit_code == 5
        assert 0.5 * limit < sum(calls) <= limit
        assert budget.spent_usd == pytest.approx(sum(calls))

    def test_a_reply_that_got_lost_counts_as_paid(self, server, waits):
        budget = Budget(1.0)
        teacher = LiteLLMTeacher("gpt-4o-mini", base_url=server.url, budget=budget, sleep=waits.append)
        server.script("evidence", Fault(), Say({"evidence": FACTS}))
        call = teacher.ask(evidence_request()).call
        assert budget.spent_usd > call.cost_usd + 4096 * 6e-7

    def test_a_model_without_a_price_says_so_once(self, server, caplog):
        teacher = LiteLLMTeacher("homemade", base_url=server.url, budget=Budget(1.0))
        teacher.ask(evidence_request())
        teacher.ask(evidence_request(count=5))
        assert caplog.text.count("no price is known") == 1
