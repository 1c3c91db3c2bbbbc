"""Lists of stored queries and documents."""

from drag_graph.errors import StoreUnfit
from drag_graph.graph.paging import SUBGRAPHS_PER_PAGE, iter_sources, pages, read_undamaged
from drag_graph.model import Subgraph
from drag_graph.ports.graph_store import GraphStore


def newest_sources(store: GraphStore, limit: int, offset: int = 0) -> tuple[list[Subgraph], int, list[StoreUnfit]]:
    """Return a page of sources, newest first, the total number, and the errors of those that cannot be read."""
    times = [(item.created_at, item.id) for item in iter_sources(store)]
    times.sort(key=lambda pair: pair[0], reverse=True)
    subgraphs, errors = list[Subgraph](), list[StoreUnfit]()
    for page in pages([id_ for _, id_ in times[offset : offset + limit]], SUBGRAPHS_PER_PAGE):
        graphs, damaged = read_undamaged(store, page)
        subgraphs += graphs
        errors += [error for _, error in damaged]
    return subgraphs, len(times), errors
