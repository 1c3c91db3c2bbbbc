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

from drag_graph.concurrency.interruption import interrupted, on_ctrl_c
from drag_graph.concurrency.threads import Workers
from drag_graph.errors import DragGraphError, SubgraphRefused
from drag_graph.manage.ids import moved
from drag_graph.manage.transfer import Head, SubgraphLine, difference
from drag_graph.model import Aggregation, Subgraph
from drag_graph.ports.store import GraphStore, Replace

BATCH = 50
"""Subgraphs a transaction."""
OPEN = 4
"""Batches whose subgraphs wait at most for theirs to be full: a batch is of one aggregation."""
LISTED = 1000
"""Lines that a report names at most; it counts all."""

Status = Literal["new", "unchanged", "replaced", "conflict", "rejected"]
STATUSES: tuple[Status, ...] = ("new", "unchanged", "replaced", "conflict", "rejected")
_OUTCOMES: dict[str, Status] = {"created": "new", "replaced": "replaced", "gone": "rejected"}


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a line; `reason` says why it was not stored."""

    line: int
    source_id: str
    status: Status
    reason: str = ""


@dataclass(slots=True)
class ImportReport:
    """What became of a file. `stopped` is why it was not read to its end."""

    counts: dict[Status, int] = field(default_factory=lambda: dict.fromkeys(STATUSES, 0))
    listed: list[Result] = field(default_factory=list)
    namespaces: list[str] = field(default_factory=list)
    seconds: float = 0.0
    stopped: DragGraphError | None = None

    def lines_left_out(self) -> list[Result]:
        """Return the conflicts and rejected lines that are listed, in the order of the file."""
        return sorted(self.listed, key=lambda item: item.line)

    def count(self, result: Result) -> None:
        """Count a line, and list it where it was not stored."""
        self.counts[result.status] += 1
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
            "totals": {"sources": sum(self.counts.values()), **self.counts},
            "conflicts": by_status["conflict"],
            "rejected": by_status["rejected"],
            "seconds": round(self.seconds, 3),
            "stopped": str(self.stopped) if self.stopped else None,
        }


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A subgraph on its way, and the line that it is from."""

    line: int
    subgraph: Subgraph

    @property
    def id(self) -> str:
        return self.subgraph.source_id

    @property
    def aggregation(self) -> Aggregation:
        return self.subgraph.aggregation or Aggregation()

    def result(self, status: Status, reason: str = "") -> Result:
        return Result(self.line, self.id, status, reason)


