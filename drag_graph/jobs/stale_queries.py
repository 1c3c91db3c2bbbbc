"""Refreshing: which stored queries are due to be distilled again, as lines for the distiller (docs/adr/0010).

No I/O of its own: the store comes in by its port.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import merge
from itertools import groupby

from drag_graph.graph.paging import iter_sources, pages
from drag_graph.inputs import InputLine
from drag_graph.ports.graph_store import GraphStore, SourceFilter, Staleness, StoredSource
from drag_graph.ports.run_journal import Run

KIND = "refresh"
PAGE = 1000
"""Stale queries that are found in one round trip."""
READ = 64
"""Of them, those that are read in one round trip."""
UNDATED = "undated"
"""The edition of a subgraph that does not say when it was made."""
ROUND = timedelta(days=1)
"""How long after its first run another one still goes on with an unfinished round, and so with its budget."""


@dataclass(frozen=True, slots=True)
class Due:
    """A stale query and why it is stale."""

    query: StoredSource
    reasons: tuple[Staleness, ...]

    def document(self) -> dict[str, object]:
        """Return its entry of the `refresh --dry-run --json` document."""
        item = self.query
        return {"id": item.id, "reasons": list(self.reasons), "created_at": item.created_at, "expires_at": item.expires_at}


def due(store: GraphStore, reasons: Sequence[Staleness], now: str) -> Iterator[Due]:
    """Yield the queries that are stale for any of these reasons at `now` (UTC, ISO 8601), once each, by id; streams.

    What is refreshed meanwhile is not yielded again. Raises StoreError.
    """
    found = merge(*(_found(store, reason, now) for reason in sorted(reasons)), key=lambda pair: (pair[0].id, pair[1]))
    for _, group in groupby(found, key=lambda pair: pair[0].id):
        pairs = list(group)
        yield Due(pairs[0][0], tuple(reason for _, reason in pairs))


def lines(store: GraphStore, stale: Iterable[Due]) -> Iterator[InputLine]:
    """Yield the queries as lines, numbered from 1, each with the edition that is to be replaced.

    What another process erased or refreshed since it was found is left out.
    """
    number = 0
    for page in pages(stale, READ):
        found = {item.query.id: item.query.created_at for item in page}
        for subgraph in store.read(list(found)):
            if subgraph.created_at == found[subgraph.source_id]:
                number += 1
                yield InputLine(number, query=subgraph.query, edition=subgraph.created_at or UNDATED)


def source_of(reasons: Sequence[Staleness], earlier: Iterable[Run], now: datetime) -> str:
    """Return the source of a refresh at `now`: the round that it goes on with, or else a new one.

    `earlier` are the runs that it could go on with, newest first. Other than the same file, which is one job however often it
    is distilled, what is stale is another task next month, with another budget.
    """
    name = " ".join(f"--{reason}" for reason in sorted(reasons))
    last = next((run for run in earlier if run.kind == KIND and run.source.startswith(f"{name} of ")), None)
    if last is not None and (last.stopped or not last.finished_at):
        began = last.source.removeprefix(f"{name} of ")
        if now - datetime.fromisoformat(began) <= ROUND:
            return last.source
    return f"{name} of {now.isoformat(timespec='seconds')}"


def _found(store: GraphStore, reason: Staleness, now: str) -> Iterator[tuple[StoredSource, Staleness]]:
    wanted = SourceFilter(expired_before=now) if reason == "expired" else SourceFilter(has_failed=True)
    return ((item, reason) for item in iter_sources(store, wanted) if not item.is_document)
