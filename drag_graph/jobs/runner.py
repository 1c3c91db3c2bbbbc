"""The runner of long jobs: work, step, sink.

A job takes its work in windows. For each window it settles what an earlier run has completed; every other item becomes a step
that a worker thread executes. Results go to the job's sink in the thread that called `run`. A step may do its item itself,
leave its requests to a provider's batch, or wait for a process of a Ray cluster.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

from drag_graph import log
from drag_graph.concurrency.interruption import Interruption, interrupted, on_ctrl_c, taken
from drag_graph.concurrency.threads import Workers, long_turns
from drag_graph.errors import DragGraphError
from drag_graph.graph.paging import pages

Work = TypeVar("Work")
Item = TypeVar("Item")
Result = TypeVar("Result")
Work_contra = TypeVar("Work_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run is. `total` is None if it is unknown; `waiting_for` is a message while the run waits, else ""."""

    done: int
    total: int | None = None
    cost_usd: float = 0.0
    waiting_for: str = ""


OnProgress = Callable[[RunProgress], None]
"""Called in the thread of the run. An exception that it raises ends the run; the same call resumes it."""


class ProgressMeter:
    """Counts finished items for an `on_progress` callback."""

    def __init__(self, total: int | None, on_progress: OnProgress | None) -> None:
        self._on_progress = on_progress or (lambda _progress: None)
        self._report(RunProgress(0, total))

    def count(self, cost_usd: float) -> None:
        """Count one item; `cost_usd` is the cost of the run so far."""
        self._report(replace(self._progress, done=self._progress.done + 1, cost_usd=cost_usd))

    def wait_for(self, sentence: str) -> None:
        """Report what the run waits for; "" when the wait is over."""
        self._report(replace(self._progress, waiting_for=sentence))

    def _report(self, progress: RunProgress) -> None:
        self._progress = progress
        self._on_progress(progress)


class Job(Protocol[Work_contra, Item, Result]):
    """What a runner runs."""

    def settle(self, window: Sequence[Work_contra]) -> tuple[list[Result], list[Item]]:
        """Return the results of work that needs no step, and an item for each step."""

    def step(self, item: Item) -> Result:
        """Do one item, in a worker thread. An error that must end the run goes to `Runner.stop`, not to the caller."""

    def sink(self, results: Sequence[Result]) -> None:
        """Record results, in the thread that called `Runner.run`."""


class Runner:
    """Runs jobs until their work is done or something stops them. One runner serves all passes of one run.

    The first Ctrl-C or SIGTERM, `Interruption.interrupt` and `stop` let steps in flight finish and begin no others. A second
    Ctrl-C abandons the steps in flight with KeyboardInterrupt.
    """

    def __init__(self, name: str, *, workers: int, interruption: Interruption | None = None) -> None:
        """`name` is that of the worker threads; `workers` is their number."""
        self.interruption = interruption or Interruption()
        self.stopped: DragGraphError | None = None
        """The first error that ended the run."""
        self.seconds = 0.0
        self._name, self._workers = name, workers
        self._abandoned = threading.Event()
        self._lock = threading.Lock()

    @property
    def is_stopping(self) -> bool:
        """Whether nothing new must begin."""
        return self.stopped is not None or self._abandoned.is_set() or self.interruption.is_set

    def stop(self, error: DragGraphError) -> None:
        """End the run because of `error`. Only the first error counts."""
        with self._lock:
            if self.stopped is None:
                self.stopped = interrupted() if self.interruption.is_set else error

    def run(self, work: Iterable[Work], job: Job[Work, Item, Result], *, window: int) -> None:
        """Run the job over its work, `window` pieces at a time.

        At most one window, or two items per worker, is ahead of what is done, so memory does not grow with the work. Raises
        what the job raises unexpectedly, and KeyboardInterrupt; workers then begin nothing more.
        """
        began = time.monotonic()
        workers = Workers(self._workers, self._name)
        try:
            with long_turns(), on_ctrl_c(lambda: workers.done.put(None)):
                self._loop(pages(work, window), job, workers, max(window, 2 * self._workers))
        except BaseException:
            self._abandoned.set()
            raise
        finally:
            workers.abandon()
            self.seconds += time.monotonic() - began

    def _loop(self, windows: Iterator[list[Work]], job: Job[Work, Item, Result], workers: Workers, ahead: int) -> None:
        done, waiting, is_more = workers.done, 0, True
        while is_more or waiting:
            while is_more and waiting <= ahead:
                window = next(windows, None)
                is_more = window is not None
                settled, items = job.settle(window) if window else ([], [])
                for result in settled:
                    done.put(result)
                for item in items:
                    workers.submit(partial(job.step, item))
                waiting += len(settled) + len(items)
            if waiting:
                ready = [taken(done), *(done.get() for _ in range(done.qsize()))]
                results = [item for item in ready if item is not None and not isinstance(item, BaseException)]
                if None in ready:  # put by the signal handler, which must not take locks
                    self.interruption.interrupt()
                    log.event("interrupted: work in flight is being finished; Ctrl-C again abandons it", level=logging.WARNING)
                if self.interruption.is_set:
                    self.stop(interrupted())
                job.sink(results)
                for fault in ready:
                    if isinstance(fault, BaseException):
                        raise fault
                waiting -= len(results)
