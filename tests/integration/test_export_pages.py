"""An export reads a linked Neo4j page by page: the same records whatever the pages' size, and no page grows with the store."""

import uuid

import neo4j
import numpy as np
import pytest

from drag_graph.graph import paging
from drag_graph.graph.paging import source_ids
from drag_graph.jobs.link_job import Linker
from drag_graph.manage.canonical_export import canonical_lines
from drag_graph.model import Aggregation
from drag_graph.stores.neo4j import neo4j_store
from drag_graph.stores.neo4j.connection import Work
from drag_graph.stores.neo4j.neo4j_store import Neo4jStore
from drag_graph.stores.shared import shared_concepts as concepts
from drag_graph.stores.shared.cypher_files import load
from drag_graph.stores.shared.shared_store import LAST
from drag_graph.testing.builders import make_answer, make_subgraph

pytestmark = pytest.mark.neo4j

QUERIES = 12
PAGE = 3
IN_ORDER = {
    "find_sources": {"until": LAST, "prefix": "", "input_id": "", "expired_before": "", "has_failed": False},
    "find_answers": {"until": LAST, "prefix": ""},
    "records_links": {},
    "all_concepts": {"vectors": False},
}
"""The statements of an export, which page in the order of an index, and their other parameters."""


class Names:
    """An embedder to which all names are equal, so that everything is merged that may be."""

    name = "equal"
    dimension = 4

    def embed(self, texts):
        return np.asarray([[1.0, 0.0, 0.0, 0.0]] * len(texts), dtype=np.float32)

    def count_tokens(self, text):
        return len(text)


@pytest.fixture(scope="module")
def store(neo4j_address):
    """A linked store."""
    uri, username, password = neo4j_address
    with Neo4jStore(uri, username=username, password=password, namespace=f"pages-{uuid.uuid4().hex[:8]}") as store:
        store.migrate()
        graphs = [
            make_subgraph(
                n,
                namespace=store.namespace,
                triples=[(f"thing {n}", "is_a", "thing", 0.9, 0), (("cell", "Cells")[n % 2], "has", "thing", 0.9, 0)],
            )
            for n in range(QUERIES)
        ]
        store.save(graphs, Aggregation())
        store.save_answers([make_answer(n, [graph], namespace=store.namespace) for n, graph in enumerate(graphs)])
        Linker(store.concepts, store.namespace, Names(), lambda: "2026-01-02T03:04:05+00:00").run()
        yield store
        store.erase(list(source_ids(store)))


def test_small_pages_give_the_same_records_once(store, monkeypatch):
    whole = list(canonical_lines(store.records(), full=True))
    assert store.counts()["Concept"] > 2 * PAGE
    assert store.counts()["SAME_AS"] > 0
    rows = {}

    def counting(read):
        def counted(work, name, /, **values):
            found = read(work, name, **values)
            rows.setdefault(name, []).append(len(found))
            return found

        return counted

    monkeypatch.setattr(Work, "run", counting(Work.run))
    monkeypatch.setattr(neo4j_store, "ROWS_PER_PAGE", PAGE)
    monkeypatch.setattr(paging, "SOURCES_PER_PAGE", PAGE)
    monkeypatch.setattr(concepts, "PAGE", PAGE)
    assert list(canonical_lines(store.records(), full=True)) == whole
    assert len(set(whole)) == len(whole)
    for name in IN_ORDER:
        assert max(rows[name]) == PAGE
        assert len(rows[name]) > 2


def test_vectors_are_left_out_where_they_are_not_wanted(store):
    found = [item for item in store.records() if item.get("label") == "Concept"]
    assert {len(item["properties"]["embedding"]) for item in found} == {4}
    without = [item for item in store.records(vectors=False) if item.get("label") == "Concept"]
    assert {item["properties"].get("embedding") for item in without} == {None}
    assert list(canonical_lines(store.records(vectors=False))) == list(canonical_lines(store.records()))


@pytest.mark.parametrize("name", IN_ORDER)
def test_a_page_is_found_by_index_and_not_sorted(store, neo4j_address, name):
    """Neither all nodes are looked at nor all rows held; PartialTop sorts what is equal in the index only."""
    text, bound = load(name, "neo4j").bind(namespace=store.namespace, after="", limit=PAGE, **IN_ORDER[name])
    uri, username, password = neo4j_address
    with neo4j.GraphDatabase.driver(uri, auth=(username, password), notifications_min_severity="OFF") as driver:
        plan = driver.execute_query(f"EXPLAIN {text}", bound).summary.plan
    kinds = {operator["operatorType"].split("@")[0] for operator in _operators(plan)}
    assert any("IndexSeek" in kind for kind in kinds), kinds
    assert not {kind for kind in kinds if "Scan" in kind or kind in ("Sort", "Top", "Eager")}, kinds


def _operators(plan):
    yield plan
    for child in plan.get("children", ()):
        yield from _operators(child)
