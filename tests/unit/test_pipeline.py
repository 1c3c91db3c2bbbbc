"""The run over many queries: order, duplicates, what ends it and what does not, on the store in memory."""

import json
import threading
import time
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from drag_graph import log
from drag_graph.errors import (
    BudgetReached,
    InputError,
    MalformedReply,
    ModelAccessDenied,
    Spent,
    StoreError,
    StoreUnavailable,
    SubgraphRefused,
)
from drag_graph.inputs import InputLine, make_query
from drag_graph.ledger import Ledger
from drag_graph.models.teachers.curated_teacher import CuratedTeacher
from drag_graph.models.teachers.reply_reading import parse_reply
from drag_graph.ports.teacher_replies import TriplesReply
from drag_graph.testing.dict_store import DictStore
from tests.unit.saying import SayingTeacher, distiller


@pytest.fixture
def store():
    with DictStore() as store:
        store.migrate()
        yield store


@pytest.fixture
def teacher():
    return SayingTeacher()


def run(store, teacher, *texts, **flags):
    lines = [
        InputLine(n, query=make_query(text, input_id=str(n))) if text else InputLine(n, problem="bad")
        for n, text in enumerate(texts)
    ]
    return distiller(store, teacher, **{"workers": 3, **flags}).run(lines)


def test_results_come_in_the_order_of_the_input(store, teacher):
    report = run(store, teacher, *[f"question {number}" for number in range(200)])
    assert [result.input_id for result in report.queries] == [str(number) for number in range(200)]
    assert report.exit_code == 0
    assert report.totals()["cost_usd"] == pytest.approx(200 * 3 * 0.01)
    assert store.counts()["Query"] == 200


def test_a_repeated_question_is_skipped_and_names_the_first(store, teacher):
    report = run(store, teacher, "Why?", "Who?", "why? ")
    assert [result.status for result in report.queries] == ["complete", "complete", "skipped"]
    assert report.queries[2].id == report.queries[0].id
    assert report.queries[2].error == "Same question as 0."
    assert len(teacher.calls) == 6


def test_one_bad_query_is_quarantined_and_keeps_what_it_cost(store, teacher):
    failure = MalformedReply("prose instead of JSON", raw="prose")
    failure.spent = Spent(calls=3, tokens_in=300, tokens_out=30, cost_usd=0.5)
    teacher.failing["bad"] = failure
    report = run(store, teacher, "good one", "bad one", "", "good two")
    assert [result.status for result in report.queries] == ["complete", "quarantined", "complete"]
    assert report.queries[1].error == "prose instead of JSON"
    assert (report.queries[1].calls, report.queries[1].cost_usd) == (3, 0.5)
    assert [line.number for line in report.rejected] == [2]
    assert report.exit_code == 1
    assert store.counts()["Query"] == 2


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ModelAccessDenied("no key"), 4),
        (BudgetReached("spent"), 5),
        (StoreUnavailable("gone"), 3),
        (InputError("the curated file was changed"), 2),
    ],
)
def test_what_cannot_go_on_ends_the_run_and_the_rest_is_pending(store, teacher, error, code):
    teacher.failing["last straw"] = error
    texts = ["first", "second", "the last straw", *[f"after {number}" for number in range(100)]]
    report = run(store, teacher, *texts, workers=1)
    statuses = [result.status for result in report.queries]
    assert len(statuses) == len(texts)
    assert statuses[:3] == ["complete", "complete", "pending"]
    assert statuses.count("pending") == 101
    assert report.exit_code == code
    assert report.stopped is error
    again = run(store, SayingTeacher(), *texts)
    assert {result.status for result in again.queries} == {"complete"}
    assert [result.calls for result in again.queries][:4] == [0, 0, 3, 3]


def test_cached_calls_cost_nothing(store):
    report = run(store, SayingTeacher(cached=True), "Why?")
    (result,) = report.queries
    assert (result.calls, result.cached_calls, result.cost_usd) == (3, 3, 0.0)


def test_the_paper_plan_asks_step_by_step(store, teacher):
    run(store, teacher, "Why?", plan="paper", number_of_evidence=5, top_k=4)
    stages = [stage for _, stage in teacher.calls]
    assert stages[0] == "evidence"
    assert stages.count("scores") == 1
    assert stages.count("triples") == 4
    assert stages[-2:] == ["relations", "statements"]
    (subgraph,) = store.read([store.sources()[0].id])
    assert "The thing has and names the fact." in {edge.statement for edge in subgraph.edges}


def test_the_lean_plan_makes_three_calls(store, teacher):
    run(store, teacher, "Why?")
    assert [stage for _, stage in teacher.calls] == ["evidence", "scores", "triples"]


