"""The stored queries as people see them listed."""

from drag_graph.model import Subgraph
from drag_graph.ports.store import GraphStore, iter_sources


def newest_queries(store: GraphStore, limit: int, offset: int = 0) -> tuple[list[Subgraph], int]:
    """Return a page of the stored queries, the newest first, and how many there are in all."""
    found = [item for item in iter_sources(store) if not item.is_document]
    found.sort(key=lambda item: item.created_at, reverse=True)
    return store.read([item.id for item in found[offset : offset + limit]]), len(found)
