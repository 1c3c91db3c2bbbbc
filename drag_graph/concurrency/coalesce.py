"""Combine the calls of several threads: requests that arrive during a call go into the next one."""

import copy
import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from drag_graph.errors import DragGraphError

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(eq=False)
class _Job(Generic[Item, Result]):
    """The request of one thread; `results` or `error` is set when it is done."""

    item: Item
    results: list[Result] = field(default_factory=list)
    error: DragGraphError | None = None


class RequestCoalescer(Generic[Item, Result]):
    """Serves many threads with few calls of `work`, which maps items to one result each, in order.

    One thread at a time makes a call, for up to `most` waiting items of its `kind`; no thread waits for others to arrive. A
    DragGraphError is raised in every thread of the call, as a copy. If `divides` returns True for it (one item, or the number
    of items, may be the cause), each half is tried again first; if the number was the cause, later calls are smaller. Any other
    exception is raised in the calling thread, and the other threads try again.
    """

    def __init__(
        self,
        work: Callable[[list[Item]], Sequence[Result]],
        *,
        most: int,
        kind: Callable[[Item], Hashable] = lambda _item: None,
        divides: Callable[[DragGraphError], bool] = lambda _error: False,
    ) -> None:
        self._work, self._most, self._kind, self._divides = work, most, kind, divides
        self._waiting: list[_Job[Item, Result]] = []
        self._is_led, self._changed = False, threading.Condition()

    def __call__(self, item: Item) -> Result:
        """Return the item's result. Raises what `work` raises."""
        job: _Job[Item, Result] = _Job(item)
        with self._changed:
            self._waiting.append(job)
            # A lock for the turn would let a thread with quick successive items pass those whose items are done.
            self._changed.wait_for(lambda: job not in self._waiting or not self._is_led)
            leads = job in self._waiting
            self._is_led = self._is_led or leads
        if leads:
            self._lead(job)
        if job.error is not None:
            raise job.error
        return job.results[0]

    def _lead(self, own: _Job[Item, Result]) -> None:
        """Make one call: for the thread's own item, and those that have waited longest."""
        try:
            with self._changed:
                same = [job for job in self._waiting if job is not own and self._kind(job.item) == self._kind(own.item)]
            self._call([own, *same[: self._most - 1]])
        finally:
            with self._changed:
                self._is_led = False
                self._waiting = [job for job in self._waiting if not (job is own or job.results or job.error)]
                self._changed.notify_all()

    def _call(self, jobs: list[_Job[Item, Result]]) -> None:
        try:
            results = self._work([job.item for job in jobs])
        except DragGraphError as error:
            if len(jobs) > 1 and self._divides(error):
                half = len(jobs) // 2
                self._call(jobs[:half])
                self._call(jobs[half:])
                if not any(job.error for job in jobs):
                    self._most = min(self._most, max(1, half))
            else:
                for job in jobs:
                    job.error = copy.copy(error)
            return
        for job, result in zip(jobs, results, strict=True):
            job.results.append(result)
