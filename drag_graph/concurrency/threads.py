"""Worker threads, the time slices they get from the interpreter, and combining the calls of several threads."""

import copy
import sys
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from drag_graph.errors import DragGraphError

LONG_TURN = 0.05
"""Switch interval in seconds; Python's default is 0.005. It saves 64 workers a fifth of their time."""
Item = TypeVar("Item")
Result = TypeVar("Result")
_lock = threading.Lock()
_open: list[float] = []


@contextmanager
def long_turns() -> Iterator[None]:
    """Let each thread of this process compute for up to `LONG_TURN` seconds before another thread gets its turn.

    A worker computes for a few milliseconds between two calls. With short turns, workers whose replies arrive together all
    finish late. With long turns the first one finishes and waits for its next reply while the others compute, so their calls
    spread out. The setting applies to the whole process; the previous one returns when the last block ends.
    """
    with _lock:
        _open.append(sys.getswitchinterval())
        sys.setswitchinterval(max(_open[0], LONG_TURN))
    try:
        yield
    finally:
        with _lock:
            before = _open[0]
            _open.pop()
            if not _open:
                sys.setswitchinterval(before)


def in_order(function: Callable[[Item], Result], items: Iterable[Item], workers: int) -> Iterator[Result]:
    """Yield `function(item)` for each item, in order. With several `workers`, that many calls run at the same time.

    With one worker, a call begins when its result is requested. If the iteration ends early, no further calls begin.
    """
    if workers == 1:
        yield from map(function, items)
        return
    pool = ThreadPoolExecutor(workers)
    try:
        yield from pool.map(function, items)
    finally:
        pool.shutdown(cancel_futures=True)


def in_background(work: Callable[[], Result], name: str) -> "Future[Result]":
    """Do work in its own daemon thread, which delays neither the caller nor the end of the process."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again by the reader of the result
            future.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future


class Workers:
    """Up to `number` daemon threads that do tasks in order.

    The result of each task, or the exception it raises, is put into `done`.
    """

    def __init__(self, number: int, name: str) -> None:
        self._number = number
        self._name = name
        self.done: SimpleQueue[Any] = SimpleQueue()
        self._tasks: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    def submit(self, task: Callable[[], object]) -> None:
        """Do the task after those before it."""
        self._tasks.put(task)
        if len(self._threads) < self._number:
            thread = threading.Thread(target=self._work, name=f"{self._name}_{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def abandon(self) -> None:
        """Let the threads end after their submitted tasks, without waiting for them."""
        for _ in self._threads:
            self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            try:
                self.done.put(task())
            except BaseException as fault:  # noqa: BLE001 - raised again by the thread that reads `done`
                self.done.put(fault)


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
