"""Checking a store (`db verify`; docs/reference/graph.md).

The database finds some problems by itself (`GraphStore.verify`). Those within a subgraph are found here, for all stores: wrong
ids, missing provenance, and dangling references of simple edges.
"""

from collections.abc import Iterator
from dataclasses import replace

from drag_graph.graph.paging import pages, read_undamaged, source_ids
from drag_graph.manage.content_ids import wrong_ids
from drag_graph.model import Subgraph
from drag_graph.ports.graph_store import GraphStore, Problem

PAGE = 100
"""Sources per round trip."""
REPLACE = (
    "distill the question again (`drag-graph distill --replace`), or erase the document (`drag-graph db erase`) and ingest its "
    "file again"
)
NEW_STORE = "export the store (`drag-graph export --format subgraphs`) and import the file into a new one"
CURES = {
    "orphan": NEW_STORE,
    "dangling-answer": NEW_STORE,
    "community": "run `drag-graph communities`",
    "concept": "run `drag-graph link`",
    "dangling-id": "run `drag-graph aggregate`",
    "checksum": f"the original text is not known: {REPLACE}",
    "duplicate": "a constraint is missing: restore the store from a backup",
}
"""By check: how to fix it. All others: `REPLACE`."""


def problems(store: GraphStore) -> list[Problem]:
    """Return the problems of a store, each with the command that fixes it."""
    found = dict.fromkeys([*store.verify(), *_content_problems(store)])
    return [replace(item, message=f"{item.message}; {CURES.get(item.check, REPLACE)}") for item in found]


def _content_problems(store: GraphStore) -> Iterator[Problem]:
    """Yield the problems within subgraphs; streams."""
    for page in pages(source_ids(store), PAGE):
        graphs, damaged = read_undamaged(store, page)
        for id_, error in damaged:
            yield Problem("unreadable", id_, f"the source cannot be read: {error.message}")
        for graph in graphs:
            yield from _wrong_parts(graph)


def _wrong_parts(subgraph: Subgraph) -> Iterator[Problem]:
    for id_, kind in wrong_ids(subgraph):
        yield Problem("checksum", id_, f"the {kind} was changed: its id is not the hash of its content")
    calls, evidence = {item.id for item in subgraph.calls}, {item.id for item in subgraph.evidence}
    triples = {item.id for item in subgraph.triples}
    for item in subgraph.evidence:
        if not item.chunk_id and not calls.issuperset(item.call_ids):
            yield Problem("no-provenance", item.id, "the evidence has no stored teacher call")
    for triple in subgraph.triples:
        if triple.evidence_id not in evidence or not calls.issuperset(triple.call_ids):
            yield Problem("unproven-triple", triple.id, "the triple has no stored evidence or teacher call")
    for edge in subgraph.edges:
        if not (triples.issuperset(edge.triple_ids) and evidence.issuperset(edge.evidence_ids) and edge.triple_ids):
            yield Problem(
                "dangling-id", edge.id, "the simple edge refers to a triple or evidence that is not stored, or to none"
            )
