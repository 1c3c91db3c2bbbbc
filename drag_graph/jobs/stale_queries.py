"""Find stored queries that are due for a refresh, as lines for the distiller. All I/O goes through ports."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from itertools import groupby

from drag_graph.graph.paging import iter_sources, pages
from drag_graph.inputs import InputLine
from drag_graph.ports.graph_store import GraphStore, SourceFilter, Staleness, StoredSource

KIND = "refresh"
READ = 64
"""Number of stale queries read in one round trip."""
UNDATED = "undated"
"""The edition of a subgraph without a date."""


@dataclass(frozen=True, slots=True)
class Due:
    """A stale query and the reasons."""

    query: StoredSource
    reasons: tuple[Staleness, ...]

    def document(self) -> dict[str, object]:
        """Return its entry of the `refresh --dry-run --json` document."""
        item = self.query
        return {"id": item.id, "reasons": list(self.reasons), "created_at": item.created_at, "expires_at": item.expires_at}


def due(store: GraphStore, reasons: Sequence[Staleness], now: str) -> Iterator[Due]:
    """Yield each query that is stale for one of the reasons at `now` (UTC, ISO 8601), ordered by id; streams.

    Queries that are refreshed meanwhile are not yielded again. Raises StoreError.
    """
    stale = merge(*(_stale(store, reason, now) for reason in sorted(reasons)), key=lambda pair: (pair[0].id, pair[1]))
    for _, group in groupby(stale, key=lambda pair: pair[0].id):
        pairs = list(group)
        yield Due(pairs[0][0], tuple(reason for _, reason in pairs))


def stale_lines(store: GraphStore, stale: Iterable[Due]) -> Iterator[InputLine]:
    """Yield the queries as lines, numbered from 1, each with the edition to replace.

    Queries that another process has erased or refreshed since are omitted.
    """
    number = 0
    for page in pages(stale, READ):
        created = {item.query.id: item.query.created_at for item in page}
        for subgraph in store.read(list(created)):
            if subgraph.created_at == created[subgraph.source_id]:
                number += 1
                yield InputLine(number, query=subgraph.query, edition=subgraph.created_at or UNDATED)


def stale_source(reasons: Sequence[Staleness], now: datetime) -> str:
    """Return the source of a refresh at `now`. Refreshes on the same day (UTC) for the same reasons share a budget."""
    return f"{' '.join(f'--{reason}' for reason in sorted(reasons))} of {now:%Y-%m-%d}"


def _stale(store: GraphStore, reason: Staleness, now: str) -> Iterator[tuple[StoredSource, Staleness]]:
    corrected = _corrected(store) if reason == "corrected" else {}
    wanted = {
        "expired": SourceFilter(expired_before=now),
        "failed": SourceFilter(has_failed=True),
        "corrected": SourceFilter(ids=list(corrected)),
    }[reason]
    stale = (item for item in iter_sources(store, wanted) if not item.is_document)
    return ((item, reason) for item in stale if reason != "corrected" or item.created_at <= corrected[item.id])


def _corrected(store: GraphStore) -> dict[str, str]:
    """Return when a claim of each source, or an answer from it, was last marked wrong, by the id of the source."""
    wrong = [item for item in store.corrections.read() if item.verdict == "wrong" and not item.undone_at]
    return {id_: item.created_at for item in reversed(wrong) for id_ in item.source_ids}
