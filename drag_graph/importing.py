"""Importing subgraphs into a store (docs/import.md): the run over a file of any length.

No I/O of its own: the file's lines and the store come in. Whole batches are one transaction each, several at once where the
store takes them; what is stored already with the same content is left alone.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from typing import Any, Literal

from drag_graph.errors import DragGraphError, NotStored, StoreError, StoreLocked, StoreUnavailable, StoreUnfit
from drag_graph.exchange import Head, Line, Stored, difference, stored
from drag_graph.interruption import interrupted, on_ctrl_c
from drag_graph.model import Aggregation, Subgraph
from drag_graph.ports import GraphStore, Replace
from drag_graph.steps.moving import moved
from drag_graph.threads import Workers, long_turns

BATCH = 50
"""Queries a transaction."""
LARGE_BATCH = 300
"""The same for an embedded store, which copies so many at once (docs/graph-performance.md)."""
OPEN = 4
"""Batches whose queries wait at most for theirs to be full: a batch is of one aggregation."""
LISTED = 1000
"""Lines that a report names at most; it counts all."""

Status = Literal["new", "unchanged", "replaced", "conflict", "rejected"]
STATUSES: tuple[Status, ...] = ("new", "unchanged", "replaced", "conflict", "rejected")
_OUTCOMES: dict[str, Status] = {"created": "new", "replaced": "replaced", "gone": "rejected"}
_WHOLE_STORE = (StoreUnavailable, StoreLocked, StoreUnfit, NotStored)
"""What is wrong with the store and not with one subgraph."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a line; `reason` says why it was not stored, or what about it is not as it was."""

    line: int
    source_id: str
    status: Status
    reason: str = ""
    edges_anew: bool = False


@dataclass(slots=True)
class ImportReport:
    """What became of a file. `stopped` is why it was not read to its end.

    `edges_anew` counts the queries that were stored with simple edges made under this run's settings, because the file does not
    say how they were made.
    """

    counts: dict[Status, int] = field(default_factory=lambda: dict.fromkeys(STATUSES, 0))
    listed: list[Result] = field(default_factory=list)
    edges_anew: int = 0
    namespaces: list[str] = field(default_factory=list)
    seconds: float = 0.0
    stopped: DragGraphError | None = None

    def lines_left_out(self) -> list[Result]:
        """Return the conflicts and rejected lines that are listed, in the order of the file."""
        return sorted(self.listed, key=lambda item: item.line)

    def count(self, result: Result) -> None:
        """Count a line, and list it where it was not stored."""
        self.counts[result.status] += 1
        self.edges_anew += result.edges_anew and result.status in ("new", "replaced")
        if result.status in ("conflict", "rejected") and len(self.listed) < LISTED:
            self.listed.append(result)

    @property
    def exit_code(self) -> int:
        """0 all stored, 1 some not, or the code of what stopped the run."""
        if self.stopped is not None:
            return self.stopped.exit_code
        return 1 if self.counts["conflict"] or self.counts["rejected"] else 0

    def document(self) -> dict[str, Any]:
        """Return the `import --json` document."""
        by_status: dict[str, list[dict[str, Any]]] = {"conflict": [], "rejected": []}
        for item in self.lines_left_out():
            by_status[item.status].append({"line": item.line, "id": item.source_id, "reason": item.reason})
        return {
            "from_namespaces": self.namespaces,
            "totals": {"queries": sum(self.counts.values()), **self.counts, "edges_anew": self.edges_anew},
            "conflicts": by_status["conflict"],
            "rejected": by_status["rejected"],
            "seconds": round(self.seconds, 3),
            "stopped": str(self.stopped) if self.stopped else None,
        }


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A subgraph on its way: the line that it is from, and the query's id there."""

    line: int
    id_there: str
    stored: Stored
    aggregation: Aggregation

    @property
    def id(self) -> str:
        """The query's id in the store."""
        return self.stored.subgraph.query.id

    def result(self, status: Status, reason: str = "") -> Result:
        return Result(self.line, self.id, status, reason, edges_anew=self.stored.aggregation is None)


