"""Concepts that somebody changed behind the store's back, and those of other namespaces in one index."""

import uuid

import ladybug
import neo4j
import numpy as np
import pytest
from tampering import statement

from drag_graph.adapters import neo4j_concepts
from drag_graph.adapters.embedders.lexical import LexicalEmbedder
from drag_graph.adapters.ladybug_store import LadybugStore
from drag_graph.adapters.neo4j_store import Neo4jStore
from drag_graph.linker import Linker
from drag_graph.model import Aggregation
from drag_graph.steps.export import canonical_lines
from drag_graph.testing.builders import make_subgraph

EMBEDDER = LexicalEmbedder()


@pytest.fixture
def namespace():
    return f"concepts-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def on_neo4j(neo4j_lts, namespace):
    """(open a store, tamper) on a namespace of its own."""
    uri, username, password = neo4j_lts
    with neo4j.GraphDatabase.driver(uri, auth=(username, password)) as driver:

        def tamper(name, where=namespace):
            driver.execute_query(*statement(name, "neo4j", where))

        yield lambda where=namespace: Neo4jStore(uri, username=username, password=password, namespace=where), tamper
        tamper("namespace_gone")


@pytest.fixture
def on_ladybug(tmp_path, namespace):
    path = tmp_path / "graph.lbug"

    def tamper(name):
        with ladybug.Database(str(path)) as database, ladybug.Connection(database) as connection:
            connection.execute(*statement(name, "ladybug", namespace))

    return lambda: LadybugStore(path, namespace=namespace), tamper


def linker(store):
    return Linker(store.concepts, store.namespace, EMBEDDER, lambda: "2026-01-01T00:00:00+00:00")


@pytest.fixture(params=["ladybug", pytest.param("neo4j", marks=pytest.mark.neo4j)])
def opened(request):
    return request.getfixturevalue(f"on_{request.param}")


@pytest.mark.parametrize("flaw", ["miscounted", "unreferenced"])
def test_wrong_concepts_are_found_and_mended(opened, flaw):
    open_, tamper = opened
    with open_() as store:
        store.migrate()
        store.save([make_subgraph(number, namespace=store.namespace) for number in range(2)], Aggregation())
        linker(store).run()
        right, number = list(canonical_lines(store.records())), store.counts()["Concept"]
        assert store.verify() == []
    tamper(flaw)
    with open_() as store:
        problems = store.verify()
        assert {problem.check for problem in problems} == {"concept"}
        assert len(problems) == number
        assert linker(store).run().corrected == number
        assert store.verify() == []
        assert list(canonical_lines(store.records())) == right


@pytest.mark.neo4j
def test_what_other_namespaces_hide_in_the_index_is_found(on_neo4j, namespace, monkeypatch):
    """The index is of all namespaces: where theirs are as near, it is asked for more, and then this one is gone through."""
    monkeypatch.setattr(neo4j_concepts, "LEAST_CANDIDATES", 1)
    open_, tamper = on_neo4j
    others = [f"{namespace}-{number}" for number in range(6)]
    try:
        for where in (*others, namespace):
            with open_(where) as store:
                store.migrate()
                store.save([make_subgraph(namespace=where)], Aggregation())
                linker(store).run()
        with open_() as store:
            vectors = np.vstack([EMBEDDER.embed(["mitosis"]), np.zeros((1, EMBEDDER.dimension), np.float32)])
            for wider in (1, 10):
                monkeypatch.setattr(neo4j_concepts, "WIDER", wider)
                (found, nothing) = store.concepts.nearest_concepts(vectors, 1, floor=0.9)
                assert [item.name for item in store.concepts.read([id_ for id_, _ in found])] == ["mitosis"]
                assert nothing == []
    finally:
        for where in others:
            tamper("namespace_gone", where)
