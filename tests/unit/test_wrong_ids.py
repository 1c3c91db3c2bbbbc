"""What `db verify` says of ids: a statement that its teacher made twice is in order, also when the first of the two is gone."""

import pytest

from drag_graph.manage.verification import problems
from drag_graph.model import Aggregation
from drag_graph.testing.builders import as_distilled, make_subgraph
from drag_graph.testing.dict_store import DictStore


@pytest.fixture
def twice():
    return as_distilled(make_subgraph(1, evidence=["one", "two", "one", "one"], dropped=(), triples=()))


def stored(graph):
    store = DictStore()
    store.migrate()
    store.save([graph], Aggregation())
    return store


@pytest.mark.parametrize("first", [0, 1, 2])
def test_a_repeat_stays_right_when_what_it_repeats_was_erased(twice, first):
    assert problems(stored(twice.model_copy(update={"evidence": twice.evidence[first:]}))) == []


def test_a_lost_vector_is_named(twice):
    (found,) = problems(stored(twice.model_copy(update={"embedding": (0.0,) * 8})))
    assert (found.check, found.id) == ("vector", twice.query.id)


def test_a_changed_text_is_found(twice):
    changed = twice.evidence[2].model_copy(update={"text": "three"})
    found = problems(stored(twice.model_copy(update={"evidence": (*twice.evidence[:2], changed)})))
    assert [(item.check, item.id) for item in found] == [("checksum", changed.id)]
