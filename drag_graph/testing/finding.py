"""What tests ask a store for again and again, over the methods of the port."""

from collections.abc import Iterator, Sequence
from typing import Any

from drag_graph.graph.paging import iter_subgraphs
from drag_graph.manage.subgraph_files import claim_corrections, head_of, lines_of
from drag_graph.model import Answer
from drag_graph.ports.graph_store import GraphStore
from drag_graph.report.audit_document import answer_document, compare_with_store, stored_answer


def stored_lines(store: GraphStore) -> Iterator[str]:
    """Yield the lines of a file of everything that is stored; streams."""
    return lines_of(head_of(store), iter_subgraphs(store), claim_corrections(store))


def read_answer(store: GraphStore, id_: str) -> Answer | None:
    """Return the answer of that id with its snapshot, or None."""
    return next((answer for answer in store.answers(prefix=id_, limit=1) if answer.id == id_), None)


def audit_document(store: GraphStore, prefix: str) -> dict[str, Any]:
    """Return the audit of a stored answer, compared with the store now."""
    document = answer_document(stored_answer(store, prefix))
    compare_with_store(document, store)
    return document


def query_ids(store: GraphStore) -> list[str]:
    """Return the ids of all stored queries, sorted."""
    return [item.id for item in store.sources(limit=10_000) if not item.is_document]


def nearest_queries(store: GraphStore, vector: Sequence[float], k: int) -> list[tuple[str, float]]:
    """Return up to `k` (query id, cosine) pairs, nearest first."""
    return [(hit.id, hit.score) for hit in store.search.candidates(vector, (), k).queries]