class Importer:
    """Imports subgraphs into the namespace of `store`, with `writers` transactions at once of `BATCH` subgraphs each.

    With `replace`, what is stored with another content is replaced; without, it is a conflict and stays.
    """

    def __init__(
        self,
        store: GraphStore,
        *,
        replace: bool = False,
        writers: int = 1,
        on_result: Callable[[Result], None] = lambda _result: None,
    ) -> None:
        self._store = store
        self._replace = replace
        self._writers = writers
        self._on_result = on_result
        self._report = ImportReport()
        self._workers = Workers(writers, "import")
        self._done: SimpleQueue[tuple[list[_Waiting], list[Result], BaseException | None]] = SimpleQueue()
        self._open: dict[Hashable, list[_Waiting]] = defaultdict(list)
        self._on_their_way: set[str] = set()
        """The ids of what was read and is not stored yet."""
        self._under_way = 0
        self._interrupted = False
        self._fatal: DragGraphError | None = None

    def run(self, parts: Iterable[Head | SubgraphLine]) -> ImportReport:
        """Import what `parts` yields and return the report. Once only.

        A line that is unusable, or conflicts with what is stored, is left out and the others go on. An error of the file or the
        store, or Ctrl-C, ends the run after what was read is stored; the same command goes on from there. A second Ctrl-C
        abandons what is under way and raises KeyboardInterrupt.
        """
        began = time.monotonic()
        try:
            with on_ctrl_c(self._interrupt):
                self._read(parts)
        finally:
            self._workers.abandon()
            self._report.seconds = time.monotonic() - began
        return self._report

    def _interrupt(self) -> None:
        self._interrupted = True

    def _read(self, parts: Iterable[Head | SubgraphLine]) -> None:
        try:
            for part in parts:
                if self._interrupted:
                    raise interrupted()
                if isinstance(part, Head):
                    self._begin(part)
                else:
                    self._take(part)
                if self._fatal:
                    raise self._fatal
        except DragGraphError as error:
            self._report.stopped = error
        self._flush()
        self._report.stopped = self._report.stopped or self._fatal

    def _begin(self, head: Head) -> None:
        """Begin a file: its vectors must be of the embedder that filled the store. Raises StoreUnfit where they are not."""
        self._flush()
        if head.embedder is not None:
            self._store.embedder((head.embedder.name, head.embedder.dimension))
        if head.namespace not in self._report.namespaces:
            self._report.namespaces.append(head.namespace)

    def _take(self, line: SubgraphLine) -> None:
        """Put a line's subgraph into the open batch of its aggregation, and have that stored when it is full."""
        graph = line.subgraph
        if graph is None:
            self._tell(Result(line.number, "", "rejected", line.problem))
            return
        if graph.source.namespace != self._store.namespace:
            graph = moved(graph, self._store.namespace)
        item = _Waiting(line.number, graph)
        if item.id in self._on_their_way:
            self._flush()  # the second of two is compared with the first, which is stored then
        self._on_their_way.add(item.id)
        made = item.aggregation
        batch = self._open[made.strategy, made.merge, made.threshold, made.top_k]
        batch.append(item)
        if len(batch) == BATCH:
            self._submit(batch)
        elif sum(map(len, self._open.values())) >= OPEN * BATCH:
            self._submit(max(self._open.values(), key=len))

    def _flush(self) -> None:
        """Have all stored that was read, and wait for it."""
        for batch in list(self._open.values()):
            self._submit(batch)
        self._wait(0)

    def _submit(self, batch: list[_Waiting]) -> None:
        """Have a batch stored once there is a free writer."""
        if not batch or self._fatal:
            return
        self._wait(self._writers)
        items = list(batch)
        batch.clear()
        self._under_way += 1
        self._workers.submit(partial(self._work, items))

    def _wait(self, most: int) -> None:
        """Wait until at most so many batches are under way, and count what became of the others."""
        while self._under_way > most:
            items, results, fault = self._done.get()
            self._under_way -= 1
            self._on_their_way -= {item.id for item in items}
            for result in results:
                self._tell(result)
            if isinstance(fault, DragGraphError):
                self._fatal = self._fatal or fault
            elif fault is not None:
                raise fault

    def _tell(self, result: Result) -> None:
        self._report.count(result)
        self._on_result(result)

    def _work(self, items: list[_Waiting]) -> None:
        """Store a batch (in a worker)."""
        results = list[Result]()
        fault: BaseException | None = None
        try:
            for result in self._stored(items):
                results.append(result)
        except BaseException as error:  # noqa: BLE001 - raised again, or the end of the run, in the thread that reads
            fault = error
        self._done.put((items, results, fault))

    def _stored(self, items: list[_Waiting]) -> Iterator[Result]:
        there = {found.source_id: found for found in self._store.read([one.id for one in items])}
        new, changed = list[_Waiting](), list[_Waiting]()
        for item in items:
            reason = difference(there[item.id], item.subgraph) if item.id in there else ""
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
            outcomes = self._store.save([item.subgraph for item in items], aggregation, replace=replace)
        except SubgraphRefused as error:
            if len(items) == 1:
                yield items[0].result("rejected", error.message)
                return
            for item in items:
                yield from self._save([item], replace=replace)
            return
        pairs = list(zip(items, outcomes, strict=True))
        for item, outcome in pairs:
            if outcome != "unchanged":
                yield item.result(_OUTCOMES[outcome], "the query was erased in the meantime" if outcome == "gone" else "")
        if meanwhile := [item for item, outcome in pairs if outcome == "unchanged"]:
            # Another process stored these since the look: whether it is the same content shows in another look.
            yield from self._stored(meanwhile)