class Importer:
    """Imports subgraphs into the namespace of `store`, with `writers` transactions at once of `batch` queries each.

    `aggregation` says how simple edges are made where the file does not. With `replace`, what is stored with another content
    is replaced; without, it is a conflict and stays.
    """

    def __init__(
        self,
        store: GraphStore,
        aggregation: Callable[[Subgraph], Aggregation],
        *,
        replace: bool = False,
        writers: int = 1,
        batch: int = BATCH,
    ) -> None:
        self._store = store
        self._aggregation = aggregation
        self._replace = replace
        self._writers = writers
        self._batch = batch
        self._report = ImportReport()
        self._done: SimpleQueue[tuple[list[Result], BaseException | None]] = SimpleQueue()
        self._open: dict[Hashable, list[_Waiting]] = defaultdict(list)
        self._lines: dict[str, int] = {}
        """The lines of the queries in `_open`, by the ids that the file gives them."""
        self._last = ("", 0)
        self._ordered = True
        self._under_way = 0
        self._interrupted = False
        self._fatal: list[DragGraphError] = []

    def run(self, parts: Iterable[Head | Line], on_result: Callable[[Result], None] = lambda _result: None) -> ImportReport:
        """Import what `parts` yields and return the report; `on_result` hears of each line. Once only.

        A line that is unusable, or conflicts with what is stored, is left out and the others go on. An error of the file or the
        store, or Ctrl-C, ends the run after what was read is stored; the same command goes on from there. A second Ctrl-C
        abandons what is under way and raises KeyboardInterrupt.
        """
        began = time.monotonic()
        workers = Workers(self._writers, "import")
        try:
            with long_turns(), on_ctrl_c(self._interrupt):
                self._read(parts, workers, on_result)
        finally:
            workers.abandon()
            self._report.seconds = time.monotonic() - began
        return self._report

    def _interrupt(self) -> None:
        self._interrupted = True

    def _read(self, parts: Iterable[Head | Line], workers: Workers, on_result: Callable[[Result], None]) -> None:
        try:
            for part in parts:
                if self._interrupted:
                    raise interrupted()
                if isinstance(part, Head):
                    self._submit_all(workers, on_result)
                    self._wait(0, on_result)
                    self._begin(part)
                else:
                    self._take(part, workers, on_result)
                if self._fatal:
                    raise self._fatal[0]
        except DragGraphError as error:
            self._report.stopped = error
        self._submit_all(workers, on_result)
        self._wait(0, on_result)
        if self._fatal and self._report.stopped is None:
            self._report.stopped = self._fatal[0]

    def _begin(self, head: Head) -> None:
        """Begin a file: its vectors must be of the embedder that filled the store. Raises StoreUnfit where they are not."""
        if head.embedder is not None:
            self._store.claim_embedder(*head.embedder)
        if head.namespace not in self._report.namespaces:
            self._report.namespaces.append(head.namespace)
        self._last, self._ordered = ("", 0), True

    def _take(self, line: Line, workers: Workers, on_result: Callable[[Result], None]) -> None:
        """Put a line's subgraph into the open batch of its aggregation, and have that stored when it is full."""
        if line.stored is None:
            self._tell(Result(line.number, "", "rejected", line.problem), on_result)
            return
        id_ = line.stored.subgraph.query.id
        earlier = self._lines.get(id_, self._last[1] if id_ == self._last[0] else 0)
        if earlier:
            self._tell(Result(line.number, id_, "rejected", f"the same query as line {earlier}"), on_result)
            return
        if id_ < self._last[0]:
            # In the order of ids, as an export is, nothing comes twice. Else the first of two may still be under way.
            self._ordered = False
        self._last = (id_, line.number)
        waiting = self._waiting(line.number, line.stored)
        known = waiting.aggregation
        batch = self._open[known.strategy, known.merge, known.threshold, known.top_k]
        batch.append(waiting)
        self._lines[id_] = line.number
        if len(batch) == self._batch:
            self._submit(workers, batch, on_result)
        elif len(self._lines) >= OPEN * self._batch:
            self._submit(workers, max(self._open.values(), key=len), on_result)

    def _waiting(self, number: int, item: Stored) -> _Waiting:
        id_there = item.subgraph.query.id
        if item.subgraph.query.namespace != self._store.namespace:
            item = moved(item, self._store.namespace)
        return _Waiting(number, id_there, item, item.aggregation or self._aggregation(item.subgraph))

    def _submit_all(self, workers: Workers, on_result: Callable[[Result], None]) -> None:
        for batch in list(self._open.values()):
            self._submit(workers, batch, on_result)

    def _submit(self, workers: Workers, batch: list[_Waiting], on_result: Callable[[Result], None]) -> None:
        """Have a batch stored once there is a free writer; where ids are not in order, once nothing else is under way."""
        if not batch or self._fatal:
            return
        self._wait(self._writers if self._ordered else 0, on_result)
        items = list(batch)
        batch.clear()
        self._lines = {item.id_there: item.line for some in self._open.values() for item in some}
        self._under_way += 1
        workers.submit(partial(self._work, items))

    def _wait(self, most: int, on_result: Callable[[Result], None]) -> None:
        """Wait until at most so many batches are under way, and count what became of the others."""
        while self._under_way > most:
            results, fault = self._done.get()
            self._under_way -= 1
            for result in results:
                self._tell(result, on_result)
            if isinstance(fault, DragGraphError):
                self._fatal.append(fault)
            elif fault is not None:
                raise fault

    def _tell(self, result: Result, on_result: Callable[[Result], None]) -> None:
        self._report.count(result)
        on_result(result)

    def _work(self, items: list[_Waiting]) -> None:
        """Store a batch (in a worker)."""
        results = list[Result]()
        try:
            for result in self._stored(items):
                results.append(result)
        except BaseException as fault:  # noqa: BLE001 - raised again, or the end of the run, in the thread that reads
            self._done.put((results, fault))
        else:
            self._done.put((results, None))

    def _stored(self, items: list[_Waiting]) -> Iterator[Result]:
        there = {item.subgraph.query.id: item for item in stored(self._store, [one.id for one in items])}
        new, changed = list[_Waiting](), list[_Waiting]()
        for item in items:
            reason = difference(there[item.id], item.stored) if item.id in there else ""
            if item.id not in there:
                new.append(item)
            elif not reason:
                yield item.result("unchanged")
            elif self._replace:
                changed.append(item)
            else:
                yield item.result("conflict", f"stored with another content: {reason}")
        yield from self._save(new, replace="never")
        yield from self._save(changed, replace=True)

    def _save(self, items: list[_Waiting], *, replace: Replace) -> Iterator[Result]:
        """Save in one transaction, or one by one where the store refuses one of them."""
        if not items:
            return
        statements = {edge: text for item in items for edge, text in item.aggregation.statements.items()}
        aggregation = items[0].aggregation.model_copy(update={"statements": statements})
        try:
            outcomes = self._store.save([item.stored.subgraph for item in items], aggregation, replace=replace)
        except StoreError as error:
            if isinstance(error, _WHOLE_STORE):
                raise
            if len(items) == 1:
                yield items[0].result("rejected", error.message)
                return
            for item in items:
                yield from self._save([item], replace=replace)
            return
        meanwhile = [item for item, outcome in zip(items, outcomes, strict=True) if outcome == "unchanged"]
        for item, outcome in zip(items, outcomes, strict=True):
            if outcome == "unchanged":
                continue
            reason = "the query was erased in the meantime" if outcome == "gone" else ""
            yield item.result(_OUTCOMES[outcome], reason)
        if meanwhile:
            # Another process stored these since the look: whether it is the same content shows in another look.
            yield from self._stored(meanwhile)
