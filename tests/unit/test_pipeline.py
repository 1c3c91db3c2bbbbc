"""The run over many queries: order, duplicates, what ends it and what does not, on the store in memory."""

import os
import signal
import threading
import time

import pytest

from drag_graph.adapters.embedders import LexicalEmbedder
from drag_graph.adapters.journal import Journal
from drag_graph.distilling import Distillation
from drag_graph.errors import (
    BudgetReached,
    InputError,
    Interrupted,
    MalformedReply,
    ModelAccessDenied,
    Spent,
    StoreError,
    StoreUnavailable,
)
from drag_graph.identity import content_id
from drag_graph.inputs import InputLine, make_query
from drag_graph.interruption import InterruptibleTeacher, Interruption
from drag_graph.model import TeacherCall
from drag_graph.pipeline import Distiller
from drag_graph.ports import TeacherReply
from drag_graph.runs import start_run
from drag_graph.settings import load_settings
from drag_graph.testing.dict_store import DictStore


class SayingTeacher:
    """Says the same useful things of every question; counts calls and fails where it is told to."""

    name = fingerprint = "saying"
    is_model = True

    def __init__(self, *, cached=False):
        self.calls, self.failing, self.lock, self.cached = [], {}, threading.Lock(), cached

    def ask(self, request):
        with self.lock:
            self.calls.append((request.query.text, request.stage))
        for word, error in self.failing.items():
            if word in request.query.text and request.stage == "evidence":
                raise error
        evidence = [f"{request.query.text} fact {number} is about thing {number}." for number in range(5)]
        triple = {"subject": "thing", "predicate": "has", "object": "fact", "confidence": 0.9, "evidence": [0, 1]}
        document = {
            "evidence": {"evidence": evidence},
            "scores": {"scores": [{"index": number, "score": 9 - number} for number in range(5)]},
            "triples": {"triples": [triple, {**triple, "predicate": "names", "evidence": [0]}]},
            "statements": {"statements": [{"pair": 0, "statement": "The thing has and names the fact."}]},
        }[request.stage]
        texts = "".join(message["content"] for message in request.messages)
        id_ = content_id("default", "call", request.query.id, request.stage, texts)
        facts = {"query_id": request.query.id, "stage": request.stage, "model": self.name, "prompt_version": "1"}
        call = TeacherCall(id=id_, **facts, request_sha256="a", response_sha256="b", tokens_in=10, tokens_out=5, cost_usd=0.01)
        return TeacherReply(request.schema.parse(document), call, cached=self.cached)

    def close(self):
        """Nothing to release."""


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
        InputLine(n, query=make_query(text, source_id=str(n))) if text else InputLine(n, problem="bad")
        for n, text in enumerate(texts)
    ]
    return distiller(store, teacher, **{"workers": 3, **flags}).run(lines)


def distiller(store, teacher, journal=None, retry=False, **flags):
    settings = load_settings(flags)
    run = start_run(kind="distill", namespace="default", store="memory", source="test", teacher="saying", plan="lean")
    interruption = Interruption()
    distils = Distillation(settings, LexicalEmbedder(), InterruptibleTeacher(teacher, interruption))
    flags = {"workers": settings.workers, "retry_quarantined": retry, "interruption": interruption}
    return Distiller(store, distils, journal or Journal(), run, **flags)


def test_results_come_in_the_order_of_the_input(store, teacher):
    report = run(store, teacher, *[f"question {number}" for number in range(200)])
    assert [result.source_id for result in report.queries] == [str(number) for number in range(200)]
    assert report.exit_code == 0
    assert report.totals()["cost_usd"] == pytest.approx(200 * 3 * 0.01)
    assert store.counts()["Query"] == 200


def test_a_repeated_question_is_skipped_and_names_the_first(store, teacher):
    report = run(store, teacher, "Why?", "Who?", "why? ")
    assert [result.status for result in report.queries] == ["complete", "complete", "skipped"]
    assert report.queries[2].id == report.queries[0].id
    assert report.queries[2].error == "the same question as 0"
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
    assert stages[-1] == "statements"
    (subgraph,) = store.read([store.list_queries()[0].id])
    assert "The thing has and names the fact." in {edge.statement for edge in subgraph.edges}


