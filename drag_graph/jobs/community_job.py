"""The run of `drag-graph communities`: partition, ids, summaries, vectors (docs/communities.md). No I/O itself."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from queue import SimpleQueue
from threading import Event
from typing import Any

from drag_graph import log
from drag_graph.communities.leiden import WholeGraph, partition
from drag_graph.communities.matching import changes_of, ids_of
from drag_graph.communities.summaries import RuleSummariser, Summariser, Summary
from drag_graph.concurrency.interruption import Interruption, on_ctrl_c
from drag_graph.concurrency.threads import Workers
from drag_graph.distill.query_distillation import Usage
from drag_graph.errors import DragGraphError, ReplyError, Withheld
from drag_graph.graph.paging import pages
from drag_graph.ports.community_store import Community, CommunityChanges
from drag_graph.ports.graph_store import GraphStore
from drag_graph.ports.model_roles import Embedder

AT_ONCE = 16
"""Communities whose summaries are embedded and written together; a model's replies are in the ledger before."""


@dataclass(frozen=True, slots=True)
class CommunityPlan:
    """The communities as they are to be, what is to be written for that, and which of them are to be summarised."""

    communities: list[Community]
    changes: CommunityChanges
    waiting: list[Community]
    made: int
    """How many of them are not stored yet."""


@dataclass
class CommunityReport:
    """What a run did. `communities` are the stored ones; `stopped` is what ended it early."""

    communities: list[Community] = field(default_factory=list)
    made: int = 0
    gone: int = 0
    summarised: int = 0
    left_open: int = 0
    by_rules: int = 0
    usage: Usage = field(default_factory=Usage)
    stopped: DragGraphError | None = None

    @property
    def exit_code(self) -> int:
        """0 all summarised, 1 some not as they were to be (`Usage.notes` says why), or the code of what stopped the run."""
        if self.stopped is not None:
            return self.stopped.exit_code
        return 1 if self.usage.notes else 0

    def totals(self) -> dict[str, Any]:
        """Return the numbers that `communities --json` prints."""
        taken = asdict(self.usage)
        notes = taken.pop("notes")
        own = {name: getattr(self, name) for name in ("made", "gone", "summarised", "left_open", "by_rules")}
        return {
            "communities": len(self.communities),
            **own,
            **taken,
            "cost_usd": round(self.usage.cost_usd, 6),
            "notes": notes,
        }


