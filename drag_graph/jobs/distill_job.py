"""Distill many queries into one store: one run and its report, recorded in the journal (docs/explanation/pipeline.md).

All I/O goes through ports. Every query ends complete, or quarantined with a reason; what is reported complete is stored.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from drag_graph import log
from drag_graph.concurrency.interruption import Interruption
from drag_graph.concurrency.threads import RequestCoalescer
from drag_graph.distill.query_distillation import Distillation, Usage
from drag_graph.errors import AwaitsBatch, DragGraphError, ReplyError, StoreError, SubgraphRefused, Withheld
from drag_graph.graph.aggregate import aggregate
from drag_graph.graph.paging import settings_hashes
from drag_graph.graph.unite import is_made_under
from drag_graph.inputs import InputLine
from drag_graph.jobs.runner import Runner
from drag_graph.ledger.journal import Journal
from drag_graph.model import Aggregation, Subgraph
from drag_graph.ports.graph_store import GraphStore, Replace, SaveOutcome
from drag_graph.ports.run_journal import STATUSES, SUMS, Entry, QueryResult, Run, RunResults, Status


class RunReport:
    """The outcome of a run. `stopped` is why it ended early; `rejected` are the lines that are not queries.

    Results and sums stay in the journal, so that memory does not grow with the run. `cost_usd` is the cost of this process so
    far, in US dollars.
    """

    def __init__(self, run: Run, journal: Journal) -> None:
        self.run = run
        self.rejected: list[InputLine] = []
        self.stopped: DragGraphError | None = None
        self.seconds = 0.0
        self.cost_usd = 0.0
        self.own_ids: dict[int, str] = {}
        """The lines' own ids that the privacy gate keeps from the journal, by line number."""
        self.journal: RunResults = journal
        """The source of the results."""

    @property
    def run_id(self) -> str:
        """The run's id, for `drag-graph runs show`."""
        return self.run.id

    @property
    def job(self) -> str:
        """The job that the run belongs to. Its runs share a budget."""
        return self.run.job

    @property
    def queries(self) -> list[QueryResult]:
        """All results in the input's order, at once."""
        return list(self.results())

    def results(self) -> Iterator[QueryResult]:
        """Yield the results in the input's order."""
        for result in self.journal.results(self.run_id):
            yield replace(result, input_id=self.own_ids.get(result.line, result.input_id))

    @property
    def exit_code(self) -> int:
        """0 all done, 1 some quarantined or rejected, or the code of what stopped the run."""
        if self.stopped is not None:
            return self.stopped.exit_code
        return 1 if self.rejected or "quarantined" in self.journal.sums(self.run_id) else 0

    def totals(self) -> dict[str, Any]:
        """Return counts by status, calls, tokens, cost in US dollars and seconds."""
        sums = self.journal.sums(self.run_id)
        counts: dict[str, Any] = {status: sums[status]["queries"] if status in sums else 0 for status in STATUSES}
        totals: dict[str, Any] = {name: sum(part[name] for part in sums.values()) for name in ("queries", *SUMS)}
        head = {"queries": totals.pop("queries"), **counts, "rejected": len(self.rejected)}
        return {**head, **totals, "cost_usd": round(float(totals["cost_usd"]), 6), "seconds": round(self.seconds, 3)}

    def to_dict(self) -> dict[str, Any]:
        """Return the `distill --json` document (docs/reference/json.md)."""
        return {
            "run_id": self.run_id,
            "queries": [result.document() for result in self.results()],
            "rejected": [{"line": line.number, "reason": line.problem} for line in self.rejected],
            "totals": self.totals(),
            "stopped": str(self.stopped) if self.stopped else None,
        }


WINDOW = 64
"""Number of input lines whose state is looked up in one round trip."""
SAVED_TOGETHER = 32
"""Maximum number of subgraphs per transaction. The overhead of a transaction equals the cost of several subgraphs."""
OTHER_EDGES = "stored with edges of other settings: `drag-graph aggregate` merges them again"

