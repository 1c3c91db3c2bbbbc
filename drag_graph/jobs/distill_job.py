"""Distilling: the run over many queries (docs/design.md, section 5).

No I/O of its own: stores, models and the journal come in by their ports. Queries are worked on by a pool of threads
(docs/adr/0006); each ends complete or quarantined with its reason, and what is complete is in the store.
"""

import logging
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from queue import SimpleQueue
from threading import Event
from typing import Protocol

from drag_graph import log
from drag_graph.concurrency.coalesce import RequestCoalescer
from drag_graph.concurrency.interruption import Interruption, interrupted, on_ctrl_c
from drag_graph.concurrency.threads import Workers, long_turns
from drag_graph.distill.query_distillation import Usage
from drag_graph.errors import AwaitsBatch, DragGraphError, ReplyError, StoreError, SubgraphRefused, Withheld
from drag_graph.graph.aggregate import aggregate
from drag_graph.graph.paging import pages, settings_hashes
from drag_graph.graph.unite import is_made_under
from drag_graph.inputs import InputLine
from drag_graph.manage.reaggregation import aggregate_anew
from drag_graph.model import Aggregation, Query, Subgraph
from drag_graph.ports.graph_store import GraphStore, Replace, SaveOutcome
from drag_graph.ports.run_journal import MADE_ANEW, Entry, QueryResult, Run, RunJournal, RunReport, entry_of

WINDOW = 64
"""Input lines whose completeness is looked up in one round trip."""
Admit = Callable[[Iterable[InputLine]], Iterable[InputLine]]
SAVED_TOGETHER = 32
"""Subgraphs that one transaction saves at most; a store's own cost of a transaction is that of several subgraphs."""


class Distills(Protocol):
    """Makes one query's subgraph: in this process (`Distillation`), or on a cluster. Thread-safe."""

    def settings_hash(self, query: Query) -> str:
        """Return the hash of everything that determines the query's subgraph besides its text."""

    def aggregation(self, query: Query) -> Aggregation:
        """Return how the edges of the query's subgraph are made, without merged statements."""

    def distill(self, query: Query, usage: Usage, edition: str = "") -> tuple[Subgraph, Aggregation]:
        """Return the subgraph without edges and how to aggregate it; see `Distillation.distill`."""


