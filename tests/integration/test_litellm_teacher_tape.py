"""What a teacher over real HTTP writes: events, the tape, the quarantine, and what was spent."""

import io
import json
import threading
import warnings
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from drag_graph import log
from drag_graph.errors import (
    BudgetReached,
    ConfigurationError,
    MalformedReply,
    ModelAccessDenied,
    RefusedReply,
    ReplyError,
)
from drag_graph.ledger import Ledger
from drag_graph.ledger.budget import Budget
from drag_graph.ledger.tape import TapeTeacher
from drag_graph.models.model_server import Server
from drag_graph.models.teachers.served_teacher import ServedTeacher
from drag_graph.testing.plausible import plausible_tokens
from drag_graph.testing.server import Fault, Say, ScriptedServer
from tests.integration.teacher_requests import FACTS, SECRET, evidence_request, request_for


@pytest.fixture
def server():
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def waits():
    return []


@pytest.fixture
def teacher(server, waits):
    return ServedTeacher(Server("gpt-4o-mini", base_url=server.url, timeout=5, sleep=waits.append))


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
        assert waiting["attempt"] == 1
        assert 0 <= waiting["wait_s"] <= 1
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
        with Ledger(tmp_path / "x.ledger") as ledger:
            first = ServedTeacher(Server("gpt-4o-mini", base_url=server.url), tape=ledger.tape).ask(request)
        with Ledger(tmp_path / "x.ledger") as ledger:
            budget = Budget(0.0)
            again = ServedTeacher(Server("gpt-4o-mini", base_url=server.url), tape=ledger.tape, budget=budget).ask(request)
        assert server.count() == 1
        assert again.cached
        assert replace(again, cached=False, requests=1) == first
        assert budget.spent_usd == 0
        with Ledger(tmp_path / "x.ledger") as ledger:
            (tmp_path / "t.tape").write_text("\n".join(ledger.export_tape()), encoding="utf-8")
        offline = TapeTeacher(tmp_path / "t.tape")
        assert offline.name == "gpt-4o-mini"
        assert offline.ask(request) == again
        with pytest.raises(ReplyError, match="no reply"):
            offline.ask(request_for(question="Another one?"))

    def test_an_unusable_reply_is_not_recorded(self, server, tmp_path):
        server.script("evidence", *[Say("no")] * 3)
        with Ledger(tmp_path / "x.ledger") as ledger:
            with pytest.raises(MalformedReply):
                ServedTeacher(Server("any", base_url=server.url), tape=ledger.tape).ask(evidence_request())
            assert len(ledger.tape) == 0

    def test_an_unusable_reply_is_kept_beside_the_tape(self, server, tmp_path):
        server.script("evidence", Say("no"), Say("no"), Say("Plants \u2028 are green."))
        request = evidence_request()
        with Ledger(tmp_path / "x.ledger") as ledger:
            teacher = ServedTeacher(Server("any", base_url=server.url, api_key=SECRET), tape=ledger.tape)
            with pytest.raises(MalformedReply) as caught:
                teacher.ask(request)
            server.script("evidence", *[Say("I'm sorry, but I can't help with that.")] * 2)
            with pytest.raises(RefusedReply):
                teacher.ask(evidence_request(count=5))
            first, second = ledger.tape.quarantined()
            with ledger.reading() as rows:
                calls = rows.execute("SELECT n, sent, request_sha256, raw FROM calls ORDER BY exchange_id, n").fetchall()
        assert [n for n, *_ in calls] == [0, 1, 2, 0, 1], "each request is a call of its own"
        sent = [json.loads(document)["messages"] for _, document, *_ in calls]
        assert sent == [asked.body["messages"] for asked in server.requests]
        assert [raw for *_, raw in calls] == ["no", "no", first["raw"], second["raw"], second["raw"]]
        # The two requests differ in the count alone: in the bounds of their schema, not in their words.
        hashes = [sha256 for _, _, sha256, _ in calls]
        assert len(set(hashes)) == 5
        assert "tape quarantined" in caught.value.hint
        assert datetime.fromisoformat(first.pop("at")).tzinfo == UTC
        assert first == {
            "source_id": request.query.id,
            "stage": "evidence",
            "model": "any",
            "error": str(caught.value),
            "raw": "Plants \u2028 are green.",
        }
        assert second["raw"].startswith("I'm sorry")
        assert SECRET.encode() not in (tmp_path / "x.ledger").read_bytes()

    def test_an_exchange_of_several_requests_is_as_many_calls(self, server, tmp_path):
        server.script("evidence", Say("no"), Say({"evidence": FACTS}))
        request = evidence_request()
        with Ledger(tmp_path / "x.ledger") as ledger:
            reply = ServedTeacher(Server("gpt-4o-mini", base_url=server.url), tape=ledger.tape).ask(request)
            assert ledger.tape.find("gpt-4o-mini", request).calls == reply.calls
            sent = [ledger.tape.sent(call.request_sha256) for call in reply.calls]
        assert (len(reply.calls), reply.requests) == (2, 2)
        assert [entry["messages"] for entry in sent] == [said.body["messages"] for said in server.requests]
        assert [entry["parameters"]["response_format"] for entry in sent] == [
            said.body["response_format"] for said in server.requests
        ]
        tokens = [(call.tokens_in, call.tokens_out) for call in reply.calls]
        assert tokens[0] == (plausible_tokens(server.requests[0].prompt), plausible_tokens("no"))
        assert all(call.cost_usd > 0 for call in reply.calls)

    def test_what_was_spent_is_told_with_the_error(self, server, waits):
        teacher = ServedTeacher(Server("gpt-4o-mini", base_url=server.url, sleep=waits.append))
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
        budget = Budget(0.0007)  # room for one reply to a request for six statements, but not for the next
        teacher = ServedTeacher(Server("gpt-4o-mini", base_url=server.url), budget=budget)
        server.script("evidence", Say("no " * 800))
        with pytest.raises(BudgetReached) as caught:
            teacher.ask(evidence_request())
        assert caught.value.spent.calls == 1
        assert caught.value.spent.cost_usd == pytest.approx(budget.spent_usd)

    def test_the_key_is_not_on_the_tape(self, server, tmp_path):
        with Ledger(tmp_path / "x.ledger") as ledger:
            ServedTeacher(Server("any", base_url=server.url, api_key=SECRET), tape=ledger.tape).ask(evidence_request())
        assert SECRET.encode() not in (tmp_path / "x.ledger").read_bytes()

    def test_32_concurrent_calls_never_pass_the_budget(self, server):
        limit = 0.05
        budget = Budget(limit)
        teacher = ServedTeacher(Server("gpt-4o", base_url=server.url), budget=budget, max_tokens=500)
        stopped, calls = [], []

        def work(number):
            try:
                for i in range(4):
                    reply = teacher.ask(request_for(count=6, question=f"Question {number} {i} about light?"))
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
        teacher = ServedTeacher(Server("gpt-4o-mini", base_url=server.url, sleep=waits.append), budget=budget)
        server.script("evidence", Fault(), Say({"evidence": FACTS}))
        call = teacher.ask(evidence_request()).call
        limit = server.of("evidence")[0].body["max_tokens"]
        assert budget.spent_usd > call.cost_usd + limit * 6e-7

    def test_a_budget_is_refused_for_a_model_without_a_price(self, server):
        teacher = ServedTeacher(Server("homemade", base_url=server.url), budget=Budget(1.0))
        with pytest.raises(ConfigurationError, match="No price is known for the model 'homemade'"):
            teacher.ask(evidence_request())
        assert server.count() == 0, "nothing was sent"
