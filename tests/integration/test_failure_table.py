"""Every row of the failure table over real HTTP: how many requests, what comes of it, what is on the tape.

Besides, the one retry loop of teacher, student and embedder counted request by request, and the end of unanswered calls.
"""

import json
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from drag_graph.errors import MalformedReply, ModelAccessDenied, ModelUnavailable, RefusedReply, TruncatedReply, UnknownModel
from drag_graph.ledger import Ledger
from drag_graph.ledger.tape import TapeTeacher
from drag_graph.models.chat_client import complete
from drag_graph.models.embedders.served_embedder import ServedEmbedder
from drag_graph.models.model_server import Server
from drag_graph.models.students.served_student import ServedStudent
from drag_graph.models.teachers.reply_reading import parse_reply
from drag_graph.models.teachers.served_teacher import ServedTeacher
from drag_graph.ports.model_roles import Prompt
from drag_graph.ports.teacher_replies import EvidenceReply, TriplesReply
from drag_graph.testing.server import EMBEDDINGS, STUDENT, Fault, Say, ScriptedServer, fenced, half
from tests.integration.teacher_requests import FACTS, TEXTS, TRIPLE, evidence_request, request_for

GOOD = {"evidence": FACTS}
TRIPLES = {"triples": [TRIPLE]}
WORDS = json.dumps(GOOD)
NOTHING_WHOLE = Say('{"evidence": [{"text": "Plants need', finish_reason="length")
NO = Say("I'm sorry, but I can't help with that.")
PROMPT = Prompt("Why?", (), (), "Why do plants need light?", 9)
GROUNDED = ("Plants need light.", "Roots need water.")


@dataclass(frozen=True)
class Row:
    """`replies` are scripted; `waits` are what the retry loop slept; `outcome` is the number of entries or the error's type."""

    replies: tuple
    requests: int
    outcome: object
    waits: tuple = ()
    schema: type = EvidenceReply
    discarded: int = 0
    texts: tuple = TEXTS


def date_in(seconds):
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


def doubled(entry, key, value):
    text = json.dumps(entry)
    return text[:-1] + f", {json.dumps(key)}: {json.dumps(value)}}}"


def triples(*entries):
    return Say('{"triples": [' + ", ".join(entry if isinstance(entry, str) else json.dumps(entry) for entry in entries) + "]}")


