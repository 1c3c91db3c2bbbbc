"""Find and summarise communities: a job of the runner (docs/explanation/pipeline.md). All I/O goes through ports."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from typing import Any

from drag_graph import log
from drag_graph.ask.corrected_store import CorrectedStore
from drag_graph.communities.leiden import WholeGraph, changes_of, ids_of, partition
from drag_graph.communities.summaries import RuleSummariser, Summariser, Summary
from drag_graph.concurrency.interruption import Interruption
from drag_graph.distill.query_distillation import Usage
from drag_graph.errors import DragGraphError, ReplyError, Withheld
from drag_graph.jobs.runner import Runner
from drag_graph.ports.community_store import Community, CommunityChanges
from drag_graph.ports.graph_store import GraphStore
from drag_graph.ports.model_roles import Embedder

AT_ONCE = 16
"""Number of communities whose summaries are embedded and written together. A model's replies are recorded before that."""


@dataclass(frozen=True, slots=True)
class CommunityPlan:
    """The communities of the graph as it is now, the changes to write, and the communities without a current summary."""

    communities: list[Community]
    changes: CommunityChanges
    waiting: list[Community]
    made: int
    """Number of communities that are not stored yet."""


@dataclass
class CommunityReport:
    """What a run did. `communities` are the stored ones; `stopped` is what ended the run early."""

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
        """0 all summarised, 1 some not as requested (`Usage.notes` says why), or the code of what stopped the run."""
        if self.stopped is not None:
            return self.stopped.exit_code
        return 1 if self.usage.notes else 0

    def totals(self) -> dict[str, Any]:
        """Return the numbers that `communities --json` prints."""
        usage = asdict(self.usage)
        notes = usage.pop("notes")
        own = {name: getattr(self, name) for name in ("made", "gone", "summarised", "left_open", "by_rules")}
        head = {"communities": len(self.communities), **own, **usage}
        return {**head, "cost_usd": round(self.usage.cost_usd, 6), "notes": notes}


_Summarised = tuple[Usage, Community | None, Summary | None]
"""Result for one community: a summary, or none if it changed meanwhile or the run ended."""


@dataclass(eq=False)
class CommunityRun:
    """One run over the communities of a namespace.

    The partition is written first, in one transaction. A summary describes what is stored at that time, and is written only if
    nothing it describes was replaced or erased meanwhile. The next run resumes with communities that have no summary.
    """

    store: GraphStore
    embedder: Embedder
    summariser: Summariser
    _: KW_ONLY
    resolution: float
    min_size: int
    workers: int = 1
    interruption: Interruption | None = None

    def __post_init__(self) -> None:
        self.runner = Runner("summarise", workers=self.workers, interruption=self.interruption)
        self._corrected = CorrectedStore(self.store)
        self._report = CommunityReport()
        self._unwritten: list[tuple[Community, Summary]] = []
        self._on_summary: Callable[[float], None] = lambda _cost: None

    def plan(self) -> CommunityPlan:
        """Return what a run would do. Nothing is written and no model is called."""
        graph = WholeGraph.of(self._corrected.linked_edges())
        parts = partition(graph, resolution=self.resolution, min_size=self.min_size)
        stored = list(self.store.communities.read())
        before = {item.id: item for item in stored}
        communities = []
        for id_, part in zip(ids_of(parts, stored, self.store.namespace), parts, strict=True):
            entities = tuple(sorted(part.entities))
            sizes: dict[str, Any] = {"things": len(part.things), "edges": part.edges, "sources": part.sources}
            community = Community(id_, part.content, **sizes, entities=entities)
            old = before.get(id_)
            if old is not None and old.member_hash == part.content:
                community = replace(community, name=old.name, summary=old.summary, summariser=old.summariser)
            communities.append(community)
        waiting = [item for item in communities if item.edges and (not item.summary or item.summariser != self.summariser.name)]
        made = sum(item.id not in before for item in communities)
        return CommunityPlan(communities, changes_of(communities, stored), waiting, made)

    def run(self, on_summary: Callable[[float], None] = lambda _cost: None) -> CommunityReport:
        """Partition, write, summarise; `on_summary` is called after each summary with the cost so far in US dollars.

        A community whose reply is unusable is summarised by rules. An unusable model or store, the budget, and Ctrl-C end the
        run (`CommunityReport.stopped`); finished summaries are stored.
        """
        self._on_summary = on_summary
        plan, report = self.plan(), self._report
        report.made, report.gone = plan.made, len(plan.changes.gone)
        self.store.communities.write(plan.changes)
        self.runner.run(plan.waiting, self, window=AT_ONCE)
        self._write()
        report.stopped = self.runner.stopped
        report.communities = list(self.store.communities.read())
        report.left_open = sum(1 for item in report.communities if item.edges and not item.summary)
        return report

    def settle(self, window: Sequence[Community]) -> tuple[list[_Summarised], list[Community]]:
        """Every community of the plan needs a step."""
        return [], list(window)

    def step(self, item: Community) -> _Summarised:
        """Summarise one community as it is stored now."""
        usage = Usage()
        if self.runner.is_stopping:
            return usage, None, None
        try:
            # The hash is read first: a change after that empties it, and the summary is then not written.
            community = next(self.store.communities.read([item.id]), None)
            edges = list(self._corrected.linked_edges(item.id))
            if community is None or not community.member_hash or not edges:
                return usage, None, None  # reopened meanwhile: the next run counts it again
            try:
                summary = self.summariser.summarise(community, edges, usage)
            except (ReplyError, Withheld) as error:
                log.event("summarised by rules", query=item.id, reason=type(error).__name__)
                usage.notes.append(f"Community {item.id[:12]} is summarised by rules: {error}")
                summary = RuleSummariser().summarise(community, edges, usage)
        except DragGraphError as error:
            self.runner.stop(error)
            return usage, None, None
        return usage, community, summary

    def sink(self, results: Sequence[_Summarised]) -> None:
        """Count results, and write summaries as soon as there are enough of them."""
        for usage, community, summary in results:
            self._report.usage.add(usage)
            self._report.usage.notes += usage.notes
            self._report.by_rules += len(usage.notes)
            if summary is not None and community is not None:
                self._unwritten.append((community, summary))
            self._on_summary(self._report.usage.cost_usd)
        if len(self._unwritten) >= AT_ONCE:
            self._write()

    def _write(self) -> None:
        if self._unwritten:
            changes = CommunityChanges(summarised=self._embedded(self._unwritten))
            self._report.summarised += self.store.communities.write(changes)
            self._unwritten = []

    def _embedded(self, summaries: Sequence[tuple[Community, Summary]]) -> list[Community]:
        """Return the communities to write. One whose summary must not be sent to the embedder is omitted."""
        try:
            vectors = self.embedder.embed([f"{summary.name}. {summary.text}" for _, summary in summaries]).tolist()
        except Withheld as error:
            if len(summaries) > 1:
                return [item for one in summaries for item in self._embedded([one])]
            self._report.usage.notes.append(f"Community {summaries[0][0].id[:12]} has no summary: {error}")
            return []
        return [
            replace(item, name=summary.name, summary=summary.text, summariser=summary.by, vector=vector)
            for (item, summary), vector in zip(summaries, vectors, strict=True)
        ]