def test_the_lean_plan_makes_three_calls(store, teacher):
    run(store, teacher, "Why?")
    assert [stage for _, stage in teacher.calls] == ["evidence", "scores", "triples"]


def test_patterns_alone_ask_for_no_triples_and_are_named_as_their_source(store, teacher):
    run(store, teacher, "Why?", extractor="patterns")
    assert [stage for _, stage in teacher.calls] == ["evidence", "scores"]
    (subgraph,) = store.read([store.list_queries()[0].id])
    assert subgraph.triples
    models = {call.id: call.model for call in subgraph.calls}
    assert {models[triple.call_id] for triple in subgraph.triples} == {"patterns/1"}


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


def test_evidence_is_ranked_and_every_triple_is_proven(store, teacher):
    run(store, teacher, "Why?", top_k=3)
    (subgraph,) = store.read([store.list_queries()[0].id])
    assert [item.llm_score for item in subgraph.kept_evidence] == [9.0, 8.0, 7.0]
    assert all(item.reason for item in subgraph.evidence if not item.kept)
    assert store.unproven_triples() == []
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


@pytest.fixture
def _interruptible():
    """Handle Ctrl-C as a program on a terminal does, also where the tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interruptible")
@pytest.mark.parametrize("place", ["while waiting", "while rendering"])
def test_ctrl_c_finishes_what_is_in_flight_and_reports_the_rest_as_pending(store, teacher, place):
    texts = [f"question {number}" for number in range(60)]
    shown = []

    def on_result(_cost):
        shown.append(1)
        if place == "while rendering" and len(shown) == 3:
            raise KeyboardInterrupt

    lines = [InputLine(n, query=make_query(text)) for n, text in enumerate(texts)]
    if place == "while waiting":
        original = teacher.ask

        def ask(request):
            if request.query.text == "question 2" and request.stage == "evidence":
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.2)
            return original(request)

        teacher.ask = ask
    report = distiller(store, teacher, workers=1).run(lines, on_result=on_result)
    statuses = [result.status for result in report.queries]
    assert len(statuses) == len(texts)
    assert statuses[:2] == ["complete"] * 2
    assert statuses.count("pending") >= 50
    assert isinstance(report.stopped, Interrupted)
    assert report.exit_code == 130
    assert len(teacher.calls) <= 3 * 10


def test_a_failure_after_ctrl_c_does_not_hide_it(store, teacher):
    interrupted = threading.Event()

    class Failing(SayingTeacher):
        def ask(self, request):
            if request.query.text == "question 1":
                assert interrupted.wait(10)
                raise ModelAccessDenied("no key")
            return super().ask(request)

    def on_result(_cost):
        if not interrupted.is_set():
            interrupted.set()
            raise KeyboardInterrupt

    lines = [InputLine(n, query=make_query(f"question {n}")) for n in range(5)]
    report = distiller(store, Failing(), workers=1).run(lines, on_result=on_result)
    assert report.exit_code == 130
    assert [result.status for result in report.queries] == ["complete", *["pending"] * 4]


def test_what_was_quarantined_after_paid_calls_is_asked_again_only_on_demand(store, teacher):
    failure = MalformedReply("prose instead of JSON", raw="prose")
    failure.spent = Spent(calls=3, tokens_in=300, tokens_out=30, cost_usd=0.5)
    teacher.failing["bad"] = failure
    lines = [InputLine(n, query=make_query(text)) for n, text in enumerate(["a bad one", "a good one"], start=1)]
    with Journal() as journal:
        distiller(store, teacher, journal).run(lines)
        asked = len(teacher.calls)
        again = distiller(store, teacher, journal).run(lines)
        assert len(teacher.calls) == asked
        assert [result.status for result in again.queries] == ["quarantined", "complete"]
        assert "--retry-quarantined" in again.queries[0].error
        assert (again.queries[1].evidence, again.queries[1].triples, again.totals()["cost_usd"]) == (5, 3, 0)
        teacher.failing.clear()
        last = distiller(store, teacher, journal, retry=True).run(lines)
        assert [result.status for result in last.queries] == ["complete", "complete"]
        assert len(teacher.calls) == asked + 3
        assert [run.exit_code for run, _, _ in journal.runs("default")] == [0, 1, 1]


def test_a_quarantine_that_cost_nothing_is_no_reason_not_to_ask(store, teacher):
    teacher.failing["bad"] = MalformedReply("not on the tape")
    lines = [InputLine(1, query=make_query("a bad one"))]
    with Journal() as journal:
        distiller(store, teacher, journal).run(lines)
        teacher.failing.clear()
        assert distiller(store, teacher, journal).run(lines).exit_code == 0


def test_a_slow_query_holds_up_no_other(store, teacher):
    release = threading.Event()
    original = teacher.ask

    def ask(request):
        if request.query.text == "question 0":
            assert release.wait(30)
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


@pytest.mark.usefixtures("_interruptible")
def test_after_ctrl_c_no_further_call_is_made_and_no_wait_goes_on(store, teacher):
    interruption = Interruption()
    asked = threading.Event()
    original = teacher.ask

    def ask(request):
        if request.stage == "scores":
            os.kill(os.getpid(), signal.SIGINT)
            assert asked.wait(10)
        return original(request)

    def on_interrupt(_signal, _frame):
        threading.Timer(0.05, asked.set).start()
        raise KeyboardInterrupt

    teacher.ask = ask
    signal.signal(signal.SIGINT, on_interrupt)
    report = distiller(store, teacher, workers=1).run([InputLine(1, query=make_query("Why?"))])
    assert [stage for _, stage in teacher.calls] == ["evidence", "scores"], "the call in flight is finished, no other is begun"
    assert (report.exit_code, report.queries[0].status, report.queries[0].calls) == (130, "pending", 2)
    interruption.interrupt()
    began = time.monotonic()
    with pytest.raises(Interrupted):
        interruption.sleep(60)
    assert time.monotonic() - began < 5


def test_what_is_ready_while_a_save_is_under_way_is_saved_in_one_transaction(store, teacher):
    saved, first, go_on = [], threading.Event(), threading.Event()
    original = store.save

    def save(subgraphs, aggregation, **flags):
        saved.append(len(subgraphs))
        if len(saved) == 1:
            first.set()
            assert go_on.wait(10)
        return original(subgraphs, aggregation, **flags)

    store.save = save
    ready = teacher.ask
    done = []

    def ask(request):
        reply = ready(request)
        if request.stage == "triples":
            done.append(1)
            if len(done) == 8:
                assert first.wait(10)
                threading.Timer(0.3, go_on.set).start()
        return reply

    teacher.ask = ask
    lines = [InputLine(n, query=make_query(f"question {n}")) for n in range(1, 9)]
    report = distiller(store, teacher, workers=8).run(lines)
    assert report.totals()["complete"] == 8
    assert saved[0] < 8
    assert len(saved) <= 3
    assert store.verify() == []


def test_one_subgraph_that_the_store_refuses_is_alone_in_being_refused(store, teacher):
    original, ready = store.save, teacher.ask
    all_at_once = threading.Barrier(8)

    def ask(request):
        if request.stage == "triples":
            all_at_once.wait(30)
        return ready(request)

    teacher.ask = ask

    def save(subgraphs, aggregation, **flags):
        if any(subgraph.query.text == "question 3" for subgraph in subgraphs):
            raise StoreError("query 3 is refused")
        return original(subgraphs, aggregation, **flags)

    store.save = save
    lines = [InputLine(n, query=make_query(f"question {n}")) for n in range(8)]
    report = distiller(store, teacher, workers=8).run(lines)
    assert report.exit_code == 3
    assert {result.line for result in report.queries if result.status == "pending"} == {3}
