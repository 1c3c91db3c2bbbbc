"""Lists of stored queries and documents."""

from datetime import UTC, datetime
from typing import Literal

from drag_graph.errors import StoreUnfit
from drag_graph.graph.paging import SUBGRAPHS_PER_PAGE, iter_sources, pages, read_undamaged
from drag_graph.model import Subgraph
from drag_graph.ports.graph_search import EVERYTHING, Restriction, is_within
from drag_graph.ports.graph_store import GraphStore, SourceFilter, StoredSource

SourceState = Literal["document", "query", "expired", "failed"]
"""A kind of source, or queries whose time to live has ended, or to which a student gave a wrong answer."""


def newest_sources(
    store: GraphStore,
    limit: int,
    offset: int = 0,
    *,
    name: str = "",
    state: SourceState | None = None,
    only: Restriction = EVERYTHING,
) -> tuple[list[Subgraph], int, list[StoreUnfit]]:
    """Return a page of sources, newest first, the total number, and the errors of those that cannot be read.

    `name` is a part of the name or question; case does not matter.
    """

    def is_wanted(item: StoredSource) -> bool:
        has_kind = state not in {"document", "query"} or item.is_document == (state == "document")
        return has_kind and part in item.title.casefold() and is_within(only, item.id, item.title, item.date, item.tags)

    part, now = name.casefold(), datetime.now(UTC).isoformat(timespec="seconds")
    conditions = SourceFilter(expired_before=now if state == "expired" else "", has_failed=state == "failed")
    times = [(item.created_at, item.id) for item in iter_sources(store, conditions) if is_wanted(item)]
    times.sort(key=lambda pair: pair[0], reverse=True)
    subgraphs, errors = list[Subgraph](), list[StoreUnfit]()
    for page in pages([id_ for _, id_ in times[offset : offset + limit]], SUBGRAPHS_PER_PAGE):
        graphs, damaged = read_undamaged(store, page)
        subgraphs += graphs
        errors += [error for _, error in damaged]
    return subgraphs, len(times), errors
