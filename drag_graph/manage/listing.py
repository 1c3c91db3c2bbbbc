"""The stored queries as people see them listed."""

from drag_graph.model import Subgraph
from drag_graph.paging import pages
from drag_graph.ports.store import GraphStore, iter_sources

READ_AT_ONCE = 100


def newest_queries(store: GraphStore, limit: int, offset: int = 0) -> tuple[list[Subgraph], int]:
    """Return a page of the stored queries, the newest first, and how many there are in all."""
    found = [(item.created_at, item.id) for item in iter_sources(store) if not item.is_document]
    found.sort(key=lambda pair: pair[0], reverse=True)
    wanted = [id_ for _, id_ in found[offset : offset + limit]]
    return [subgraph for some in pages(wanted, READ_AT_ONCE) for subgraph in store.read(some)], len(found)
