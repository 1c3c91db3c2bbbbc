"""Runs and their results (docs/reference/json.md).

A run is one start of `distill` or `refresh`. It belongs to a *job*: the same input, store and teacher. A run continues the
work of the earlier runs of its job and shares their budget.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, Self

from drag_graph.inputs import InputLine
from drag_graph.model import Query

Status = Literal["complete", "quarantined", "skipped", "pending"]
RunState = Literal["running", "died", "ended"]
STATUSES: tuple[Status, ...] = ("complete", "quarantined", "skipped", "pending")
SUMS = ("evidence", "triples", "edges", "calls", "cached_calls", "tokens_in", "tokens_out", "cost_usd")
"""Fields that are summed over the results of a run."""
UNREAD = "Rules extract triples from English only"
"""Beginning of a note about evidence in other languages."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The outcome of one input line, with counts of stored evidence, triples and simple edges.

    `cost_usd` excludes cached calls, and `line` is the line's number in the input. `notes` has a sentence for everything that
    was omitted or done differently.
    """

    id: str
    input_id: str
    status: Status
    evidence: int = 0
    triples: int = 0
    edges: int = 0
    calls: int = 0
    cached_calls: int = 0
    cost_usd: float = 0.0
    error: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    line: int = 0
    notes: list[str] = field(default_factory=list)
    erased: bool = False
    """Whether the query was erased since, with all its texts."""

    def document(self) -> dict[str, Any]:
        """Return its entry of the `distill --json` document (docs/reference/json.md)."""
        names = ("id", "input_id", "status", "evidence", "triples", "edges", "calls", "cached_calls", "cost_usd", "error")
        document = {name: getattr(self, name) for name in (*names, "line", "notes")}
        return {**document, "erased": True} if self.erased else document


@dataclass(frozen=True, slots=True)
class Run:
    """A run as the journal lists it. Times are UTC ISO 8601; `finished_at` is '' while it is running and after a kill."""

    id: str
    kind: str
    namespace: str
    store: str
    source: str
    job: str
    teacher: str
    plan: str
    started_at: str
    finished_at: str = ""
    stopped: str = ""
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A query of a run: the number of its line, the query, and the hash of the settings under which it is distilled.

    For a refresh, `edition` is the time at which the stored subgraph was made. The hash includes it, so that the results of one
    edition do not count for another.
    """

    line: int
    query: Query
    settings_hash: str
    edition: str = ""

    @classmethod
    def of(cls, line: InputLine, query: Query, settings_hash: Callable[[Query], str]) -> Self:
        """Return the entry of a line. Its settings hash includes the line's edition."""
        hash_ = settings_hash(query)
        return cls(line.number, query, f"{hash_}/{line.edition}" if line.edition else hash_, line.edition)


@dataclass(frozen=True, slots=True)
class RecordedQuery:
    """A query in the ledger, stored or not, with the properties that select it.

    `asked_at` is the start of the last run with this query (UTC, ISO 8601), or '' if only imported replies mention it. A
    complete query is in a store, though perhaps in another one.
    """

    id: str
    input_ids: frozenset[str]
    domain: str
    models: frozenset[str]
    asked_at: str
    is_complete: bool


class RunResults(Protocol):
    """Reads the results of runs. Its methods raise StoreUnfit if they cannot be read."""

    def results(self, run_id: str, statuses: Sequence[Status] = STATUSES) -> Iterator[QueryResult]:
        """Yield the results of a run in the order of its lines."""

    def sums(self, run_id: str) -> dict[Status, dict[str, float]]:
        """Return the number of results (`queries`) and their `SUMS` by status; a status without results is omitted."""
