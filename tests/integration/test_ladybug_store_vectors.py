"""Vectors that are mostly zeros, as the built-in embedder makes them, are the same after any number of closings.

The engine's compression of lists loses them (`drag_graph.stores.ladybug.files.COMPRESSION`).
"""

import random

import pytest

from drag_graph.model import Aggregation
from drag_graph.ports.concepts import Changes
from drag_graph.stores.ladybug.store import LadybugStore
from drag_graph.testing.builders import make_subgraph

DIMENSION = 1024
FILLED = 40
"""Numbers of a vector that are not zero."""


def sparse(number):
    chance = random.Random(number)
    vector = [0.0] * DIMENSION
    for place in chance.sample(range(DIMENSION), FILLED):
        vector[place] = chance.uniform(-1.0, 1.0)
    return tuple(vector)


def graphs(numbers):
    return [make_subgraph(number, embedding=sparse(number)) for number in numbers]


@pytest.mark.parametrize("sizes", [(20, 1, 1), (5, 2), (60, 7), (1, 1, 1)])
def test_vectors_of_later_and_smaller_writes_are_kept(tmp_path, sizes):
    path, written = tmp_path / "graph.lbug", 0
    for size in sizes:
        with LadybugStore(path) as store:
            store.migrate()
            store.save(graphs(range(written, written + size)), Aggregation())
        written += size
    with LadybugStore(path) as store:
        wanted = graphs(range(written))
        found = store.read([graph.query.id for graph in wanted])
        assert [graph.embedding for graph in found] == [graph.embedding for graph in wanted]


def test_vectors_of_concepts_and_evidence_are_kept(tmp_path):
    path = tmp_path / "graph.lbug"
    for number in range(3):
        with LadybugStore(path) as store:
            store.migrate()
            (graph,) = graphs([number])
            store.save([graph], Aggregation())
            store.concepts.write(Changes(evidence={item.id: sparse(n) for n, item in enumerate(graph.evidence)}))
    with LadybugStore(path) as store:
        found = store.search.candidates(sparse(0), [], 20).evidence
        near = [hit for hit in found if hit.score == pytest.approx(1.0)]
        assert len(near) == 3, "one of each query"
