"""Importing subgraphs into a store (docs/import.md): the run over a file of any length.

No I/O of its own: the file's lines and the store come in. What is stored already with the same content is left alone; the rest
is stored in transactions of one aggregation each.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from drag_graph.concurrency.interruption import interrupted, on_ctrl_c
from drag_graph.errors import DragGraphError, InputError, Interrupted, SubgraphRefused
from drag_graph.graph.paging import pages
from drag_graph.manage.content_ids import moved
from drag_graph.manage.subgraph_files import Head, SubgraphLine, difference
from drag_graph.model import Aggregation, Subgraph
from drag_graph.ports.graph_store import GraphStore, Replace

BATCH = 50
"""Subgraphs a transaction, at most."""
READ_AHEAD = 4 * BATCH
"""Subgraphs that are read before they are stored: a transaction is of one aggregation, and should be full."""
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
    """Imports subgraphs into the namespace of `store`.

    With `replace`, what is stored with another content is replaced; without, it is a conflict and stays.
    """

    def __init__(
        self, store: GraphStore, *, replace: bool = False, on_result: Callable[[Result], None] = lambda _result: None
    ) -> None:
        self._store = store
        self._replace = replace
        self._on_result = on_result
        self._report = ImportReport()
        self._waiting: dict[str, _Waiting] = {}
        """What was read and is not stored yet, by the ids of the sources."""

    def run(self, parts: Iterable[Head | SubgraphLine]) -> ImportReport:
        """Import what `parts` yields and return the report. Once only.

        A line that is unusable, or conflicts with what is stored, is left out and the others go on. An error of the file, or
        Ctrl-C, ends the run after what was read is stored; an error of the store ends it at once. The same command goes on from
        there. A second Ctrl-C raises KeyboardInterrupt.
        """
        began = time.monotonic()
        stop = threading.Event()
        try:
            with on_ctrl_c(stop.set):
                self._read(parts, stop)
                self._flush()
        except DragGraphError as error:
            self._report.stopped = error
        finally:
            self._report.seconds = time.monotonic() - began
        return self._report

    def _read(self, parts: Iterable[Head | SubgraphLine], stop: threading.Event) -> None:
        try:
            for part in parts:
                if stop.is_set():
                    raise interrupted()
                if isinstance(part, Head):
                    self._begin(part)
                else:
                    self._take(part)
        except (InputError, Interrupted) as error:
            self._report.stopped = error

    def _begin(self, head: Head) -> None:
        """Begin a file: its vectors must be of the embedder that filled the store. Raises StoreUnfit where they are not."""
        if head.embedder is not None:
            self._store.embedder((head.embedder.name, head.embedder.dimension))
        self._report.namespaces.append(head.namespace)

    def _take(self, line: SubgraphLine) -> None:
        graph = line.subgraph
        if graph is None:
            self._count(Result(line.number, "", "rejected", line.problem))
            return
        if graph.source.namespace != self._store.namespace:
            graph = moved(graph, self._store.namespace)
        # A second line about one source is compared with what the first has stored.
        if graph.source_id in self._waiting or len(self._waiting) >= READ_AHEAD:
            self._flush()
        self._waiting[graph.source_id] = _Waiting(line.number, graph)

    def _flush(self) -> None:
        """Store what was read."""
        items = list(self._waiting.values())
        self._waiting.clear()
        for result in self._stored(items):
            self._count(result)

    def _count(self, result: Result) -> None:
        self._report.count(result)
        self._on_result(result)

    def _stored(self, items: Sequence[_Waiting]) -> Iterator[Result]:
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
        for some in _batches(new):
            yield from self._save(some, replace="never")
        for some in _batches(changed):
            yield from self._save(some, replace=True)

    def _save(self, items: Sequence[_Waiting], *, replace: Replace) -> Iterator[Result]:
        """Save in one transaction, or one by one where the store refuses one of them."""
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


def _batches(items: Iterable[_Waiting]) -> Iterator[Sequence[_Waiting]]:
    """Yield what goes into one transaction: subgraphs of one aggregation, whatever their statements."""
    same: dict[Hashable, list[_Waiting]] = defaultdict(list)
    for item in items:
        made = item.aggregation
        same[made.strategy, made.merge, made.threshold, made.top_k].append(item)
    for some in same.values():
        yield from pages(some, BATCH)
