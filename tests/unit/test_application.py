"""`DragGraph` as an object: settings, sharing, closing. What its methods do is tested with their topics."""

import gc
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from drag_graph.app import DragGraph, RunHandle, exchange
from drag_graph.concurrency.interruption import Interruption
from drag_graph.errors import BudgetReached, ConfigurationError, InputError, StoreUnfit
from drag_graph.settings import Settings


@pytest.fixture
def graph(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with DragGraph("graph.lbug", embedder="lexical") as opened:
        yield opened


def test_arguments_win_over_settings_and_these_over_the_environment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DRAG_GRAPH_TEACHER", "ollama/of-the-environment")
    assert DragGraph().settings.teacher == "ollama/of-the-environment"
    given = Settings(teacher="ollama/of-the-object", plan="paper")
    settings = DragGraph("other.lbug", settings=given, teacher="ollama/of-the-argument").settings
    assert (settings.store, settings.teacher, settings.plan) == ("other.lbug", "ollama/of-the-argument", "paper")


@pytest.mark.parametrize("values", [{"mode": "sideways"}, {"token_budget": 0}, {"tacher": "gpt-4o-mini"}])
@pytest.mark.parametrize("settings", [None, Settings()])
def test_a_wrong_setting_raises_our_own_error(settings, values):
    with pytest.raises(ConfigurationError, match=next(iter(values))):
        DragGraph(settings=settings, **values)


def test_a_setting_that_does_not_exist_names_the_nearest_one():
    with pytest.raises(ConfigurationError, match="Unknown setting: 'tacher'") as caught:
        DragGraph(tacher="gpt-4o-mini")
    assert "Did you mean teacher?" in caught.value.hint


def test_namespaces_share_models_and_the_open_store(graph):
    other = graph.in_namespace("other")
    with graph._resources.writing() as ours, other._resources.writing() as theirs:
        assert ours.embedder is theirs.embedder
        assert ours.store.counts() == theirs.store.counts()
        assert (ours.store.namespace, theirs.store.namespace) == ("default", "other")
    graph.close()
    with other._resources.store() as store:
        assert store.namespace == "other"
    other.close()


def test_it_closes_the_store_without_a_with_block(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graph = DragGraph("graph.lbug", embedder="lexical")
    with graph._resources.writing() as session:
        store = session.store
    del graph, session
    gc.collect()
    wait_until(lambda: store._closed)


def test_a_reader_becomes_a_writer_and_a_call_cannot_change_the_store(graph):
    with graph._resources.writing():
        pass
    with graph._resources.store() as store:
        assert store.counts()["Query"] == 0
    with pytest.raises(ConfigurationError, match="cannot change 'store'"):
        graph._resources.changed({"store": "another.lbug"})


def wait_until(is_done, seconds=10):
    end = time.monotonic() + seconds
    while not is_done():
        assert time.monotonic() < end
        time.sleep(0.01)


class _Report:
    stopped: Exception | None = None


def _stopped(interruption: Interruption) -> _Report:
    interruption.sleep(0)
    report = _Report()
    report.stopped = BudgetReached("The budget is reached.")
    return report


def test_a_run_that_is_waited_for_raises_what_stopped_it_with_its_report(graph):
    with pytest.raises(BudgetReached) as raised:
        RunHandle(_stopped, graph._resources)
    assert isinstance(raised.value.report, _Report)


def test_a_run_in_the_background_can_be_cancelled(graph):
    def work(interruption: Interruption) -> str:
        try:
            interruption.sleep(60)
        except Exception:  # noqa: BLE001 - the interruption
            return "resumable"
        return "done"

    run = RunHandle(work, graph._resources, wait=False)
    with pytest.raises(TimeoutError):
        run.result(timeout=0.01)
    assert not run.is_done
    run.cancel()
    assert run.result(timeout=10) == "resumable"


@pytest.mark.parametrize(
    "call",
    [
        lambda graph: graph.distill([1]),
        lambda graph: graph.distill(None),
        lambda graph: graph.distill(["bad \ud800 text"]),
        lambda graph: graph.ask("Why?", options="abc"),
        lambda graph: graph.ingest(text="bad \ud800 text", name="notes"),
        lambda graph: graph.ingest(text="Text is here.", name=""),
        lambda graph: graph.answers(limit=0),
        lambda graph: graph.export("out.jsonl"),
        lambda graph: graph.in_namespace(None),
    ],
)
def test_an_unusable_argument_raises_our_own_error(graph, call):
    with pytest.raises(ConfigurationError) as caught:
        call(graph)
    assert caught.value.hint


def test_questions_may_be_a_generator_and_results_print_for_people(graph, tmp_path):
    curated = tmp_path / "curated.jsonl"
    curated.write_text('{"question": "What causes tides?", "evidence": ["The Moon causes the tides."]}\n', encoding="utf-8")
    handle = graph.distill((text for text in ["What causes tides?"]), teacher=f"curated:{curated}")
    assert handle.to_dict()["totals"]["complete"] == 1
    assert "'complete': 1" in repr(handle)
    answer = graph.ask("What causes tides?")
    assert "1. The Moon causes the tides." in str(answer.lines)
    assert graph.audit(answer).to_dict() == answer.audit().to_dict()
    assert len(graph.runs.list()) == len(list(graph.runs.list())) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda graph: graph.ask("Why?"),
        lambda graph: graph.show(),
        lambda graph: graph.store.status(),
        lambda graph: list(graph.export()),
        lambda graph: graph.ingest(text="The Moon causes tides.", name="note"),
        lambda graph: graph.in_namespace("other"),
    ],
)
def test_a_closed_application_refuses_calls(graph, call):
    graph.ingest(text="The Moon causes tides.", name="note")
    graph.close()
    graph.close()
    with pytest.raises(ConfigurationError, match="This DragGraph is closed") as caught:
        call(graph)
    assert caught.value.hint


