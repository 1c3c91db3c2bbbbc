"""Distill through a provider's batch API: the rounds of one run (docs/decisions/0007-batches.md).

The stages of a query depend on each other's replies. Each round is therefore one pass over the unfinished queries: their next
requests go to the provider in one batch, and the next pass continues with the replies. All passes belong to one run.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime

from drag_graph.errors import BudgetReached, DragGraphError, Interrupted, ModelUnavailable
from drag_graph.inputs import InputLine
from drag_graph.jobs.distill_job import Distiller, OnResult, RunReport
from drag_graph.models.teachers.batch_teacher import BatchTeacher, recovery_hint
from drag_graph.models.teachers.provider_batch_api import BatchState

FIRST_WAIT = 5.0
PATIENCE = 1800.0
"""Seconds for which the provider may be unreachable while the run waits for its batches."""
OnWait = Callable[[str], None]
"""Called with a sentence about what the run waits for; "" when the wait is over."""


@dataclass(eq=False)
class Rounds:
    """A run of `distiller` whose teacher is asked through `batches`.

    Without `wait` the run ends as soon as its requests are submitted. The provider is polled after 5 s, then less and less
    often, but at least every `longest_wait` seconds.
    """

    distiller: Distiller
    batches: BatchTeacher
    _: KW_ONLY
    wait: bool = True
    longest_wait: float = 60.0

    def __post_init__(self) -> None:
        self._states: list[BatchState] = []
        self._on_result: OnResult = lambda _cost: None

    def run(
        self, lines: Iterable[InputLine], on_result: OnResult = lambda _cost: None, on_wait: OnWait = lambda _sentence: None
    ) -> RunReport:
        """Distill every line as `Distiller.run` does, in rounds, and return the report.

        After Ctrl-C, a kill, or without `wait`, batches stay with the provider; the same command resumes from them. The budget
        ends the run when nothing more fits and all batches are collected or, without `wait`, when some requests cannot be
        submitted. A batch that is still running two hours after its deadline ends the run too.
        """
        distiller, runner = self.distiller, self.distiller.runner
        self._on_result = on_result
        distiller.begin()
        began = time.monotonic()
        passes = self._passes(distiller.admit(lines))
        try:
            self._rounds(passes, on_wait)
        except (KeyboardInterrupt, Interrupted):
            if runner.stopped is not None:
                raise
            runner.stopped = self._left("interrupted")
        except DragGraphError as error:
            runner.stop(error)
        if runner.stopped is not None:
            next(passes, None)  # unless a pass was made, this enters the lines as pending
        if runner.stopped is None:
            self.batches.end()
        runner.seconds = time.monotonic() - began
        return distiller.finish()

    def _rounds(self, passes: Iterator[None], on_wait: OnWait) -> None:
        runner = self.distiller.runner
        self.batches.recover()
        self._states = self.batches.look()
        while True:
            if self._states:
                self._await(on_wait)
                self.batches.collect()
                self._states = [batch for batch in self._states if not batch.ended]
            next(passes)
            self.batches.book(whole=runner.stopped is None)
            if runner.stopped is not None:
                return
            over_budget = self.batches.submit()
            self._states = self.batches.look()
            if not self._states:
                if over_budget is not None:
                    raise over_budget
                return
            if not any(batch.ended or batch.awaited for batch in self._states):
                raise _late(self._states[0])
            if not self.wait:
                raise self._left("ended without waiting", over_budget=over_budget)

    def _passes(self, lines: Iterable[InputLine]) -> Iterator[None]:
        """Run one pass per step: first over the input, then over pending lines."""
        by_number: dict[int, InputLine] = {}

        def remembered() -> Iterator[InputLine]:
            for line in lines:
                by_number[line.number] = line
                yield line

        self.distiller.work_through(remembered(), self._on_result)
        yield
        report = self.distiller.report
        while self.distiller.runner.stopped is None:
            # A pass replaces the rows of these lines, including their cost.
            pending = {result.line: result.cost_usd for result in report.results() if result.status == "pending"}
            report.cost_usd -= sum(pending.values())
            self.distiller.work_through([by_number[number] for number in pending], self._on_result)
            yield

    def _await(self, on_wait: OnWait) -> None:
        """Wait until every batch has ended or is overdue; without `wait`, return at once."""
        pause, answered_at = min(FIRST_WAIT, self.longest_wait), time.monotonic()
        while self.wait and any(batch.awaited for batch in self._states):
            on_wait(_sentence(self._states))
            self.distiller.runner.interruption.sleep(pause)
            pause = min(pause * 1.5, self.longest_wait)
            try:
                self._states = self.batches.look()
                answered_at = time.monotonic()
            except ModelUnavailable:
                if time.monotonic() - answered_at > PATIENCE:
                    raise
        on_wait("")

    def _left(self, how: str, *, over_budget: BudgetReached | None = None) -> DragGraphError:
        """Return the error of a run that leaves batches with the provider; `over_budget` is why some requests remain here."""
        if not self._states:
            return Interrupted(f"Run {how}; completed queries are stored.", hint="Run the same command again to resume.")
        requests = sum(batch.total for batch in self._states)
        batches = "1 batch" if len(self._states) == 1 else f"{len(self._states)} batches"
        by = max(batch.until for batch in self._states)
        message = f"Run {how}; {batches} with {requests} requests remain with the provider, and completed queries are stored."
        hint = f"The provider replies by {by:%Y-%m-%d %H:%M} UTC. Run the same command again to collect the replies."
        if over_budget is None:
            return Interrupted(message, hint=hint)
        return BudgetReached(
            f"{over_budget.message} Not all requests were submitted. {message}",
            hint=f"{hint} Raise `budget_usd=LIMIT` to submit the others.",
        )


def _late(batch: BatchState) -> ModelUnavailable:
    message = f"Batch {batch.id} is still {batch.status.replace('_', ' ')}. It was due at {batch.until:%Y-%m-%d %H:%M} UTC."
    return ModelUnavailable(message, hint=recovery_hint(batch.id))


def _sentence(batches: list[BatchState]) -> str:
    """Return the state of the batches as a message."""
    done, total = sum(batch.completed for batch in batches), sum(batch.total for batch in batches)
    failed = sum(batch.failed for batch in batches)
    states = ", ".join(dict.fromkeys(batch.status.replace("_", " ") for batch in batches))
    since = min(datetime.fromtimestamp(batch.created_at, UTC) for batch in batches).astimezone()
    name = "the batch" if len(batches) == 1 else f"{len(batches)} batches"
    return f"{name} ({states}): {done} of {total} requests done, {failed} failed, since {since:%H:%M}"