class Distiller:
    """Distills queries into one store: one run, which the journal keeps. `workers` queries are worked on at once.

    What was quarantined under the same settings and paid for is not asked again, unless `retry_quarantined`. What is stored
    under the same settings is left alone, unless `replace` is "always"; with "add", what is distilled adds to what is stored.
    """

    def __init__(
        self,
        store: GraphStore,
        distills: Distills,
        journal: RunJournal,
        run: Run,
        *,
        workers: int = 4,
        retry_quarantined: bool = False,
        replace: Replace = False,
        interruption: Interruption | None = None,
        admit: Admit = lambda lines: lines,
    ) -> None:
        """`admit` is the privacy gate, which every line passes once, before anything else."""
        self._store = store
        self._distils = distills
        self._journal = journal
        self._run = run
        self._workers = workers
        self._retry = retry_quarantined
        self._replace = replace
        self._interruption = interruption or Interruption()
        self.admit = admit
        self._saves: RequestCoalescer[_Saving, SaveOutcome] = RequestCoalescer(
            self._save, most=SAVED_TOGETHER, kind=_Saving.kind, divides=lambda error: isinstance(error, SubgraphRefused)
        )
        self._stop = Event()
        self._fatal: list[DragGraphError] = []

    def run(self, lines: Iterable[InputLine], on_result: Callable[[float], None] = lambda _cost: None) -> RunReport:
        """Distill every line and return the report of what became of each.

        `on_result` is called after each query with the cost so far in US dollars. Nothing that goes wrong with one query
        stops the others; a model or store that cannot be used at all, the budget, or Ctrl-C end the run: what is in flight
        is finished (after Ctrl-C, the calls; else, the queries), the rest is `pending`, and `RunReport.stopped` says why. A
        second Ctrl-C abandons what is in flight and raises KeyboardInterrupt. Raises StoreUnfit when the journal cannot be
        written.
        """
        report = self.begin()
        self.work_through(self.admit(lines), report, on_result)
        self.finish(report)
        return report

    def begin(self) -> RunReport:
        """Begin the run in the journal, and return its report, still empty."""
        self._journal.begin(self._run)
        return RunReport(self._run, self._journal)

    def work_through(self, lines: Iterable[InputLine], report: RunReport, on_result: Callable[[float], None]) -> None:
        """Distill every line, as `run` does once they are admitted; another pass over what is pending goes on with the run."""
        began = time.monotonic()
        workers = Workers(self._workers, "distill")
        done: _Done = SimpleQueue()
        try:
            with long_turns(), on_ctrl_c(lambda: done.put(None)):
                self._work(workers, done, pages(_sifted(lines, report), WINDOW), report, on_result)
        except BaseException:
            self._stop.set()
            raise
        finally:
            workers.abandon()
            report.seconds += time.monotonic() - began

    def stop(self, report: RunReport, error: DragGraphError) -> None:
        """End the run because of `error`: what it has not done yet stays pending. The first error counts."""
        self._stop.set()
        if report.stopped is None:
            report.stopped = error

    def finish(self, report: RunReport) -> None:
        """Keep in the journal how the run ended."""
        self._journal.finish(self._run.id, str(report.stopped or ""), report.exit_code)

    def _work(
        self,
        workers: Workers,
        done: "_Done",
        windows: Iterator[list[InputLine]],
        report: RunReport,
        on_result: Callable[[float], None],
    ) -> None:
        """Submit ahead of what is done, by at most a window and the workers, so that input is streamed."""
        ahead = max(WINDOW, 2 * self._workers)
        waiting = 0
        more = True
        while more or waiting:
            while more and waiting <= ahead:
                batch = next(windows, None)
                more = batch is not None
                waiting += self._submit(workers, batch or [], report, done)
            if waiting:
                waiting -= self._keep([done.get(), *(done.get() for _ in range(done.qsize()))], report, on_result)

    def _keep(
        self,
        items: list[QueryResult | BaseException | None],
        report: RunReport,
        on_result: Callable[[float], None],
    ) -> int:
        """Record what the workers have done, and return how many results that were."""
        results = [item for item in items if isinstance(item, QueryResult)]
        self._journal.record(self._run.id, results)
        report.cost_usd += sum(result.cost_usd for result in results)
        for fault in items:
            if isinstance(fault, BaseException):
                raise fault
        if None in items:
            self._interruption.interrupt()
            self.stop(report, interrupted())
            log.event("interrupted: calls in flight are being finished; Ctrl-C again abandons them", level=logging.WARNING)
        if self._fatal:
            self.stop(report, self._fatal[0])
        for result in results:
            if result.status != "pending":  # that comes again, in this run or in another
                on_result(report.cost_usd)
        return len(results)

    def _submit(self, workers: Workers, batch: list[InputLine], report: RunReport, done: "_Done") -> int:
        """Hand the window's queries to the workers, put those that are settled into `done`, and return how many there are."""
        entries = [entry_of(line, line.query, self._distils.settings_hash) for line in batch if line.query is not None]
        if not entries:
            return 0
        repeated = self._journal.enter(self._run.id, entries)
        report.own_ids.update((line.number, line.own_id) for line in batch if line.own_id)
        withheld = {line.number: line.withheld for line in batch if line.withheld}
        left = [entry for entry in entries if entry.line not in repeated and entry.line not in withheld]
        settled = self._settled(left, report)
        for entry in entries:
            query = entry.query
            if entry.line in repeated:
                error = f"the same question as {repeated[entry.line]}"
                done.put(QueryResult(query.id, query.input_id, "skipped", error=error, line=entry.line))
            elif entry.line in withheld:
                log.event("quarantined", query=query.id, reason="privacy")
                done.put(QueryResult(query.id, query.input_id, "quarantined", error=withheld[entry.line], line=entry.line))
            elif query.id in settled:
                done.put(replace(settled[query.id], line=entry.line))
            else:
                workers.submit_into(done, partial(self._one, entry))
        return len(entries)

    def _settled(self, entries: list[Entry], report: RunReport) -> dict[str, QueryResult]:
        """Return the results of queries that are stored under these very settings, or were quarantined under them."""
        if self._stop.is_set() or not entries:
            return {}
        try:
            hashes = settings_hashes(self._store, [entry.query.id for entry in entries])
            same = {entry.query.id for entry in entries if is_made_under(hashes.get(entry.query.id, ""), entry.settings_hash)}
            there = same if self._replace != "always" else set[str]()
            before = self._journal.settled(entries)
            read = {subgraph.query.id: subgraph for subgraph in self._store.read(sorted(there))} if there else {}
            anew = self._aggregated_anew(entries, read)
            read |= {subgraph.query.id: subgraph for subgraph in self._store.read(sorted(anew))} if anew else {}
        except StoreError as error:
            self.stop(report, error)
            return {}
        found = {}
        for query in (entry.query for entry in entries):
            earlier = before.get(query.id)
            if query.id in read:
                notes = [anew[query.id]] if query.id in anew else []
                found[query.id] = _counted(query, read[query.id], Usage(notes=notes))
            elif earlier is not None and earlier.status == "quarantined" and not self._retry:
                found[query.id] = _again(query, earlier)
        return found

    def _aggregated_anew(self, entries: Iterable[Entry], read: Mapping[str, Subgraph]) -> dict[str, str]:
        """Make the edges of those anew that were made under other settings, which the settings hash does not tell.

        Return by id what is different now.
        """
        wanted = {entry.query.id: self._distils.aggregation(entry.query) for entry in entries if entry.query.id in read}
        other = {id_: chosen for id_, chosen in wanted.items() if read[id_].aggregation != chosen}
        if other:
            aggregate_anew(self._store, sorted(other), lambda subgraph: other[subgraph.query.id])
        return {id_: _made_anew(read[id_].aggregation, chosen) for id_, chosen in other.items()}

    def _one(self, entry: Entry) -> QueryResult:
        """Distill one query (in a worker). What ends the run is kept in `_fatal`, and the query is pending."""
        query = entry.query
        if self._stop.is_set():
            return QueryResult(query.id, query.input_id, "pending", line=entry.line)
        usage = Usage()
        try:
            with log.timed("distill", query.id):
                subgraph, aggregation = self._distils.distill(query, usage, entry.edition)
                outcome = self._saves(_Saving(subgraph, aggregation, replace=bool(entry.edition) or self._replace))
        except AwaitsBatch as error:
            return QueryResult(query.id, query.input_id, "pending", error=str(error), line=entry.line, **asdict(usage))
        except (ReplyError, SubgraphRefused, Withheld) as error:
            log.event("quarantined", query=query.id, reason=type(error).__name__)
            taken = asdict(usage)
            return QueryResult(query.id, query.input_id, "quarantined", error=str(error), line=entry.line, **taken)
        except DragGraphError as error:
            self._fatal.append(error)
            self._stop.set()  # before another worker begins what would end the same way
            return QueryResult(query.id, query.input_id, "pending", line=entry.line, **asdict(usage))
        if outcome == "gone":
            why = "the query was erased in the meantime"
            return QueryResult(query.id, query.input_id, "skipped", error=why, line=entry.line, **asdict(usage))
        edges, _ = aggregate(subgraph, aggregation)
        return replace(_counted(query, subgraph.model_copy(update={"edges": edges}), usage), line=entry.line)

    def _save(self, savings: list["_Saving"]) -> list[SaveOutcome]:
        """Save in one transaction what became ready while the one before was under way."""
        statements = {edge: text for saving in savings for edge, text in saving.aggregation.statements.items()}
        aggregation = savings[0].aggregation.model_copy(update={"statements": statements})
        return self._store.save([saving.subgraph for saving in savings], aggregation, replace=savings[0].replace)