@pytest.mark.parametrize("format_", ["jsonl", "subgraphs"])
def test_a_half_read_export_holds_nothing(graph, monkeypatch, format_):
    monkeypatch.setattr(exchange, "SUBGRAPHS_PER_PAGE", 1)
    for number in range(4):
        graph.ingest(text=f"Cause {number} leads to effect {number}.", name=str(number))
    graph.close()
    with DragGraph("graph.lbug", embedder="lexical") as other:
        whole = list(other.export(format_))
        lines = other.export(format_)
        start = [next(lines), next(lines)]
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(other.ask, "What does cause 1 lead to?").result(10).lines
            assert [*start, *lines] == whole
            pool.submit(other.close).result(10)
    if format_ == "subgraphs":
        with pytest.raises(ConfigurationError, match="closed"):
            list(other.export(format_))


def test_a_run_in_the_background_keeps_its_application_open(graph):
    ready, may_go_on = threading.Event(), threading.Event()

    def wait(progress):
        ready.set()
        assert may_go_on.wait(10)

    run = graph.ingest(text="The Moon causes tides.", name="note", on_progress=wait, wait=False)
    assert ready.wait(10)
    graph.close()
    may_go_on.set()
    assert run.result(10).totals()["added"] == 1
    assert graph._resources._shared.holders == 0
    assert not graph._resources._shared.stores._stores


def test_garbage_collection_never_waits_for_a_call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graph = DragGraph("graph.lbug", embedder="lexical")
    resources = graph._resources
    with resources.writing() as session:
        del graph
        gc.collect()  # in the thread that has the store
        assert session.store.counts()["Query"] == 0
    wait_until(lambda: resources._shared.holders == 0)
    wait_until(lambda: not resources._shared.stores._stores)


