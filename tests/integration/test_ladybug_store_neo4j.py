"""The same content gives the same bytes on both engines (docs/reference/json.md: the canonical export)."""

import itertools
import random
import secrets

import pytest

from drag_graph.manage.canonical_export import canonical_lines
from drag_graph.model import Aggregation
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.stores.neo4j.neo4j_store import Neo4jStore
from drag_graph.testing.builders import make_answer, make_subgraph, random_subgraphs

pytestmark = pytest.mark.neo4j
SETTINGS = [
    Aggregation(strategy=strategy, merge=merge, threshold=0.5)
    for strategy, merge in itertools.product(("pair", "whole-pair", "predicate"), ("max", "mean", "noisy-or"))
]


def dense(number, namespace):
    """Return a subgraph with many parallel edges, whose merged confidences are sensitive to the order of summing."""
    chance = random.Random(number)
    triples = [(*chance.sample(("a", "b", "c"), 2), "is", round(chance.random(), 3), chance.randrange(3)) for _ in range(14)]
    vector = [chance.random() for _ in range(8)]
    return make_subgraph(f"dense {number}", namespace=namespace, triples=triples, embedding=vector)


def exports(store, namespace):
    """Fill a store and return its full exports under all settings; leave it empty."""
    graphs = [*random_subgraphs(12, namespace=namespace, seed=5), *(dense(number, namespace) for number in range(12))]
    found = []
    with store:
        store.migrate()
        store.save(graphs, SETTINGS[0])
        stored = store.read([graph.query.id for graph in graphs if graph.triples][:4])
        for number, graph in enumerate(stored):
            refs = [("evidence", graph.evidence[0].id), *(("edge", edge.id) for edge in graph.usable_edges)]
            fields = {} if number % 2 else {"label": None, "gold": None, "correct": None}
            store.save_answers([make_answer(number, [graph], namespace=namespace, refs=refs, **fields)])
        for settings in SETTINGS:
            store.aggregate([graph.query.id for graph in graphs], settings)
            found.append(list(canonical_lines(store.records(), full=True)))
        for graph in graphs:
            store.erase([graph.query.id])
        assert list(store.records()) == []
    return found


def test_the_export_of_both_engines_is_the_same_to_the_byte(tmp_path, neo4j_address):
    uri, username, password = neo4j_address
    namespace = f"bytes-{secrets.token_hex(6)}"
    ours = exports(LadybugStore(tmp_path / "graph.lbug", namespace=namespace), namespace)
    theirs = exports(Neo4jStore(uri, username=username, password=password, namespace=namespace), namespace)
    for settings, mine, other in zip(SETTINGS, ours, theirs, strict=True):
        assert mine == other, settings
    assert len({len(lines) for lines in ours}) > 1
