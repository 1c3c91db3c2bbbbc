"""Read long sequences, and the sources of a store, page by page."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TypeVar

from drag_graph.errors import StoreUnfit
from drag_graph.model import Subgraph
from drag_graph.ports.graph_store import ALL_SOURCES, GraphStore, SourceFilter, StoredSource

Item = TypeVar("Item")
SOURCES_PER_PAGE = 5000
SUBGRAPHS_PER_PAGE = 100


def pages(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield the items in lists of up to `size`, in their order; streams."""
    stream = iter(items)
    while page := list(islice(stream, size)):
        yield page


def iter_sources(store: GraphStore, source_filter: SourceFilter = ALL_SOURCES) -> Iterator[StoredSource]:
    """Yield the sources that match, sorted by id; streams."""
    page = store.sources(source_filter, limit=SOURCES_PER_PAGE)
    yield from page
    while len(page) == SOURCES_PER_PAGE:
        page = store.sources(source_filter, after=page[-1].id, limit=SOURCES_PER_PAGE)
        yield from page


def source_ids(store: GraphStore) -> Iterator[str]:
    """Yield the ids of all stored sources, sorted; streams."""
    return (item.id for item in iter_sources(store))


def iter_subgraphs(store: GraphStore) -> Iterator[Subgraph]:
    """Yield every subgraph of the namespace, sorted by source id; streams."""
    for page in pages(source_ids(store), SUBGRAPHS_PER_PAGE):
        yield from store.read(page)


def read_undamaged(store: GraphStore, ids: Sequence[str]) -> tuple[list[Subgraph], list[tuple[str, StoreUnfit]]]:
    """Return the readable subgraphs, and (id, error) of the others."""
    try:
        return store.read(ids), []
    except StoreUnfit as error:
        if len(ids) == 1:
            return [], [(ids[0], error)]
    graphs, errors = zip(*(read_undamaged(store, [id_]) for id_ in ids), strict=True)
    return list(chain(*graphs)), list(chain(*errors))


def settings_hashes(store: GraphStore, ids: Sequence[str]) -> dict[str, str]:
    """Return the settings hashes of the stored sources among these, by id."""
    return {item.id: item.settings_hash for item in store.sources(SourceFilter(ids=ids), limit=len(ids))} if ids else {}