def test_two_applications_on_one_file_write_and_read_in_turn(graph):
    graph.ingest(text="The Moon causes tides.", name="first")
    graph.close()
    with DragGraph("graph.lbug", embedder="lexical") as one, DragGraph("graph.lbug", embedder="lexical") as two:
        assert len(one.show()) == 1
        began = time.monotonic()
        two.ingest(text="Oxygen causes rust.", name="second")
        assert len(one.show()) == 2
        one.ingest(text="Frost causes ice.", name="third")
        assert len(two.show()) == 3
        assert time.monotonic() - began < 10


def test_a_lender_that_wants_the_store_alone_gets_its_turn(graph):
    graph.ingest(text="The Moon causes tides.", name="note")
    stop = threading.Event()

    def read():
        while not stop.is_set():
            with graph._resources.store():
                time.sleep(0.02)

    with ThreadPoolExecutor(8) as pool:
        readers = [pool.submit(read) for _ in range(8)]
        time.sleep(0.1)
        try:
            began = time.monotonic()
            assert graph.store.status().store.counts["Document"] == 1
            assert time.monotonic() - began < 5
        finally:
            stop.set()
        for reader in readers:
            reader.result()


def test_a_writer_gets_its_turn_among_readers_that_follow_each_other(graph):
    with graph._resources.writing():
        pass
    graph._resources._shared.stores.close()
    is_over, began = threading.Event(), threading.Event()

    def read():
        while not is_over.is_set():
            with graph._resources.store():
                began.set()
                time.sleep(0.02)

    def write():
        with graph._resources.writing():
            return True

    with ThreadPoolExecutor(9) as threads:
        readers = [threads.submit(read) for _ in range(8)]
        assert began.wait(30)
        try:
            assert threads.submit(write).result(10)
        finally:
            is_over.set()
        for reader in readers:
            reader.result(30)


def test_a_callback_that_raises_ends_the_run_and_the_same_call_resumes_it(graph, tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text(f"Cause {number} leads to effect {number}.")

    def fail(progress):
        if progress.done:
            raise ValueError("the screen is gone")

    with pytest.raises(ValueError, match="the screen is gone"):
        graph.ingest(sorted(tmp_path.glob("*.txt")), workers=1, on_progress=fail)
    totals = graph.ingest(sorted(tmp_path.glob("*.txt"))).result().totals()
    assert (totals["unchanged"] + totals["added"], totals["unchanged"] > 0) == (3, True)


def test_a_missing_file_is_reported_before_a_missing_teacher(graph, tmp_path):
    with pytest.raises(InputError, match=r"nofile\.jsonl"):
        graph.distill(tmp_path / "nofile.jsonl")


def test_it_closes_after_its_process_has_left_the_folder_and_after_the_folder_is_gone(tmp_path, monkeypatch):
    for is_removed in (False, True):
        folder = tmp_path / f"folder-{is_removed}"
        folder.mkdir()
        monkeypatch.chdir(folder)
        graph = DragGraph("graph.lbug", embedder="lexical")
        graph.ingest(text="The Moon causes tides.", name="note")
        monkeypatch.chdir(tmp_path)
        if is_removed:
            shutil.rmtree(folder)
        graph.close()
    with DragGraph(tmp_path / "folder-False" / "graph.lbug", embedder="lexical") as graph:
        assert len(graph.show()) == 1


def test_an_automatic_embedder_is_the_one_that_filled_the_store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with DragGraph("graph.lbug", embedder="lexical", privacy="off") as graph:
        graph.ingest(text="The Moon causes tides.", name="note")
    with DragGraph("graph.lbug", embedder="auto", privacy="off") as graph:
        assert graph.ask("What causes tides?").lines
        graph.ingest(text="The wind causes waves.", name="wind").result()
        assert {subgraph.title for subgraph in graph.show()} == {"note", "wind"}
    with DragGraph("graph.lbug", embedder="minilm", privacy="off") as graph, pytest.raises(StoreUnfit, match="MiniLM"):
        graph.ask("What causes tides?")
