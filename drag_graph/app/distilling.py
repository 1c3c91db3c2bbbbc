"""Methods that ask the teacher: distill, refresh, and their estimates."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, get_args

from drag_graph.app.questions import Questions, as_questions, question_lines, source_of
from drag_graph.app.resources import ResourceUser
from drag_graph.app.run_handle import RunHandle
from drag_graph.compose.model_factories import check_batches, check_teacher, make_pricing
from drag_graph.compose.session import Session, estimate_basis
from drag_graph.concurrency.interruption import Interruption
from drag_graph.distill.cost_estimate import estimate
from drag_graph.errors import ConfigurationError
from drag_graph.jobs.distill_job import RunReport
from drag_graph.jobs.runner import OnProgress, ProgressMeter
from drag_graph.jobs.stale_queries import KIND, Due, due, stale_lines, stale_source
from drag_graph.ledger import Ledger
from drag_graph.ports.graph_store import GraphStore, Staleness
from drag_graph.ports.run_journal import STATUSES, QueryResult, Status
from drag_graph.settings import Settings


@dataclass(frozen=True)
class Estimate:
    """What a run would take. Nothing was written, and no model was called."""

    document: dict[str, Any]

    @property
    def calls(self) -> int:
        """Expected number of calls."""
        return int(self.document["calls"])

    @property
    def price_usd(self) -> float | None:
        """Expected price in US dollars; None if it is unknown."""
        return float(self.document["price_usd"]) if self.document["price_known"] else None

    def to_dict(self) -> dict[str, Any]:
        """Return the document that `--dry-run --json` prints."""
        return self.document


@dataclass(frozen=True)
class RefreshEstimate(Estimate):
    """What a refresh would take, and the queries that are due."""

    stale: tuple[Due, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the document that `refresh --dry-run --json` prints."""
        return {"stale": [item.document() for item in self.stale], **self.document}


class Distilling(ResourceUser):
    """Distill questions into the graph, and refresh them."""

    def distill(
        self,
        questions: Questions,
        *,
        retry_quarantined: bool = False,
        replace: bool = False,
        add: bool = False,
        batch: bool = False,
        leave: bool = False,
        job: str = "",
        on_progress: OnProgress | None = None,
        wait: bool = True,
        **settings: Any,
    ) -> RunHandle[RunReport]:
        """Ask the teacher for evidence on questions, rank it, extract triples, and store one graph per question.

        Questions that are complete under the same settings are skipped, unless `replace`; `add` adds this teacher's evidence to
        theirs. Quarantined questions are asked again with `retry_quarantined`. With `batch` the requests go to the provider's
        batch API; `leave` then ends the run as soon as they are submitted. `settings` override those of the object.

        Call it again with the same questions to resume a run that was stopped. Runs of the same questions share one budget;
        with `job`, runs with this job name share it.
        """
        resources = self._resources.changed(settings)
        _check_mode(resources.settings, batch=batch, leave=leave, replace=replace, add=add)
        questions = as_questions(questions)
        question_stream = question_lines(questions, resources.settings)
        check_teacher(resources.settings)
        source, total = job or source_of(questions), _number_of(questions)

        def run(interruption: Interruption) -> RunReport:
            meter = ProgressMeter(total, on_progress)
            options: dict[str, Any] = {"retry_quarantined": retry_quarantined, "interruption": interruption}
            with resources.writing() as session:
                if batch:
                    rounds = session.batch_distiller(source, wait=not leave, **options)
                    return _kept(session, rounds.run(question_stream, meter.count, meter.wait_for))
                distiller = session.distiller(source, replace="add" if add else "always" if replace else False, **options)
                return _kept(session, distiller.run(question_stream, meter.count))

        return RunHandle(run, resources, wait=wait)

    def estimate_distill(
        self, questions: Questions, *, retry_quarantined: bool = False, batch: bool = False, **settings: Any
    ) -> Estimate:
        """Return the calls, tokens and price that `distill` would take. Needs neither a teacher nor the `privacy` extra."""
        resources = self._resources.changed(settings)
        lines = question_lines(as_questions(questions), resources.settings)
        return _estimate(resources.settings, lines, retry_quarantined, batch)

    def refresh(
        self,
        *,
        expired: bool = False,
        failed: bool = False,
        corrected: bool = False,
        limit: int | None = None,
        retry_quarantined: bool = False,
        job: str = "",
        on_progress: OnProgress | None = None,
        wait: bool = True,
        **settings: Any,
    ) -> RunHandle[RunReport]:
        """Distill stored questions again if they have `expired`, have `failed` answers, or were `corrected` since.

        A question is corrected if one of its claims or answers is marked wrong.
        Each subgraph is replaced in one transaction; answers that rest on the old one keep their audit. Call it again with the
        same arguments to resume a run that was stopped. Refreshes of one day for the same reasons share a budget; with `job`,
        runs with this job name share it.
        """
        resources, reasons = self._resources.changed(settings), _reasons(expired=expired, failed=failed, corrected=corrected)
        check_teacher(resources.settings)

        def run(interruption: Interruption) -> RunReport:
            with resources.writing(create=False) as session:
                meter = ProgressMeter(sum(1 for _ in _due(session.store, reasons, limit)), on_progress)
                stale = stale_lines(session.store, _due(session.store, reasons, limit))
                source = job or stale_source(reasons, datetime.now(UTC))
                options: dict[str, Any] = {"retry_quarantined": retry_quarantined, "interruption": interruption}
                refresher = session.distiller(source, kind=KIND, **options)
                return _kept(session, refresher.run(stale, meter.count))

        return RunHandle(run, resources, wait=wait)

    def estimate_refresh(
        self, *, expired: bool = False, failed: bool = False, corrected: bool = False, limit: int | None = None, **settings: Any
    ) -> RefreshEstimate:
        """Return the queries that are due, and the calls, tokens and price that `refresh` would take."""
        resources, reasons = self._resources.changed(settings), _reasons(expired=expired, failed=failed, corrected=corrected)
        with resources.store() as store:
            stale = tuple(_due(store, reasons, limit))
            return RefreshEstimate(_estimate(resources.settings, stale_lines(store, stale)).document, stale)


