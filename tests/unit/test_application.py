"""`DragGraph` as an object: settings, sharing, closing. What its methods do is tested with their topics."""

import gc

import pytest

from drag_graph.app import DragGraph, RunHandle
from drag_graph.concurrency.interruption import Interruption
from drag_graph.errors import BudgetReached, ConfigurationError
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
    with pytest.raises(Exception, match="closed"):
        store.counts()


def test_a_reader_becomes_a_writer_and_a_call_cannot_change_the_store(graph):
    with graph._resources.writing():
        pass
    with graph._resources.store() as store:
        assert store.counts()["Query"] == 0
    with pytest.raises(ConfigurationError, match="cannot change 'store'"):
        graph._resources.changed({"store": "another.lbug"})


class _Report:
    stopped: Exception | None = None


def _stopped(interruption: Interruption) -> _Report:
    interruption.sleep(0)
    report = _Report()
    report.stopped = BudgetReached("The budget is reached.")
    return report


def test_a_run_that_is_waited_for_raises_what_stopped_it_with_its_report():
    with pytest.raises(BudgetReached) as raised:
        RunHandle(_stopped)
    assert isinstance(raised.value.report, _Report)


def test_a_run_in_the_background_can_be_cancelled():
    def work(interruption: Interruption) -> str:
        try:
            interruption.sleep(60)
        except Exception:  # noqa: BLE001 - the interruption
            return "resumable"
        return "done"

    run = RunHandle(work, wait=False)
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
