"""Importing subgraphs into a store (docs/how-to/backup.md): one run over a file of any length.

The file's lines and the store come in from outside. Content that is stored already is left alone; the rest is stored in
transactions of subgraphs with the same aggregation.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from drag_graph.concurrency.interruption import Interruption, on_ctrl_c
from drag_graph.errors import ConfigurationError, DragGraphError, InputError, Interrupted, ModelError
from drag_graph.graph.paging import pages
from drag_graph.manage.content_ids import difference
from drag_graph.manage.subgraph_files import Part, SubgraphLine
from drag_graph.model import Aggregation, Subgraph
from drag_graph.ports.correction_store import Correction
from drag_graph.ports.graph_store import GraphStore, Replace
from drag_graph.ports.model_roles import Embedder
from drag_graph.ports.vectors import Vector

BATCH = 50
"""Maximum number of subgraphs in a transaction."""
READ_AHEAD = 4 * BATCH
"""Subgraphs read before they are stored, so that the transactions, each of one aggregation, are full."""
LISTED = 1000
"""Maximum number of lines that a report lists; it counts all."""

Status = Literal["new", "unchanged", "replaced", "conflict", "rejected"]
STATUSES: tuple[Status, ...] = ("new", "unchanged", "replaced", "conflict", "rejected")
_OUTCOMES: dict[str, Status] = {"created": "new", "replaced": "replaced", "gone": "rejected"}


class Result(NamedTuple):
    """The outcome of a line; `reason` says why it was not stored."""

    line: int
    source_id: str
    status: Status
    reason: str = ""


@dataclass(slots=True)
class ImportReport:
    """The outcome of an import. `stopped` is the error that ended it early.

    `search_problem` says why imported documents are found only by their words, not by meaning; empty if they are.
    `corrections` is the number of corrections that were new, or later than the stored ones.
    """

    file: str = ""
    namespace: str = ""
    counts: dict[Status, int] = field(default_factory=lambda: dict.fromkeys(STATUSES, 0))
    listed: list[Result] = field(default_factory=list)
    seconds: float = 0.0
    search_problem: str = ""
    corrections: int = 0
    stopped: DragGraphError | None = None

    def left_out(self) -> list[Result]:
        """Return the listed conflicts and rejected lines in the order of the file."""
        return sorted(self.listed, key=lambda item: item.line)

    def count(self, result: Result) -> None:
        """Count a line, and list it if it was not stored."""
        self.counts[result.status] += 1
        if result.status in ("conflict", "rejected") and len(self.listed) < LISTED:
            self.listed.append(result)

    @property
    def exit_code(self) -> int:
        """0 if all is stored, 1 if some is not, or the exit code of the error that stopped the run."""
        if self.stopped is not None:
            return self.stopped.exit_code
        return 1 if self.counts["conflict"] or self.counts["rejected"] else 0

    def to_dict(self) -> dict[str, Any]:
        """Return the `import --json` document."""
        left_out = [(item.status, {"line": item.line, "id": item.source_id, "reason": item.reason}) for item in self.left_out()]
        return {
            "file": self.file,
            "namespace": self.namespace,
            "totals": {"sources": sum(self.counts.values()), **self.counts},
            "conflicts": [entry for status, entry in left_out if status == "conflict"],
            "rejected": [entry for status, entry in left_out if status == "rejected"],
            "corrections": self.corrections,
            "seconds": round(self.seconds, 3),
            "stopped": str(self.stopped) if self.stopped else None,
            **({"search_problem": self.search_problem} if self.search_problem else {}),
        }


@dataclass(eq=False)
class Importer:
    """Imports subgraphs into the namespace of `store`. Can be run once.

    With `replace`, stored sources with different content are replaced; without it, they are conflicts and stay.
    `make_embedder` returns the embedder of the name that it receives; without it, passages of documents get no vectors.
    """

    store: GraphStore
    _: KW_ONLY
    replace: bool = False
    make_embedder: Callable[[str], Embedder] | None = None
    on_result: Callable[[Result], None] = lambda _result: None
    interruption: Interruption | None = None

    def __post_init__(self) -> None:
        self._interruption = self.interruption or Interruption()
        self._report = ImportReport(namespace=self.store.namespace)
        self._embedder: Embedder | None = None
        self._embedder_name = ""
        self._pending: dict[str, Subgraph] = {}
        self._lines: dict[str, int] = {}
        """The line numbers of the pending subgraphs, by source id."""
        self._corrections: list[Correction] = []

    def run(self, parts: Iterable[Part]) -> ImportReport:
        """Import the lines of a file and return the report.

        Unusable lines and conflicts are left out. An error of the file, or Ctrl-C, ends the run after everything read so far
        has been stored; an error of the store ends it at once. The same import again resumes it. A second Ctrl-C raises
        KeyboardInterrupt.
        """
        began = time.monotonic()
        try:
            with on_ctrl_c(self._interruption.interrupt):
                self._read_parts(parts)
                self._flush()
                self._correct()
        except DragGraphError as error:
            self._report.stopped = error
        finally:
            self._report.seconds = time.monotonic() - began
        return self._report

    def _read_parts(self, parts: Iterable[Part]) -> None:
        try:
            for part in parts:
                self._interruption.check()
                if isinstance(part, SubgraphLine):
                    self._take(part)
                    continue
                if isinstance(part, Correction):
                    self._corrections.append(part)
                    continue
                if part.namespace != self.store.namespace:
                    message = f"The file contains namespace {part.namespace!r}, but the store is opened on another one."
                    raise ConfigurationError(message, hint=f"Use `namespace={part.namespace}`.")
                if part.embedder is not None:
                    self.store.embedder((part.embedder.name, part.embedder.dimension))
                    self._embedder_name = part.embedder.name
        except (InputError, Interrupted) as error:
            self._report.stopped = error

    def _take(self, line: SubgraphLine) -> None:
        graph = line.subgraph
        if graph is None:
            self._count(Result(line.number, "", "rejected", line.problem))
            return
        # A second line about one source is compared with the first, which must be stored by then.
        if graph.source_id in self._pending or len(self._pending) >= READ_AHEAD:
            self._flush()
        self._pending[graph.source_id], self._lines[graph.source_id] = graph, line.number

    def _correct(self) -> None:
        """Write the corrections of stored sources that are new, or later than the stored ones."""
        own = self._corrections
        stored = {item.target_id: item.changed_at for item in self.store.corrections.read()} if own else {}
        later = [item for item in own if item.changed_at > stored.get(item.target_id, "")]
        # Of two corrections of one claim, `write` keeps the last.
        self._report.corrections = self.store.corrections.write(sorted(later, key=attrgetter("changed_at")))

    def _flush(self) -> None:
        graphs = list(self._pending.values())
        self._pending.clear()
        self._store_graphs(graphs)
        self._lines.clear()

    def _note(self, graph: Subgraph, status: Status, reason: str = "") -> None:
        self._count(Result(self._lines[graph.source_id], graph.source_id, status, reason))

    def _count(self, result: Result) -> None:
        self._report.count(result)
        self.on_result(result)

    def _store_graphs(self, graphs: Sequence[Subgraph]) -> None:
        stored = {graph.source_id: graph for graph in self.store.read([graph.source_id for graph in graphs])}
        new, changed = list[Subgraph](), list[Subgraph]()
        for graph in graphs:
            existing = stored.get(graph.source_id)
            if existing is None:
                new.append(graph)
            elif not (reason := difference(existing, graph)):
                self._note(graph, "unchanged")
            elif self.replace:
                changed.append(graph)
            else:
                self._note(graph, "conflict", f"stored with different content: {reason}")
        for batch in _batches(new):
            self._save(batch, replace="never")
        for batch in _batches(changed):
            self._save(batch, replace=True)

    def _save(self, graphs: Sequence[Subgraph], *, replace: Replace) -> None:
        """Save in one transaction."""
        aggregations = [graph.aggregation or Aggregation() for graph in graphs]
        statements = {edge: text for item in aggregations for edge, text in item.statements.items()}
        aggregation = aggregations[0].model_copy(update={"statements": statements})
        outcomes = self.store.save(graphs, aggregation, replace=replace, vectors=self._vectors(graphs))
        pairs = list(zip(graphs, outcomes, strict=True))
        for graph, outcome in pairs:
            if outcome != "unchanged":
                self._note(graph, _OUTCOMES[outcome], "the source was erased in the meantime" if outcome == "gone" else "")
        if meanwhile := [graph for graph, outcome in pairs if outcome == "unchanged"]:
            # Another process has stored these since they were looked up: compare again.
            self._store_graphs(meanwhile)

    def _vectors(self, graphs: Sequence[Subgraph]) -> Mapping[str, Vector]:
        """Embed the passages of documents, so that search finds them; vectors of questions are in the file."""
        texts = {item.id: item.text for graph in graphs if graph.document for item in graph.kept_evidence}
        if not texts or self.make_embedder is None or self._report.search_problem:
            return {}
        try:
            self._embedder = self._embedder or self.make_embedder(self._embedder_name)
            return dict(zip(texts, self._embedder.embed(list(texts.values())), strict=True))
        except (ConfigurationError, ModelError) as error:
            self._report.search_problem = f"{error} {error.hint}".strip()
            return {}


def _batches(graphs: Iterable[Subgraph]) -> Iterator[Sequence[Subgraph]]:
    """Yield what goes into one transaction: subgraphs with the same aggregation, apart from their statements."""
    groups: dict[str, list[Subgraph]] = defaultdict(list)
    for graph in graphs:
        groups[graph.aggregation.model_dump_json(exclude={"statements"}) if graph.aggregation else ""].append(graph)
    for group in groups.values():
        yield from pages(group, BATCH)
