"""What is due for a refresh, how its lines are made, and which round a run belongs to, on the store in memory."""

from datetime import datetime, timedelta

import pytest

from drag_graph import refreshing
from drag_graph.model import Aggregation
from drag_graph.refreshing import READ, UNDATED, due, lines, source_of
from drag_graph.runs import Run
from drag_graph.testing.builders import make_answer, make_subgraph
from drag_graph.testing.dict_store import DictStore

NOW = "2026-05-01T00:00:00+00:00"
LATER = "2026-05-02T00:00:00+00:00"
PLAIN = Aggregation()


@pytest.fixture
def store():
    with DictStore() as store:
        store.migrate()
        yield store


def fill(store, *, expired=(), failed=()):
    """Save subgraphs of these numbers, and a wrong answer to each failed one."""
    graphs = {}
    for number in sorted({*expired, *failed}):
        expires_at = "2026-04-30T00:00:00+00:00" if number in expired else LATER
        graphs[number] = make_subgraph(number).model_copy(update={"expires_at": expires_at})
        store.save([graphs[number]], PLAIN)
    store.save_answers([make_answer(number, [graphs[number]], label="B", correct=False) for number in failed])
    return {number: graph.query.id for number, graph in graphs.items()}


def test_what_is_due_comes_once_with_its_reasons(store):
    ids = fill(store, expired=(1, 2, 3), failed=(3, 4))
    found = {item.query.id: item.reasons for item in due(store, ["failed", "expired"], NOW)}
    assert found == {ids[1]: ("expired",), ids[2]: ("expired",), ids[3]: ("expired", "failed"), ids[4]: ("failed",)}
    assert list(found) == sorted(found)
    assert {item.query.id for item in due(store, ["failed"], NOW)} == {ids[3], ids[4]}
    assert {item.query.id for item in due(store, ["expired"], NOW)} == {ids[1], ids[2], ids[3]}
    assert list(due(store, ["expired"], "2026-01-01T00:00:00+00:00")) == []


@pytest.fixture
def small_pages(monkeypatch):
    monkeypatch.setattr(refreshing, "PAGE", 7)


@pytest.mark.usefixtures("small_pages")
def test_more_than_a_page_is_due(store):
    ids = fill(store, expired=range(2 * READ + 1))
    found = list(due(store, ["expired"], NOW))
    assert [item.query.id for item in found] == sorted(ids.values())
    assert [line.number for line in lines(store, found)] == list(range(1, len(ids) + 1))


@pytest.mark.usefixtures("small_pages")
def test_what_is_refreshed_on_the_way_does_not_hide_the_rest(store):
    ids = fill(store, expired=range(2 * READ))
    seen = []
    for item in due(store, ["expired"], NOW):
        seen.append(item.query.id)
        (graph,) = store.read([item.query.id])
        store.save([graph.model_copy(update={"expires_at": LATER})], PLAIN, replace=True)
    assert seen == sorted(ids.values())


def test_a_line_has_the_query_and_its_edition(store):
    ids = fill(store, expired=(1, 2))
    undated = make_subgraph("undated").model_copy(update={"created_at": ""})
    store.save([undated], PLAIN)
    made = {line.query.id: line for line in lines(store, due(store, ["expired"], NOW))}
    assert made.keys() == {*ids.values(), undated.query.id}
    assert made[ids[1]].query == store.read([ids[1]])[0].query
    assert made[ids[1]].edition == make_subgraph(1).created_at
    assert made[undated.query.id].edition == UNDATED


def test_what_was_erased_or_refreshed_since_it_was_found_is_left_out(store):
    ids = fill(store, expired=(1, 2, 3))
    found = list(due(store, ["expired"], NOW))
    store.erase_query(ids[1])
    store.save([make_subgraph(2).model_copy(update={"created_at": NOW})], PLAIN, replace=True)
    assert [line.query.id for line in lines(store, found)] == [ids[3]]


def run_of(source, *, finished=False, stopped="", kind="refresh"):
    return Run("id", kind, "default", "store", source, "job", "teacher", "lean", NOW, NOW if finished else "", stopped)


def test_a_run_goes_on_with_the_unfinished_round_of_a_day():
    now = datetime.fromisoformat(NOW)
    first = source_of(["expired"], [], now)
    assert first == f"--expired of {NOW}"
    soon, tomorrow = now + timedelta(hours=23), now + timedelta(hours=25)
    assert source_of(["expired"], [run_of(first)], soon) == first, "it was killed"
    assert source_of(["expired"], [run_of(first, finished=True, stopped="budget")], soon) == first
    assert source_of(["expired"], [run_of(first, finished=True)], soon) == f"--expired of {soon.isoformat()}", "it was done"
    assert source_of(["expired"], [run_of(first)], tomorrow) == f"--expired of {tomorrow.isoformat()}"


def test_only_a_refresh_for_the_same_reasons_is_gone_on_with():
    now = datetime.fromisoformat(NOW)
    both = source_of(["failed", "expired"], [], now)
    assert both == f"--expired --failed of {NOW}"
    later = now + timedelta(hours=1)
    assert source_of(["expired"], [run_of(both)], later) == f"--expired of {later.isoformat()}"
    assert source_of(["expired", "failed"], [run_of("q.jsonl", kind="distill"), run_of(both)], later) == both
    assert source_of(["expired", "failed"], [run_of(both, finished=True), run_of(both)], later).endswith(later.isoformat())
