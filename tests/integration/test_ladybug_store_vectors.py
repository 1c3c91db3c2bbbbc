"""Vectors that are mostly zeros, as the built-in embedder makes them, are the same after any number of closings.

The engine's compression of lists loses them (`store_files.COMPRESSION`). What a search keeps of them in
memory is as they are stored.
"""

import random
from dataclasses import replace

import numpy as np
import pytest

from drag_graph.graph.name_forms import concept_id
from drag_graph.model import Aggregation
from drag_graph.ports.concept_store import Changes, Concept
from drag_graph.stores.ladybug.ladybug_search import IDS_AT_ONCE, LadybugSearch
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.stores.ladybug.ladybug_transaction import LadybugTransaction
from drag_graph.stores.shared.vector_index import VectorIndex
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
        found = store.search.candidates(sparse(0), (), 20).found.by_vector
        near = [id_ for id_, score in found.items() if score == pytest.approx(1.0)]
        assert len(near) == 3, "one of each query"


@pytest.fixture
def rows_read(monkeypatch):
    """How many rows each index of vectors was made of, one after the other."""
    made, numbers = VectorIndex.of, []

    def counted(version, rows):
        found = list(rows)
        numbers.append(len(found))
        return made(version, found)

    monkeypatch.setattr(VectorIndex, "of", counted)
    return numbers


def test_a_search_after_a_write_reads_the_vectors_again_that_it_may_have_changed(tmp_path, rows_read):
    known, (other,) = graphs(range(20)), graphs([20])
    with LadybugStore(tmp_path / "graph.lbug") as store:
        store.migrate()

        def read_by_asking():
            rows_read.clear()
            found = store.search.candidates(sparse(20), (), 3)
            number = len(rows_read)
            # A search that has read nothing before finds the same.
            assert found == LadybugSearch(store, read_only=True).candidates(sparse(20), (), 3)
            return rows_read[:number], [hit.id for hit in found.queries if hit.score > 0.99]

        store.save(known, Aggregation())
        assert read_by_asking() == ([20, 0], [])
        store.save([other], Aggregation())
        assert read_by_asking() == ([1, 0], [other.source_id])
        store.aggregate([other.source_id], Aggregation(threshold=0.9))
        assert read_by_asking() == ([], [other.source_id])
        vectors = {item.id: sparse(number) for number, item in enumerate(other.evidence) if item.kept}
        store.concepts.write(Changes(evidence=vectors))
        assert read_by_asking() == ([0, len(vectors)], [other.source_id])
        concept = Concept(concept_id(store.namespace, "iron"), "iron", "iron", 0, "", 0)
        store.concepts.write(Changes(concepts=[concept], links=[(other.entities[0].id, concept.id)]))
        (stored,) = store.concepts.read([concept.id])
        store.concepts.write(Changes(named=[replace(stored, vector=sparse(20))]))
        assert read_by_asking() == ([0, 0], [other.source_id])
        assert list(store.concepts.nearest_concepts(np.asarray([sparse(20), sparse(21)]), 1, floor=0.9)) == [
            [(concept.id, pytest.approx(1.0))],
            [],
        ]
        store.save([other.model_copy(update={"embedding": sparse(21)})], Aggregation(), replace=True)
        assert read_by_asking() == ([21, 0], [])
        store.erase([other.source_id])
        assert read_by_asking() == ([20, 0], []), "the concept that the replaced edition left goes, too"


def test_after_much_was_written_all_vectors_are_read_at_once(tmp_path, monkeypatch):
    asked, run = [], LadybugTransaction.run

    def counted(self, name, /, **parameters):
        asked.extend([name] if name.startswith("search_candidates_vectors_") else [])
        return run(self, name, **parameters)

    monkeypatch.setattr(LadybugTransaction, "run", counted)
    with LadybugStore(tmp_path / "graph.lbug") as store:
        store.migrate()
        assert store.search.index("queries").ids == []
        store.save(graphs(range(IDS_AT_ONCE + 1)), Aggregation())
        assert len(store.search.index("queries").ids) == IDS_AT_ONCE + 1
        assert asked == []
        store.save(graphs([IDS_AT_ONCE + 1]), Aggregation())
        assert len(store.search.index("queries").ids) == IDS_AT_ONCE + 2
        assert len(asked) == 1


def test_shorter_vectors_are_found_when_the_longer_ones_are_gone(tmp_path):
    (graph,) = graphs([0])
    longer, *shorter = (item.id for item in graph.evidence if item.kept)
    with LadybugStore(tmp_path / "graph.lbug") as store:
        store.migrate()
        store.save([graph], Aggregation())
        store.concepts.write(Changes(evidence={longer: [1.0] * 9} | dict.fromkeys(shorter, [1.0] * 3)))
        assert store.search.index("evidence").ids == [longer]
        store.concepts.write(Changes(evidence={longer: [1.0] * 3}))
        assert sorted(store.search.index("evidence").ids) == sorted([longer, *shorter])