def test_patterns_alone_ask_for_no_triples_and_are_named_as_their_source(store, teacher):
    run(store, teacher, "Why?", extractor="patterns")
    assert [stage for _, stage in teacher.calls] == ["evidence", "scores"]
    (subgraph,) = store.read([store.sources()[0].id])
    assert subgraph.triples
    models = {call.id: call.model for call in subgraph.calls}
    assert {models[id_] for triple in subgraph.triples for id_ in triple.call_ids} == {"patterns/3"}


def test_a_teacher_without_triples_falls_back_to_patterns_unless_told_not_to(store, teacher):
    class Mute(SayingTeacher):
        def ask(self, request):
            if request.stage == "triples":
                raise MalformedReply("no triples today")
            return super().ask(request)

    report = run(store, Mute(), "Why?")
    assert report.queries[0].status == "complete"
    assert report.queries[0].triples > 0
    assert run(store, Mute(), "How?", extractor="teacher").queries[0].status == "quarantined"


def test_triples_that_no_evidence_says_stay_out_of_the_graph(store):
    """As of a reply that misses the question: `patterns` read the evidence instead, or else it is the evidence only."""
    made_up = {"subject": "the question", "predicate": "was", "object": "not found", "confidence": 1.0, "evidence": [0]}

    class Lost(SayingTeacher):
        def ask(self, request):
            reply = super().ask(request)
            return reply if request.stage != "triples" else replace(reply, payload=parse_reply(TriplesReply, [made_up]))

    asked = run(store, Lost(), "Why?", extractor="teacher").queries[0]
    assert (asked.status, asked.triples, asked.edges) == ("complete", 0, 0)
    assert [note for note in asked.notes if '"the question" and "not found" do not occur in' in note]
    (subgraph,) = store.read([asked.id])
    assert (subgraph.graph, subgraph.triples) == ("evidence_only", ())
    read = run(store, Lost(), "Why not?").queries[0]
    assert read.triples > 0
    assert [note for note in read.notes if "do not occur in" in note]


@pytest.mark.parametrize("plan", ["lean", "paper"])
def test_what_of_a_curated_line_is_left_out_is_noted_once_with_why(store, tmp_path, plan):
    said = {"subject": "aspirin", "predicate": "thins", "object": "blood", "evidence": [1]}
    evidence = ["Aspirin thins blood.", "Aspirin thins blood!", 7]
    triples = [said, said | {"evidence": [9]}, said | {"subject": ""}, said | {"evidence": [0]}]
    path = tmp_path / "curated.jsonl"
    path.write_text(json.dumps({"question": "Why?", "evidence": evidence, "triples": triples}))
    result = run(store, CuratedTeacher(path), "Why?", extractor="teacher", plan=plan).queries[0]
    assert (result.triples, result.notes) == (
        1,
        [
            "discarded: evidence[2]: text: Input should be a valid string",
            "discarded: triples[2]: subject: String should have at least 1 character",
            "discarded: triples[1]: its evidence is not in the list",
            'left out, with triples that rest only on it: "Aspirin thins blood!" says the same as evidence 0',
        ],
    )


def test_evidence_is_ranked_and_every_triple_is_proven(store, teacher):
    run(store, teacher, "Why?", top_k=3)
    (subgraph,) = store.read([store.sources()[0].id])
    assert [item.llm_score for item in subgraph.kept_evidence] == [9.0, 8.0, 7.0]
    assert all(item.reason for item in subgraph.evidence if not item.kept)
    assert store.verify() == []
    assert subgraph.embedding
    assert subgraph.expires_at > subgraph.created_at


def test_memory_of_the_input_is_not_held(store, teacher):
    drawn = []

    def stream():
        for number in range(1000):
            drawn.append(number)
            yield InputLine(number, query=make_query(f"question {number}"))

    seen = []
    distiller(store, teacher, workers=2).run(stream(), on_result=lambda _cost: seen.append(len(drawn)))
    assert seen[0] < 200


def test_what_was_quarantined_after_paid_calls_is_asked_again_only_on_demand(store, teacher):
    failure = MalformedReply("prose instead of JSON", raw="prose")
    failure.spent = Spent(calls=3, tokens_in=300, tokens_out=30, cost_usd=0.5)
    teacher.failing["bad"] = failure
    lines = [InputLine(n, query=make_query(text)) for n, text in enumerate(["a bad one", "a good one"], start=1)]
    with Ledger() as ledger:
        journal = ledger.journal
        distiller(store, teacher, journal).run(lines)
        asked = len(teacher.calls)
        again = distiller(store, teacher, journal).run(lines)
        assert len(teacher.calls) == asked
        assert [result.status for result in again.queries] == ["quarantined", "complete"]
        assert "retry_quarantined" in again.queries[0].error
        assert (again.queries[1].evidence, again.queries[1].triples, again.totals()["cost_usd"]) == (5, 3, 0)
        teacher.failing.clear()
        last = distiller(store, teacher, journal, retry=True).run(lines)
        assert [result.status for result in last.queries] == ["complete", "complete"]
        assert len(teacher.calls) == asked + 3
        assert [run.exit_code for run, _, _ in journal.runs("default")] == [0, 1, 1]


