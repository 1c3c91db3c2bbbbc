"""The teacher against a scripted server, over real HTTP: what becomes of its replies."""

import json
from datetime import UTC, datetime

import pytest

from drag_graph.app import DragGraph
from drag_graph.errors import (
    MalformedReply,
    ModelAccessDenied,
    RefusedReply,
    TruncatedReply,
)
from drag_graph.identity import query_id
from drag_graph.models.model_server import Server
from drag_graph.models.provider_errors import RequestRejected
from drag_graph.models.teachers.bounded_schema import bounded_schema, longest
from drag_graph.models.teachers.served_teacher import ServedTeacher
from drag_graph.ports.teacher_replies import EvidenceReply, ScoresReply, TriplesReply
from drag_graph.testing.plausible import plausible_tokens
from drag_graph.testing.server import Fault, Say, ScriptedServer, fenced, half
from tests.integration.teacher_requests import FACTS, QUESTION, SECRET, TEXTS, TRIPLE, evidence_request, request_for


@pytest.fixture
def server():
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def waits():
    return []


@pytest.fixture
def teacher(server, waits):
    return ServedTeacher(Server("gpt-4o-mini", base_url=server.url, timeout=20, sleep=waits.append))


class TestGoodReplies:
    def test_call_record(self, server, teacher):
        server.script("evidence", Say({"evidence": FACTS}))
        reply = teacher.ask(evidence_request())
        assert [item.text for item in reply.payload.evidence] == [fact["text"] for fact in FACTS]
        call = reply.call
        assert not reply.cached
        assert (call.model, call.stage, call.prompt_version) == ("gpt-4o-mini", "evidence", "test-1")
        assert call.source_id == query_id("default", QUESTION)
        assert call.tokens_in > 0
        assert call.cost_usd == pytest.approx(call.tokens_in * 1.5e-7 + call.tokens_out * 6e-7)
        assert datetime.fromisoformat(call.created_at).tzinfo == UTC

    def test_schema_is_sent_and_the_model_name_is_bare(self, server, teacher):
        teacher.ask(evidence_request())
        body = server.of("evidence")[0].body
        assert body["model"] == "gpt-4o-mini"
        assert body["response_format"]["json_schema"]["name"] == "evidence"
        assert body["response_format"]["json_schema"]["schema"] == bounded_schema(EvidenceReply, 6)
        assert body["max_tokens"] == longest(EvidenceReply, 6) // 2 < 1000

    def test_the_limit_follows_from_what_was_asked_for(self, server, waits):
        teacher = ServedTeacher(Server("gpt-4o-mini", base_url=server.url, sleep=waits.append))

        def limit(request, by_schema=True):
            return teacher.parameters(request, by_schema=by_schema)["max_tokens"]

        six, twelve = evidence_request(), evidence_request(count=12)
        assert 2 * limit(six) - 10 <= limit(twelve) <= 2 * limit(six)
        assert limit(six, by_schema=False) == 4096, "what is asked for in words may think aloud"
        assert limit(evidence_request(count=100)) == 4096
        cloud = ServedTeacher(Server("gpt-4o-mini", sleep=waits.append))
        assert cloud.parameters(six, by_schema=True)["max_tokens"] == 4096

    @pytest.mark.parametrize("schema", [EvidenceReply, ScoresReply, TriplesReply])
    def test_default_replies_of_the_server_are_valid(self, teacher, schema):
        reply = teacher.ask(request_for(schema, texts=TEXTS))
        assert len(getattr(reply.payload, schema.schema_name)) >= 3
        assert reply.payload.discarded == ()

    def test_a_request_is_asked_in_words_though_another_found_out_meanwhile(self, server, teacher):
        def evidence(request):
            if "response_format" not in request.body:
                return Say({"evidence": FACTS})
            teacher.by_schema = False  # as another thread does while this request is under way
            return Fault(400, message="response_format is not supported")

        server.always("evidence", evidence)
        assert teacher.ask(evidence_request()).payload.evidence
        assert server.count("evidence") == 2

    def test_a_server_without_schemas_gets_words(self, server, teacher):
        refused = [Fault(400, message="response_format is not supported")]
        server.script("evidence", *refused, Say({"evidence": FACTS}))
        assert len(teacher.ask(evidence_request()).payload.evidence) == 6
        formats = [(request.body.get("response_format") or {}).get("type") for request in server.of("evidence")]
        assert formats == ["json_schema", None]
        assert 'schema "evidence"' in server.of("evidence")[1].prompt
        teacher.ask(evidence_request(count=5))
        assert "response_format" not in server.of("evidence")[2].body, "what the server takes is remembered"

    def test_a_request_that_is_rejected_in_every_form_says_why(self, server, waits):
        said = f"max_tokens is too large for {SECRET} at http://ann:pass@host/: {QUESTION}"
        server.script("evidence", *[Fault(400, message=said)] * 3)
        teacher = ServedTeacher(Server("gpt-4o-mini", base_url=server.url, api_key=SECRET, sleep=waits.append))
        with pytest.raises(RequestRejected, match=r"\(HTTP 400\): max_tokens is too large for") as caught:
            teacher.ask(evidence_request())
        for hidden in (SECRET, "ann", "pass@", "confidential", "plants"):
            assert hidden not in str(caught.value)


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
        nothing_whole = Say('{"evidence": [{"text": "Plants are', finish_reason="length")
        server.script("evidence", nothing_whole, nothing_whole, Say({"evidence": FACTS[:2]}))
        assert len(teacher.ask(evidence_request()).payload.evidence) == 2
        assert "at most 3 entries" in server.requests[2].prompt
        assert "SIMPLER" in server.requests[2].prompt
        server.script("evidence", *[nothing_whole] * 3)
        with pytest.raises(TruncatedReply) as caught:
            teacher.ask(evidence_request(count=5))
        assert caught.value.raw.startswith('{"evidence"')
        assert server.count() == 6

    def test_each_request_is_a_call_with_its_own_tokens_and_cost(self, server, teacher):
        said = [half({"evidence": FACTS}), fenced({"evidence": FACTS})]
        server.script("evidence", *said)
        reply = teacher.ask(evidence_request())
        first, last = reply.calls
        assert server.count() == reply.requests == 2
        assert reply.call == last
        assert (first.follows, last.follows) == ("", first.id)
        assert [call.tokens_in for call in reply.calls] == [plausible_tokens(asked.prompt) for asked in server.requests]
        assert [call.tokens_out for call in reply.calls] == [plausible_tokens(one.text) for one in said]
        for call in reply.calls:
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
        ],
        ids=["fence", "reasoning", "prose", "bare list", "lines", "single quotes", "no closing", "wrapped"],
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
            ["plant", "needs"],
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


def test_a_run_without_the_key_of_its_teacher_is_not_listed(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with DragGraph(tmp_path / "graph.lbug", embedder="lexical", teacher="gpt-4o-mini", privacy="off") as graph:
        with pytest.raises(ModelAccessDenied, match="No key is set for the model"):
            graph.distill(["Why?"])
        assert len(graph.runs.list()) == 0