@dataclass(frozen=True, slots=True)
class _Saving:
    """A subgraph on its way into the store."""

    subgraph: Subgraph
    aggregation: Aggregation
    replace: Replace

    def kind(self) -> Hashable:
        """Return what is the same in all that can be saved together; merged statements go by their edges' ids."""
        same = self.aggregation
        return self.replace, same.strategy, same.merge, same.threshold, same.top_k


_Done = SimpleQueue[QueryResult | BaseException | None]
"""What the workers have finished, the fault that there is instead, and None for Ctrl-C. Unlike other queues, it may be written
to from within a signal handler."""


def _made_anew(before: Aggregation | None, now: Aggregation) -> str:
    """Return in words that simple edges were made anew, and which settings are others now."""
    was = before.model_dump() if before else {}
    changes = (
        f"{name} {value} (was {was.get(name, 'unknown')})" for name, value in now.model_dump().items() if was.get(name) != value
    )
    return f"{MADE_ANEW}: {', '.join(changes)}"


def _counted(query: Query, subgraph: Subgraph, usage: Usage | None = None) -> QueryResult:
    return QueryResult(
        query.id,
        query.input_id,
        "complete",
        evidence=len(subgraph.kept_evidence),
        triples=len(subgraph.triples),
        edges=len(subgraph.edges),
        **asdict(usage or Usage()),
    )


def _again(query: Query, before: QueryResult) -> QueryResult:
    """Return an earlier result as that of a query for which nothing had to be done now."""
    return QueryResult(
        query.id,
        query.input_id,
        before.status,
        evidence=before.evidence,
        triples=before.triples,
        edges=before.edges,
        error=before.error and f"{before.error} (before; --retry-quarantined asks again)",
    )


def _sifted(lines: Iterable[InputLine], report: RunReport) -> Iterator[InputLine]:
    """Yield the lines that are queries, and keep the others in the report."""
    for line in lines:
        if line.query is None:
            report.rejected.append(line)
        else:
            yield line