def test_a_quarantine_that_cost_nothing_is_no_reason_not_to_ask(store, teacher):
    teacher.failing["bad"] = MalformedReply("not on the tape")
    lines = [InputLine(1, query=make_query("a bad one"))]
    with Ledger() as ledger:
        journal = ledger.journal
        distiller(store, teacher, journal).run(lines)
        teacher.failing.clear()
        assert distiller(store, teacher, journal).run(lines).exit_code == 0


def test_a_slow_query_holds_up_no_other(store, teacher):
    release = threading.Event()
    original = teacher.ask

    def ask(request):
        if request.query.text == "question 0":
            assert release.wait(60)
        return original(request)

    teacher.ask = ask
    lines = (InputLine(n, query=make_query(f"question {n}")) for n in range(300))
    done = []

    def on_result(_cost):
        done.append(1)
        if len(done) == 299:
            release.set()

    report = distiller(store, teacher, workers=2).run(lines, on_result=on_result)
    assert report.totals()["complete"] == 300


def test_what_is_ready_while_a_save_is_under_way_is_saved_in_one_transaction(store, teacher):
    saved, first, go_on = [], threading.Event(), threading.Event()
    original = store.save

    def save(subgraphs, aggregation, **flags):
        saved.append(len(subgraphs))
        if len(saved) == 1:
            first.set()
            assert go_on.wait(60)
        return original(subgraphs, aggregation, **flags)

    store.save = save
    ready = teacher.ask
    done = []

    def release():
        assert first.wait(60)
        until = time.monotonic() + 60
        while len(run._saves._waiting) < 8 and time.monotonic() < until:  # including those that are being saved
            time.sleep(0.005)
        go_on.set()

    def ask(request):
        reply = ready(request)
        if request.stage == "triples":
            done.append(1)
            if len(done) == 8:
                threading.Thread(target=release).start()
        return reply

    teacher.ask = ask
    lines = [InputLine(n, query=make_query(f"question {n}")) for n in range(1, 9)]
    run = distiller(store, teacher, workers=8)
    report = run.run(lines)
    assert report.totals()["complete"] == 8
    assert saved == [saved[0], 8 - saved[0]]
    assert saved[0] < 8
    assert store.verify() == []


def test_one_subgraph_that_the_store_refuses_is_alone_in_being_refused(store, teacher):
    original, ready = store.save, teacher.ask
    all_at_once = threading.Barrier(8)

    def ask(request):
        if request.stage == "triples":
            all_at_once.wait(60)
        return ready(request)

    teacher.ask = ask

    def save(subgraphs, aggregation, **flags):
        if any(subgraph.query.text == "question 3" for subgraph in subgraphs):
            raise SubgraphRefused("query 3 is refused")
        return original(subgraphs, aggregation, **flags)

    store.save = save
    lines = [InputLine(n, query=make_query(f"question {n}")) for n in range(8)]
    report = distiller(store, teacher, workers=8).run(lines)
    assert report.exit_code == 1
    assert {result.line: result.error for result in report.queries if result.status == "quarantined"} == {
        3: "query 3 is refused"
    }
    assert report.totals()["complete"] == 7


def test_what_is_wrong_with_the_store_itself_ends_the_run_and_blames_no_query(store, teacher):
    def save(subgraphs, aggregation, **flags):
        raise StoreError("the disk is full")

    store.save = save
    report = distiller(store, teacher, workers=1).run([InputLine(n, query=make_query(f"question {n}")) for n in range(8)])
    assert report.exit_code == 3
    assert {result.status for result in report.queries} == {"pending"}
    assert str(report.stopped) == "the disk is full"
    assert {text for text, _ in teacher.calls} == {"question 0"}, "nobody pays for what cannot be stored"


def test_lifetime_and_temperature_can_be_set(store):
    requests = []

    class Noting(SayingTeacher):
        def ask(self, request):
            requests.append(request)
            return super().ask(request)

    run(store, Noting(), "Why?", days_to_live=7, teacher_temperature=0.2)
    (graph,) = store.read([item.id for item in store.sources(limit=9)])
    assert datetime.fromisoformat(graph.expires_at) - datetime.fromisoformat(graph.created_at) == timedelta(days=7)
    assert [request.parameters["temperature"] for request in requests] == [0.2, 0.0, 0.0]


def test_each_stage_writes_a_log_record(store, teacher, monkeypatch):
    written = []
    monkeypatch.setattr(log, "event", lambda name, **fields: written.append({"event": name, **fields}))
    (result,) = run(store, teacher, "Why?").queries
    stages = [one for one in written if one["event"] == "stage"]
    assert [one["stage"] for one in stages] == ["evidence", "scores", "ranking", "triples", "graph", "saving", "distill"]
    assert {(one["query"], one["status"]) for one in stages} == {(result.id, "ok")}
    assert all(one["duration_ms"] >= 0 for one in stages)
