"""Distilling in batches: the rounds of one run (docs/adr/0013).

The stages of a query need each other's replies, so each round is one pass over the queries that are not done: their next
requests are noted and go to the provider together; when these are answered, the next pass goes on. All passes are one run.
"""

import json
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator

from drag_graph.errors import BudgetReached, DragGraphError, Interrupted, ModelUnavailable
from drag_graph.inputs import InputLine
from drag_graph.jobs.distill_job import Distiller
from drag_graph.model import Query
from drag_graph.ports.provider_batches import Batches, Progress
from drag_graph.ports.run_journal import RunReport

FIRST_WAIT = 5.0
PATIENCE = 1800.0
"""Seconds for which a provider may be out of reach while its batches are waited for."""
_IN_MEMORY = 8_000_000


class Rounds:
    """A run of `distiller`, whose teacher is asked in `batches`.

    `wait` False submits and leaves. Batches are looked at after 5 s, then less and less often, down to every `longest_wait`
    seconds.
    """

    def __init__(
        self,
        distiller: Distiller,
        batches: Batches,
        *,
        wait: bool = True,
        longest_wait: float = 60.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._distiller, self._batches = distiller, batches
        self._wait, self._longest_wait, self._sleep = wait, longest_wait, sleep
        self._results: list[Progress] = []
        self._short: BudgetReached | None = None

    def run(
        self,
        lines: Iterable[InputLine],
        on_result: Callable[[float], None] = lambda _cost: None,
        on_wait: Callable[[str], None] = lambda _sentence: None,
    ) -> RunReport:
        """Distill every line as `Distiller.run` does, in rounds, and return the report.

        Ctrl-C, a kill, or `wait` False leave the batches with the provider; the same command goes on with them. `on_wait` gets
        a sentence about what is waited for. The budget ends the run when nothing more fits with all batches collected, or,
        with `wait` False, when a part could not be submitted. A batch that has not ended two hours after its term ends it, too.
        """
        report = self._distiller.begin()
        began = time.monotonic()
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as kept:
            passes = _Passes(self._distiller, report, self._distiller.admit(lines), kept, on_result)
            try:
                self._rounds(passes, report, on_wait)
            except KeyboardInterrupt:
                if report.stopped is not None:
                    raise
                self._distiller.stop(report, self._left("interrupted"))
            except DragGraphError as error:
                self._distiller.stop(report, error)
            if report.stopped is not None and not passes.made:
                passes.make()  # nothing is asked any more: this only enters the lines as pending
        if report.stopped is None:
            self._batches.end()
        report.seconds = time.monotonic() - began
        self._distiller.finish(report)
        return report

    def _rounds(self, passes: "_Passes", report: RunReport, on_wait: Callable[[str], None]) -> None:
        self._batches.recover()
        self._results = self._batches.look()
        while True:
            if self._results:
                self._await(on_wait)
                self._batches.collect()
            passes.make()
            self._batches.book(whole=report.stopped is None)
            if report.stopped is not None:
                return
            self._short = self._batches.submit()
            self._results = self._batches.look()
            if not self._results:
                if self._short is not None:
                    raise self._short
                return
            if not any(batch.ended or batch.awaited for batch in self._results):
                raise _late(self._results[0])
            if not self._wait:
                raise self._left("left without waiting", short=self._short)

    def _await(self, on_wait: Callable[[str], None]) -> None:
        """Wait until all batches have ended but those that are late; without `wait`, only look."""
        pause, answered = min(FIRST_WAIT, self._longest_wait), time.monotonic()
        while self._wait and any(batch.awaited for batch in self._results):
            on_wait(_sentence(self._results))
            self._sleep(pause)
            pause = min(pause * 1.5, self._longest_wait)
            try:
                self._results = self._batches.look()
                answered = time.monotonic()
            except ModelUnavailable:
                if time.monotonic() - answered > PATIENCE:
                    raise
        on_wait("")

    def _left(self, how: str, *, short: BudgetReached | None = None) -> DragGraphError:
        """Return the error of a run that leaves batches behind, if there are any; `short` is why a part is not submitted."""
        waiting = self._batches.waiting()
        if not waiting:
            return Interrupted(f"{how}; what is complete is stored", hint="The same command goes on from there.")
        requests = sum(batch.total for batch in waiting)
        which = "a batch waits" if len(waiting) == 1 else f"{len(waiting)} batches wait"
        by = max(batch.until for batch in waiting)
        said = f"{how}; {which} at the provider with {requests} requests, and what is complete is stored"
        hint = f"The same command collects the replies, which are there by {by:%Y-%m-%d %H:%M} UTC, and goes on."
        if short is None:
            return Interrupted(said, hint=hint)
        return BudgetReached(
            f"a part was not submitted: {short.message}; {said}", hint=f"{hint} With a larger --budget-usd it submits the rest."
        )


class _Passes:
    """The passes of a run: the first over the input, which is kept on the way, each other over what is pending."""

    def __init__(
        self,
        distiller: Distiller,
        report: RunReport,
        lines: Iterable[InputLine],
        kept: "tempfile.SpooledTemporaryFile[bytes]",
        on_result: Callable[[float], None],
    ) -> None:
        self._distiller, self._report, self._lines, self._kept, self._on_result = distiller, report, lines, kept, on_result
        self.made = 0

    def make(self) -> None:
        """Make the next pass."""
        if not self.made:
            self._distiller.work_through(self._keeping(), self._report, self._on_result)
        else:
            # Their rows are written anew, with what this pass counts.
            waiting = {result.line: result.cost_usd for result in self._report.results() if result.status == "pending"}
            self._report.cost_usd -= sum(waiting.values())
            self._distiller.work_through(self._again(waiting), self._report, self._on_result)
        self.made += 1

    def _keeping(self) -> Iterator[InputLine]:
        for line in self._lines:
            if line.query is not None:
                query = line.query.model_dump(mode="json", exclude={"gold"})
                document = {"number": line.number, "query": query, "edition": line.edition}
                self._kept.write(json.dumps(document).encode() + b"\n")
            yield line

    def _again(self, waiting: Collection[int]) -> Iterator[InputLine]:
        self._kept.seek(0)
        for row in self._kept:
            document = json.loads(row)
            if document["number"] in waiting:
                query = Query.model_validate(document["query"])
                yield InputLine(document["number"], query=query, edition=document["edition"])


def _late(batch: Progress) -> ModelUnavailable:
    said = f"the batch {batch.batch} is still {batch.status.replace('_', ' ')}, though it was to end by"
    return ModelUnavailable(f"{said} {batch.until:%Y-%m-%d %H:%M} UTC", hint=batch.way_out)


def _sentence(batches: list[Progress]) -> str:
    """Return what is waited for, for people."""
    done, total = sum(batch.completed for batch in batches), sum(batch.total for batch in batches)
    failed = sum(batch.failed for batch in batches)
    states = ", ".join(dict.fromkeys(batch.status.replace("_", " ") for batch in batches))
    since = min(batch.since for batch in batches).astimezone()
    which = "the batch" if len(batches) == 1 else f"{len(batches)} batches"
    return f"{which} ({states}): {done} of {total} requests done, {failed} failed, since {since:%H:%M}"