Admit = Callable[[Iterable[InputLine]], Iterable[InputLine]]
OnResult = Callable[[float], None]
"""Called after each query with the cost so far in US dollars."""


@dataclass(frozen=True, slots=True)
class _Saving:
    """A subgraph on its way into the store."""

    subgraph: Subgraph
    aggregation: Aggregation
    replace: Replace

    def kind(self) -> Hashable:
        """Return what savings must share to go into one transaction; merged statements are keyed by edge anyway."""
        how = self.aggregation
        return self.replace, how.strategy, how.merge, how.threshold, how.top_k


class Distiller:
    """One run of the distillation, a job of the runner.

    Queries that were quarantined under the same settings, after calls were paid, are skipped unless `retry_quarantined`.
    Queries stored under the same settings are skipped unless `replace` is "always"; with "add", new evidence is added to them.
    """

    def __init__(
        self,
        store: GraphStore,
        distills: Distillation,
        journal: Journal,
        run: Run,
        *,
        workers: int = 4,
        retry_quarantined: bool = False,
        replace: Replace = False,
        interruption: Interruption | None = None,
        admit: Admit = lambda lines: lines,
    ) -> None:
        """`admit` is the privacy gate; every line passes it once, before anything else happens to it."""
        self.runner = Runner("distill", workers=workers, interruption=interruption)
        self.report = RunReport(run, journal)
        self.admit = admit
        self._store = store
        self._distills = distills
        self._journal = journal
        self._run = run
        self._retry = retry_quarantined
        self._replace = replace
        self._on_result: OnResult = lambda _cost: None
        self._saves: RequestCoalescer[_Saving, SaveOutcome] = RequestCoalescer(
            self._save, most=SAVED_TOGETHER, kind=_Saving.kind, divides=lambda error: isinstance(error, SubgraphRefused)
        )

    def run(self, lines: Iterable[InputLine], on_result: OnResult = lambda _cost: None) -> RunReport:
        """Distill every line and return the report.

        A problem with one query stops no other. An unusable model or store, the budget, and Ctrl-C end the run: work in flight
        is finished, the rest is `pending`, and `RunReport.stopped` is the reason. Raises StoreUnfit if the journal cannot be
        written.
        """
        self.begin()
        self.work_through(self.admit(lines), on_result)
        return self.finish()

    def begin(self) -> None:
        """Enter the run into the journal."""
        self._journal.begin(self._run)

    def work_through(self, lines: Iterable[InputLine], on_result: OnResult) -> None:
        """Distill admitted lines. A later pass over pending lines continues the run."""
        self._on_result = on_result
        self.runner.run(self._queries(lines), self, window=WINDOW)

    def finish(self) -> RunReport:
        """Record in the journal how the run ended, and return its report."""
        self.report.stopped, self.report.seconds = self.runner.stopped, self.runner.seconds
        self._journal.finish(self._run.id, str(self.report.stopped or ""), self.report.exit_code)
        return self.report

    def settle(self, window: Sequence[InputLine]) -> tuple[list[QueryResult], list[Entry]]:
        """Enter a window into the journal, and settle repetitions, withheld questions, and what earlier runs completed."""
        pairs = [(line, Entry.of(line, line.query, self._distills.settings_hash)) for line in window if line.query is not None]
        repeated = self._journal.enter(self._run.id, [entry for _, entry in pairs])
        self.report.own_ids.update((line.number, line.own_id) for line in window if line.own_id)
        fresh = [entry for line, entry in pairs if entry.line not in repeated and not line.withheld]
        earlier = self._earlier(fresh)
        results = list(earlier.values())
        for line, entry in pairs:
            if entry.line in repeated:
                results.append(_result(entry, "skipped", error=f"Same question as {repeated[entry.line]}."))
            elif line.withheld:
                log.event("quarantined", query=entry.query.id, reason="privacy")
                results.append(_result(entry, "quarantined", error=line.withheld))
        return results, [entry for entry in fresh if entry.query.id not in earlier]

    def step(self, entry: Entry) -> QueryResult:
        """Distill one query and save it."""
        query = entry.query
        if self.runner.is_stopping:
            return _result(entry, "pending")
        usage = Usage()
        try:
            with log.timed("distill", query.id):
                subgraph, aggregation = self._distills.distill(query, usage, entry.edition)
                with log.timed("saving", query.id):
                    outcome = self._saves(_Saving(subgraph, aggregation, replace=bool(entry.edition) or self._replace))
        except AwaitsBatch as error:
            return _result(entry, "pending", usage, error=str(error))
        except (ReplyError, SubgraphRefused, Withheld) as error:
            log.event("quarantined", query=query.id, reason=type(error).__name__)
            return _result(entry, "quarantined", usage, error=str(error))
        except DragGraphError as error:
            self.runner.stop(error)
            return _result(entry, "pending", usage)
        if outcome == "gone":
            return _result(entry, "skipped", usage, error="The query was erased in the meantime.")
        edges, _ = aggregate(subgraph, aggregation)
        return _complete(entry, subgraph.model_copy(update={"edges": edges}), usage)

    def sink(self, results: Sequence[QueryResult]) -> None:
        """Record results in the journal."""
        self._journal.record(self._run.id, results)
        self.report.cost_usd += sum(result.cost_usd for result in results)
        for result in results:
            if result.status != "pending":  # a pending query is counted when it is done, in this run or another
                self._on_result(self.report.cost_usd)

    def _queries(self, lines: Iterable[InputLine]) -> Iterator[InputLine]:
        """Yield the lines with a query; the report receives the others."""
        for line in lines:
            if line.query is None:
                self.report.rejected.append(line)
            else:
                yield line

    def _earlier(self, entries: list[Entry]) -> dict[str, QueryResult]:
        """Return, by query id, the results of queries that are stored or quarantined under the same settings."""
        if self.runner.is_stopping or not entries:
            return {}
        try:
            hashes = settings_hashes(self._store, [entry.query.id for entry in entries])
            same = {entry.query.id for entry in entries if is_made_under(hashes.get(entry.query.id, ""), entry.settings_hash)}
            settled = same if self._replace != "always" else set[str]()
            graphs = {subgraph.query.id: subgraph for subgraph in self._store.read(sorted(settled))} if settled else {}
        except StoreError as error:
            self.runner.stop(error)
            return {}
        results = {}
        before = self._journal.settled(entries)
        for entry in entries:
            query, earlier = entry.query, before.get(entry.query.id)
            if query.id in graphs:
                is_merged = graphs[query.id].aggregation == self._distills.aggregation(query)
                results[query.id] = _complete(entry, graphs[query.id], Usage(notes=[] if is_merged else [OTHER_EDGES]))
            elif earlier is not None and earlier.status == "quarantined" and not self._retry:
                why = earlier.error and f"{earlier.error} (earlier run; try again with `retry_quarantined=True`)"
                sizes: dict[str, Any] = {name: getattr(earlier, name) for name in ("evidence", "triples", "edges")}
                results[query.id] = _result(entry, "quarantined", error=why, **sizes)
        return results

    def _save(self, savings: list[_Saving]) -> list[SaveOutcome]:
        """Save, in one transaction, the subgraphs that became ready during the previous one."""
        statements = {edge: text for saving in savings for edge, text in saving.aggregation.statements.items()}
        aggregation = savings[0].aggregation.model_copy(update={"statements": statements})
        return self._store.save([saving.subgraph for saving in savings], aggregation, replace=savings[0].replace)


def _result(entry: Entry, status: Status, usage: Usage | None = None, **facts: Any) -> QueryResult:
    return QueryResult(entry.query.id, entry.query.input_id, status, line=entry.line, **asdict(usage or Usage()), **facts)


def _complete(entry: Entry, subgraph: Subgraph, usage: Usage) -> QueryResult:
    sizes = {"evidence": len(subgraph.kept_evidence), "triples": len(subgraph.triples), "edges": len(subgraph.edges)}
    return _result(entry, "complete", usage, **sizes)