class CommunityRun:
    """Finds the communities of a namespace and says what each is about.

    The partition is written first, in one transaction. Each summary is made of what is stored then, and is written only where
    nothing of that was replaced or erased meanwhile. A run that was ended goes on where it was: what has its summary waits for
    none.
    """

    def __init__(
        self,
        store: GraphStore,
        embedder: Embedder,
        summariser: Summariser,
        *,
        resolution: float,
        min_size: int,
        workers: int = 1,
        interruption: Interruption | None = None,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._summariser = summariser
        self._resolution = resolution
        self._min_size = min_size
        self._workers = workers
        self._interruption = interruption or Interruption()
        self._stop = Event()

    def plan(self) -> CommunityPlan:
        """Return what a run would do; nothing is written and nobody is asked."""
        graph = WholeGraph.of(self._store.linked_edges())
        parts = partition(graph, resolution=self._resolution, min_size=self._min_size)
        stored = list(self._store.communities.read())
        before = {item.id: item for item in stored}
        made = []
        for id_, part in zip(ids_of(parts, stored, self._store.namespace), parts, strict=True):
            entities = tuple(sorted(part.entities))
            new = Community(
                id_, part.content, things=len(part.things), edges=part.edges, sources=part.sources, entities=entities
            )
            there = before.get(id_)
            if there is not None and there.member_hash == part.content:
                new = replace(new, name=there.name, summary=there.summary, summariser=there.summariser)
            made.append(new)
        waiting = [item for item in made if item.edges and (not item.summary or item.summariser != self._summariser.name)]
        return CommunityPlan(made, changes_of(made, stored), waiting, sum(item.id not in before for item in made))

    def run(self, on_summary: Callable[[float], None] = lambda _cost: None) -> CommunityReport:
        """Partition, write, summarise; `on_summary` is called after each summary with the cost so far in US dollars.

        What is wrong with one reply stops nothing: that community is summarised by rules, and the next run asks again. A model
        or a store that cannot be used, the budget, or Ctrl-C end the run (`CommunityReport.stopped`); what is done is stored.
        """
        plan = self.plan()
        report = CommunityReport(made=plan.made, gone=len(plan.changes.gone))
        self._store.communities.write(plan.changes)
        workers = Workers(self._workers, "summarise")
        try:
            with on_ctrl_c(self._interruption.interrupt):
                for some in pages(plan.waiting, AT_ONCE):
                    if report.stopped is None:
                        self._summarise(some, workers, report, on_summary)
        finally:
            workers.abandon()
        report.communities = list(self._store.communities.read())
        report.left_open = sum(1 for item in report.communities if item.edges and not item.summary)
        return report

    def _summarise(
        self, some: Sequence[Community], workers: Workers, report: CommunityReport, on_summary: Callable[[float], None]
    ) -> None:
        done: SimpleQueue[_Done | BaseException] = SimpleQueue()
        for item in some:
            workers.submit_into(done, partial(self._one, item.id))
        told: list[tuple[Community, Summary]] = []
        for _ in some:
            result = done.get()
            if isinstance(result, BaseException):
                raise result
            self._book(result, report)
            if result.summary is not None and result.community is not None:
                told.append((result.community, result.summary))
            on_summary(report.usage.cost_usd)
        if told:
            report.summarised += self._store.communities.summarise(self._embedded(told, report))

    def _embedded(self, told: Sequence[tuple[Community, Summary]], report: CommunityReport) -> list[Community]:
        """Return the communities with what is to be written. One whose summary must not go to the embedder is left out."""
        try:
            vectors = self._embedder.embed([f"{summary.name}. {summary.text}" for _, summary in told]).tolist()
        except Withheld as error:
            if len(told) > 1:
                return [item for one in told for item in self._embedded([one], report)]
            report.usage.notes.append(f"community {told[0][0].id[:12]} is left without a summary: {error}")
            return []
        return [
            replace(item, name=summary.name, summary=summary.text, summariser=summary.by, vector=vector)
            for (item, summary), vector in zip(told, vectors, strict=True)
        ]

    def _book(self, result: "_Done", report: CommunityReport) -> None:
        report.usage.add(result.usage)
        report.usage.notes += result.usage.notes
        report.by_rules += len(result.usage.notes)
        report.stopped = report.stopped or result.stopped

    def _one(self, community_id: str) -> "_Done":
        """Summarise one community as it is stored now (in a worker)."""
        usage = Usage()
        if self._stop.is_set():
            return _Done(usage)
        try:
            self._interruption.check()
            found = self._store.communities.contents(community_id)
            if found is None or not found[0].member_hash or not found[1]:
                return _Done(usage)  # it was opened meanwhile: the next run counts it anew
            community, edges = found
            try:
                summary = self._summariser.summarise(community, edges, usage)
            except (ReplyError, Withheld) as error:
                log.event("summarised by rules", query=community_id, reason=type(error).__name__)
                usage.notes.append(f"community {community_id[:12]} is summarised by rules: {error}")
                summary = RuleSummariser().summarise(community, edges, usage)
            return _Done(usage, community, summary)
        except DragGraphError as error:
            self._stop.set()  # before another worker begins what would end the same way
            return _Done(usage, stopped=error)


@dataclass(frozen=True, slots=True)
class _Done:
    """What a worker has done: a community with its summary, or what stops the run, or neither."""

    usage: Usage
    community: Community | None = None
    summary: Summary | None = None
    stopped: DragGraphError | None = None
