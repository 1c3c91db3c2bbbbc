"""Read long sequences, and the sources of a store, page by page."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from drag_graph.ports.graph_store import ALL_SOURCES, GraphStore, SourceFilter, StoredSource

Item = TypeVar("Item")
SOURCES_A_PAGE = 5000


def pages(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield the items in lists of at most `size`, in their order; streams."""
    stream = iter(items)
    while page := list(islice(stream, size)):
        yield page


def iter_sources(store: GraphStore, wanted: SourceFilter = ALL_SOURCES) -> Iterator[StoredSource]:
    """Yield the wanted sources, sorted by id; streams."""
    page = store.sources(wanted, limit=SOURCES_A_PAGE)
    yield from page
    while len(page) == SOURCES_A_PAGE:
        page = store.sources(wanted, after=page[-1].id, limit=SOURCES_A_PAGE)
        yield from page


def source_ids(store: GraphStore) -> Iterator[str]:
    """Yield the ids of all stored sources, sorted; streams."""
    return (item.id for item in iter_sources(store))


def settings_hashes(store: GraphStore, ids: Sequence[str]) -> dict[str, str]:
    """Return the settings hash of each of these sources that is stored."""
    return {item.id: item.settings_hash for item in store.sources(SourceFilter(ids=ids), limit=len(ids))} if ids else {}
