"""The nearest vectors of an embedded store, and what is kept of them after a write."""

import numpy as np
import pytest

from drag_graph.stores.shared.vector_index import VectorIndex


def row(id_, vector):
    return {"id": id_, "embedding": list(vector)}


@pytest.mark.parametrize("dimension", [384, 1024])
def test_equal_vectors_are_in_the_order_of_their_ids_wherever_they_stand(dimension):
    chance = np.random.default_rng(1)
    for size in range(4, 60):
        vectors = chance.normal(size=(size, dimension))
        vectors[1] = vectors[size - 1] = vectors[0]
        rows = [row(f"{place:02}", vector) for place, vector in enumerate(vectors)]
        asked = (vectors[:1] + chance.normal(size=(1, dimension))).astype(np.float32)
        index = VectorIndex.of(1, rows)
        moved = index.renewed(2, ["00"], rows[:1])
        assert moved.ids[-1] == "00"
        (found,) = index.nearest(asked, 3)
        assert [id_ for id_, _ in found] == ["00", "01", f"{size - 1:02}"]
        assert len({score for _, score in found}) == 1
        assert moved.nearest(asked, 3) == [found]
        assert moved.nearest(asked, 1) == [found[:1]], "the first of those that are as near"
        assert moved.nearest(asked, size, floor=found[0][1]) == [found], "as near as the floor is near enough"


def test_an_index_in_which_nothing_changed_is_not_copied():
    index = VectorIndex.of(1, [row("a", [1.0, 0.0]), row("b", [0.0, 1.0])])
    same = index.renewed(2, ["c"], [])
    assert (same.version, same.ids) == (2, index.ids)
    assert same.vectors is index.vectors


def test_where_the_longest_vectors_are_gone_all_are_to_be_read():
    rows = [row("long", [1.0, 0.0, 0.0]), row("a", [1.0, 0.0]), row("b", [0.0, 1.0])]
    index = VectorIndex.of(1, rows)
    assert index.renewed(2, ["long"], []) is None
    assert index.renewed(2, ["long"], [row("c", [1.0])]) is None
    assert index.renewed(2, ["long", "c"], [row("c", [0.0, 1.0, 0.0])]).ids == ["c"]
    assert index.renewed(2, ["c"], [row("c", [1.0])]).ids == ["long"]
    assert index.renewed(2, ["c"], [row("c", [1.0, 0.0, 0.0, 0.0])]).ids == ["c"]
