"""Distilling: the order of the steps for one query, and the run over many (design, section 5).

No I/O of its own: stores and models come in by their ports. Queries are worked on by a pool of threads (docs/adr/0006); each
ends complete or quarantined with its reason, and what is complete is in the store.
"""

import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from threading import Event
from typing import Any, Literal

from drag_graph import log
from drag_graph.distilling import Distillation, Ledger
from drag_graph.errors import DragGraphError, Interrupted, ReplyError, StoreError
from drag_graph.inputs import InputLine
from drag_graph.model import Query, Subgraph
from drag_graph.ports import Embedder, GraphStore, Teacher
from drag_graph.settings import Settings
from drag_graph.steps.aggregate import aggregate

Status = Literal["complete", "quarantined", "skipped", "pending"]
WINDOW = 64
"""Input lines whose completeness is looked up in one round trip."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """What became of one input line. Counts are of kept evidence, triples and simple edges; `cost_usd` is what was paid now.

    `line` is the line's number in the input, `notes` has a sentence for each thing that was left out or done otherwise.
    """

    id: str
    source_id: str
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


@dataclass(slots=True)
class RunReport:
    """What became of a run. `stopped` is why it ended early; `rejected` are the lines that are no queries."""

    run_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    queries: list[QueryResult] = field(default_factory=list)
    rejected: list[InputLine] = field(default_factory=list)
    stopped: DragGraphError | None = None
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        """0 all done, 1 some quarantined or rejected, or the code of what stopped the run."""
        if self.stopped is not None:
            return self.stopped.exit_code
        return 1 if self.rejected or any(result.status == "quarantined" for result in self.queries) else 0

    def totals(self) -> dict[str, Any]:
        """Return counts by status, calls, tokens, cost in US dollars and seconds."""
        counts: dict[str, int] = {status: sum(result.status == status for result in self.queries) for status in _STATUSES}
        names = ("evidence", "triples", "edges", "calls", "cached_calls", "tokens_in", "tokens_out")
        sums = {name: sum(getattr(result, name) for result in self.queries) for name in names}
        cost = round(sum(result.cost_usd for result in self.queries), 6)
        head = {"queries": len(self.queries), **counts, "rejected": len(self.rejected)}
        return {**head, **sums, "cost_usd": cost, "seconds": round(self.seconds, 3)}

    def document(self) -> dict[str, Any]:
        """Return the `distill --json` document (design, section 6)."""
        names = ("id", "source_id", "status", "evidence", "triples", "edges", "calls", "cached_calls", "cost_usd", "error")
        more = ("line", "notes")
        return {
            "run_id": self.run_id,
            "queries": [{name: getattr(result, name) for name in names + more} for result in self.queries],
            "rejected": [{"line": line.number, "reason": line.problem} for line in self.rejected],
            "totals": self.totals(),
            "stopped": str(self.stopped) if self.stopped else None,
        }


_STATUSES: tuple[Status, ...] = ("complete", "quarantined", "skipped", "pending")


class Distiller:
    """Distils queries into one store with one teacher."""

    def __init__(self, settings: Settings, store: GraphStore, embedder: Embedder, teacher: Teacher) -> None:
        self._settings = settings
        self._store = store
        self._distillation = Distillation(settings, embedder, teacher)
        self._stop = Event()
        self._fatal: list[DragGraphError] = []

    def run(self, lines: Iterable[InputLine], on_result: Callable[[float], None] = lambda _cost: None) -> RunReport:
        """Distil every line and return what became of each, in the input's order.

        `on_result` is called after each query with the cost so far in US dollars. Nothing that goes wrong with one query
        stops the others; a model or store that cannot be used at all, the budget, or Ctrl-C end the run: what is in flight
        is finished, the rest is `pending`, and `RunReport.stopped` says why. A second Ctrl-C abandons what is in flight and
        raises KeyboardInterrupt.
        """
        report = RunReport()
        began = time.monotonic()
        pool = ThreadPoolExecutor(self._settings.workers, thread_name_prefix="distil")
        try:
            self._work(pool, _windows(lines), report, on_result)
            pool.shutdown()
        finally:
            self._stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            report.seconds = time.monotonic() - began
        return report

    def _work(
        self,
        pool: ThreadPoolExecutor,
        windows: Iterator[list[InputLine]],
        report: RunReport,
        on_result: Callable[[float], None],
    ) -> None:
        """Submit ahead of what is waited for, by at most a window and the workers, so that input is streamed."""
        waiting: deque[_Pending] = deque()
        seen: dict[str, str] = {}
        ahead = max(WINDOW, 2 * self._settings.workers)
        cost = 0.0
        more = True
        while more or waiting:
            try:
                while more and len(waiting) <= ahead:
                    batch = next(windows, None)
                    more = batch is not None
                    waiting.extend(self._submit(pool, batch or [], report, seen))
                if waiting:
                    result = self._wait(waiting[0], report)
                    report.queries.append(replace(result, line=waiting.popleft().line))
                    cost += result.cost_usd
                    on_result(cost)
            except KeyboardInterrupt:
                if isinstance(report.stopped, Interrupted):
                    raise
                hint = "The same command goes on from there."
                self._end(report, Interrupted("interrupted; what is complete is stored", hint=hint))

    def _submit(
        self, pool: ThreadPoolExecutor, batch: list[InputLine], report: RunReport, seen: dict[str, str]
    ) -> list["_Pending"]:
        report.rejected += [line for line in batch if line.query is None]
        numbered = [(line.number, line.query) for line in batch if line.query is not None]
        complete = self._complete([query for _, query in numbered], report)
        submitted = []
        for number, query in numbered:
            if query.id in seen:
                first = seen[query.id] or query.id
                repeated = QueryResult(query.id, query.source_id, "skipped", error=f"the same question as {first}")
                submitted.append(_Pending(number, result=repeated))
                continue
            seen[query.id] = query.source_id
            if query.id in complete:
                submitted.append(_Pending(number, result=_counted(query, complete[query.id])))
            else:
                submitted.append(_Pending(number, future=pool.submit(self._one, query)))
        return submitted

    def _complete(self, queries: list[Query], report: RunReport) -> dict[str, Subgraph]:
        """Return the subgraphs that are stored under these very settings."""
        if self._stop.is_set() or not queries:
            return {}
        try:
            hashes = self._store.settings_hashes([query.id for query in queries])
            wanted = [query.id for query in queries if hashes.get(query.id) == self._distillation.settings_hash(query)]
            return {subgraph.query.id: subgraph for subgraph in self._store.read(wanted)} if wanted else {}
        except StoreError as error:
            self._end(report, error)
            return {}

    def _one(self, query: Query) -> QueryResult:
        """Distil one query (in a worker). What ends the run is kept in `_fatal`, and the query is pending."""
        if self._stop.is_set():
            return QueryResult(query.id, query.source_id, "pending")
        ledger = Ledger()
        try:
            with log.timed("distil", query.id):
                subgraph, aggregation = self._distillation.distil(query, ledger)
                self._store.save([subgraph], aggregation)
        except ReplyError as error:
            log.event("quarantined", query=query.id, reason=type(error).__name__)
            return QueryResult(query.id, query.source_id, "quarantined", error=str(error), **asdict(ledger))
        except DragGraphError as error:
            self._fatal.append(error)
            self._stop.set()  # before another worker begins what would end the same way
            return QueryResult(query.id, query.source_id, "pending", **asdict(ledger))
        edges, _ = aggregate(subgraph.triples, subgraph.evidence, aggregation)
        return _counted(query, subgraph.model_copy(update={"edges": edges}), ledger)

    def _wait(self, pending: "_Pending", report: RunReport) -> QueryResult:
        result = pending.result if pending.future is None else pending.future.result()
        assert result is not None
        if self._fatal:
            self._end(report, self._fatal[0])
        return result

    def _end(self, report: RunReport, error: DragGraphError) -> None:
        self._stop.set()
        if report.stopped is None:
            report.stopped = error


@dataclass(frozen=True, slots=True)
class _Pending:
    line: int
    future: Future[QueryResult] | None = None
    result: QueryResult | None = None


def _counted(query: Query, subgraph: Subgraph, ledger: Ledger | None = None) -> QueryResult:
    return QueryResult(
        query.id,
        query.source_id,
        "complete",
        evidence=len(subgraph.kept_evidence),
        triples=len(subgraph.triples),
        edges=len(subgraph.edges),
        **asdict(ledger or Ledger()),
    )


def _windows(lines: Iterable[InputLine]) -> Iterator[list[InputLine]]:
    stream = iter(lines)
    while batch := list(islice(stream, WINDOW)):
        yield batch