ROWS = {
    # rate limit, timeout, 5xx
    "429 without Retry-After": Row((Fault(429), Fault(429), Say(GOOD)), 3, 6, (1, 2)),
    "429 with Retry-After": Row((Fault(429, retry_after="7"), Say(GOOD)), 2, 6, (7,)),
    "429 with a fraction": Row((Fault(429, retry_after="0.5"), Say(GOOD)), 2, 6, (0.5,)),
    "429 with a date that is past": Row((Fault(429, retry_after=date_in(-90)), Say(GOOD)), 2, 6, (0,)),
    "429 with a Retry-After that is none": Row((Fault(429, retry_after="soon"), Say(GOOD)), 2, 6, (1,)),
    "429 with a wait beyond patience": Row((Fault(429, retry_after="7200"),), 1, ModelUnavailable),
    "429 for ever": Row((Fault(429),) * 9, 6, ModelUnavailable, (1, 2, 4, 8, 16)),
    "quota used up": Row((Fault(429, code="insufficient_quota"),), 1, ModelUnavailable),
    "5xx": Row((Fault(500), Fault(502), Fault(503), Fault(504), Fault(529), Say(GOOD)), 6, 6, (1, 2, 4, 8, 16)),
    "503 with Retry-After": Row((Fault(503, retry_after="3"), Say(GOOD)), 2, 6, (3,)),
    "500 for ever": Row((Fault(500),) * 9, 6, ModelUnavailable, (1, 2, 4, 8, 16)),
    "reset in the middle of the body": Row((Fault(), Say(GOOD)), 2, 6, (1,)),
    "reset for ever": Row((Fault(),) * 9, 6, ModelUnavailable, (1, 2, 4, 8, 16)),
    "408": Row((Fault(408), Say(GOOD)), 2, 6, (1,)),
    "no answer in time": Row((Say("late", delay=3), Say(GOOD)), 2, 6, (1,)),
    "a body that drips": Row((Say("slow", interval=0.05), Say(GOOD)), 2, 6, (1,)),
    # wrong key, unknown model
    "401": Row((Fault(401),), 1, ModelAccessDenied),
    "403": Row((Fault(403),), 1, ModelAccessDenied),
    "404": Row((Fault(404, code="model_not_found"),), 1, UnknownModel),
    # truncated reply
    "length, then continued": Row((Say(WORDS[:200], finish_reason="length"), Say(WORDS[200:])), 2, 6),
    "length, then begun anew": Row((half(GOOD), fenced(GOOD)), 2, 6),
    "cut off without saying so": Row((half(GOOD, finish_reason="stop"), Say(WORDS[len(WORDS) // 2 :])), 2, 6),
    "length, then length again": Row((half(GOOD), half(GOOD), Say({"evidence": FACTS[:2]})), 3, 2),
    "length, then a smaller ask": Row((NOTHING_WHOLE, NOTHING_WHOLE, Say({"evidence": FACTS[:2]})), 3, 2),
    "length for ever": Row((NOTHING_WHOLE,) * 6, 3, TruncatedReply),
    "length in the middle of thinking": Row((Say("<think>Well, {", finish_reason="length"), Say("no"), Say(GOOD)), 3, 6),
    # refusal
    "refused, then reformulated": Row((NO, Say(GOOD)), 2, 6),
    "refused twice": Row((NO, NO, Say(GOOD)), 2, RefusedReply),
    "refused in the field": Row((Say("", refusal="I can't."),) * 2, 2, RefusedReply),
    "refused by the filter": Row((Say("", finish_reason="content_filter"),) * 2, 2, RefusedReply),
    "refused by status": Row((Fault(400, code="content_policy_violation"),) * 2, 2, RefusedReply),
    "refused with a list of reasons": Row((Say(f"{NO.text}\n1. It is not right.\n2. It is not safe."),) * 2, 2, RefusedReply),
    # malformed or wrong-shaped JSON
    "reasoning tags": Row((Say(f'<think>{{"evidence": []}}?</think>{WORDS}'),), 1, 6),
    "reasoning without its opening tag": Row((Say(f"Perhaps [1].</think>\n{WORDS}"),), 1, 6),
    "code fence": Row((fenced(GOOD),), 1, 6),
    "code fence that never ends": Row((Say(f"```json\n{WORDS}"),), 1, 6),
    "an array": Row((Say(json.dumps(FACTS)),), 1, 6),
    "an array of texts": Row((Say([fact["text"] for fact in FACTS]),), 1, 6),
    "an array in a fence": Row((fenced(FACTS),), 1, 6),
    "single quotes": Row((Say(WORDS.replace('"', "'")),), 1, 6),
    "a numbered list": Row(
        (Say("Sure:\n" + "\n".join(f"{i}. {fact['text']}" for i, fact in enumerate(FACTS))), Say(GOOD)), 2, 6
    ),
    "prose for ever": Row((Say("Plants are green."),) * 9, 3, MalformedReply),
    "prose, then JSON": Row((Say("Plants are green."), Say(GOOD)), 2, 6),
    "an empty reply": Row((Say(""), Say(GOOD)), 2, 6),
    "null": Row((Say("null"), Say(GOOD)), 2, 6),
    "another shape": Row((Say({"evidence": {"text": "a"}}), Say({"evidence": 3}), Say(GOOD)), 3, 6),
    "no evidence": Row((Say({"evidence": []}), Say(GOOD)), 2, 6),
    "NaN": Row((triples(TRIPLE, {**TRIPLE, "confidence": float("nan")}),), 1, 1, (), TriplesReply, 1),
    "NaN alone": Row((triples({**TRIPLE, "confidence": float("nan")}), Say(TRIPLES)), 2, 1, (), TriplesReply),
    "Infinity": Row((triples(TRIPLE, {**TRIPLE, "confidence": float("inf")}),), 1, 1, (), TriplesReply, 1),
    "a key twice": Row((triples(TRIPLE, doubled(TRIPLE, "object", "dark")),), 1, 1, (), TriplesReply, 1),
    "a key twice alone": Row((triples(doubled(TRIPLE, "object", "dark")), Say(TRIPLES)), 2, 1, (), TriplesReply),
    "evidence that does not exist": Row((triples(TRIPLE, {**TRIPLE, "evidence": [9]}),), 1, 1, (), TriplesReply, 1),
    "no triples": Row((Say({"triples": []}),), 1, 0, (), TriplesReply),
    "triples as arrays": Row(
        (triples(["Plants", "need", "light"], ["Plants", "need"], ["Cats", "need", "light"]),),
        1, 1, (), TriplesReply, 2, GROUNDED,
    ),
    "triples as calls": Row((Say("need(Plants, light)\nneed(Roots, water)"),), 1, 2, (), TriplesReply, 0, GROUNDED),
    "triples as records": Row(
        (Say('("entity"<|>Plants<|>life<|>x)##\n("relationship"<|>Plants<|>light<|>Plants need light.<|>8)##\n<|COMPLETE|>'),),
        1, 1, (), TriplesReply, 0, GROUNDED,
    ),
    "triples as calls about nothing": Row(
        (Say("need(Thing, Place)"), Say("need(x, y)"), Say("need(a, b)")), 3, MalformedReply, (), TriplesReply, 0, GROUNDED
    ),
}  # fmt: skip


@pytest.fixture
def server():
    with ScriptedServer() as running:
        yield running


@pytest.mark.parametrize("name", ROWS)
def test_row(server, tmp_path, name):
    row = ROWS[name]
    waits = []
    server.script(row.schema.schema_name, *row.replies)
    request = evidence_request() if row.schema is EvidenceReply else request_for(row.schema, texts=row.texts)
    path = tmp_path / "x.ledger"
    with Ledger(path) as ledger:
        timeout = 0.4 if any(isinstance(say, Say) and (say.delay or say.interval) for say in row.replies) else 5
        teacher = ServedTeacher(Server("any", base_url=server.url, timeout=timeout, sleep=waits.append), tape=ledger.tape)
        if isinstance(row.outcome, int):
            reply = teacher.ask(request)
            assert len(getattr(reply.payload, row.schema.schema_name)) == row.outcome
            assert len(reply.payload.discarded) == row.discarded
        else:
            with pytest.raises(row.outcome):
                teacher.ask(request)
        assert server.count() == row.requests
        assert len(waits) == len(row.waits)
        for wait, most, fault in zip(waits, row.waits, row.replies, strict=False):
            least = most if str(getattr(fault, "retry_after", "")).replace(".", "").isdigit() else 0
            assert least <= wait <= most * 1.1, "a random part of 2^n s, or a little more than what Retry-After says"
        assert len(ledger.tape) == isinstance(row.outcome, int)
    if isinstance(row.outcome, int):
        assert_only_what_was_validated(path, request, reply)
    assert server.count() == row.requests, "what is on the tape is not asked for again"


def assert_only_what_was_validated(path, request, reply):
    """Hold the one entry of the tape against the reply: valid by its schema, supported by the request, replayed as it was."""
    with Ledger(path) as ledger:
        header, line = ledger.export_tape()
    path.with_name("t.tape").write_text(f"{header}\n{line}\n", encoding="utf-8")
    recorded = json.loads(line)["reply"]
    assert recorded.pop("discarded") == list(reply.payload.discarded)
    assert parse_reply(request.schema, recorded) == reply.payload.model_copy(update={"discarded": ()})
    for item in recorded.get("triples", ()):
        assert item["evidence"]
        assert all(place < len(request.texts) for place in item["evidence"])
    with Ledger(path) as ledger:
        again = ServedTeacher(Server("any", base_url="http://127.0.0.1:1/v1"), tape=ledger.tape).ask(request)
    assert (again.cached, again.payload) == (True, reply.payload)
    assert TapeTeacher(path.with_name("t.tape")).ask(request).payload == reply.payload


def test_the_retry_after_of_a_date_is_waited(server):
    waits = []
    server.script("evidence", Fault(503, retry_after=date_in(100)), Say(GOOD))
    ServedTeacher(Server("any", base_url=server.url, sleep=waits.append)).ask(evidence_request())
    assert server.count() == 2
    assert 80 < waits[0] <= 110


class TestOneRetryLoop:
    """A library's own retries would multiply these numbers."""

    FAULTS = (Fault(429), Fault(429, retry_after="2"), Fault(500), Fault(503), Fault(408), Fault())

    @pytest.mark.parametrize("fault", FAULTS, ids=str)
    def test_teacher(self, server, fault):
        waits = []
        server.always("evidence", lambda _: fault)
        with pytest.raises(ModelUnavailable):
            ServedTeacher(Server("any", base_url=server.url, sleep=waits.append)).ask(evidence_request())
        assert (len(server.requests), len(waits)) == (6, 5)

    @pytest.mark.parametrize("fault", FAULTS, ids=str)
    def test_student(self, server, monkeypatch, fault):
        waits = []
        server.always(STUDENT, lambda _: fault)

        def patient(address, *arguments, **named):
            return complete(replace(address, sleep=waits.append), *arguments, **named)

        monkeypatch.setattr("drag_graph.models.students.served_student.complete", patient)
        with pytest.raises(ModelUnavailable):
            ServedStudent(Server("any", base_url=server.url)).answer(PROMPT)
        assert (len(server.requests), len(waits)) == (6, 5)

    @pytest.mark.parametrize("fault", FAULTS, ids=str)
    def test_embedder(self, server, fault):
        waits = []
        server.always(EMBEDDINGS, lambda _: fault)
        embedder = ServedEmbedder(Server("any", base_url=server.url, sleep=waits.append))
        with pytest.raises(ModelUnavailable):
            embedder.embed(["a text"])
        assert (len(server.requests), len(waits)) == (6, 5)


class TestSilence:
    """Nobody answers: the call ends all the same, at its time."""

    @pytest.fixture
    def silent(self, server):
        for name in ("evidence", STUDENT, EMBEDDINGS):
            server.always(name, lambda _: Say("too late", delay=30))
        return server

    @pytest.mark.parametrize("who", ["teacher", "embedder"])
    def test_the_attempts_are_bounded(self, silent, who):
        waits = []
        limits = {"base_url": silent.url, "timeout": 0.2, "sleep": waits.append}
        teacher, embedder = ServedTeacher(Server("any", **limits)), ServedEmbedder(Server("any", **limits))
        call = {"teacher": lambda: teacher.ask(evidence_request()), "embedder": lambda: embedder.embed(["a text"])}[who]
        began = time.monotonic()
        with pytest.raises(ModelUnavailable):
            call()
        assert 6 * 0.2 < time.monotonic() - began < 25
        assert len(silent.requests) == 6
        assert all(0 <= wait <= most for wait, most in zip(waits, [1, 2, 4, 8, 16], strict=True)), waits