@dataclass(frozen=True)
class _LedgerResults:
    """The results of a run whose session is closed."""

    ledger: Path

    def results(self, run_id: str, statuses: Sequence[Status] = STATUSES) -> Iterator[QueryResult]:
        with closing(Ledger(self.ledger, read_only=True)) as ledger:
            yield from ledger.journal.results(run_id, statuses)

    def sums(self, run_id: str) -> dict[Status, dict[str, float]]:
        with closing(Ledger(self.ledger, read_only=True)) as ledger:
            return ledger.journal.sums(run_id)


def _kept(session: Session, report: RunReport) -> RunReport:
    report.journal = _LedgerResults(session.settings.ledger_path)
    return report


def _number_of(questions: Path | list[Any]) -> int | None:
    """Return the number of questions, or None if it is not known before they are read."""
    if isinstance(questions, list):
        return len(questions)
    if not questions.is_file():
        return None
    with questions.open("rb") as file:
        return sum(1 for line in file if line.strip())


def _check_mode(settings: Settings, *, batch: bool, leave: bool, replace: bool, add: bool) -> None:
    """Raise ConfigurationError for options that exclude each other."""
    excluded = {
        "`leave=True` requires `batch=True`.": leave and not batch,
        "`replace=True` and `add=True` exclude each other.": replace and add,
        "`replace=True` does not work with `batch=True`.": batch and replace,
        "`add=True` does not work with `batch=True`.": batch and add,
        "`engine=ray` does not work with `batch=True`.": batch and settings.engine == "ray",
    }
    for message, applies in excluded.items():
        if applies:
            raise ConfigurationError(message, hint="See `drag-graph distill --help`.")
    if batch:
        check_batches(settings)


def _reasons(**chosen: bool) -> list[Staleness]:
    reasons = [reason for reason in get_args(Staleness) if chosen[reason]]
    if not reasons:
        hint = "Add `expired=True`, `failed=True` or `corrected=True`."
        raise ConfigurationError("Nothing to refresh was chosen.", hint=hint)
    return reasons


def _due(store: GraphStore, reasons: Sequence[Staleness], limit: int | None) -> Iterator[Due]:
    return islice(due(store, reasons, datetime.now(UTC).isoformat(timespec="seconds")), limit)


def _estimate(settings: Settings, questions: Iterable[Any], retry_quarantined: bool = False, batch: bool = False) -> Estimate:
    with estimate_basis(settings, retry_quarantined=retry_quarantined) as (basis, caution):
        document = estimate(settings, questions, make_pricing(settings, batch=batch), basis)
    return Estimate({**document, "caution": caution} if caution else document)
