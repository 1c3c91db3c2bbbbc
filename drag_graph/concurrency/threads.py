"""Worker threads, and the time slices they get from the interpreter."""

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TypeVar

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
    """Do some work in a daemon thread of its own, which delays neither its caller nor the end of the process."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again by the reader of the result
            future.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future


class Workers:
    """Up to `number` daemon threads that do tasks in order."""

    def __init__(self, number: int, name: str) -> None:
        self._number = number
        self._name = name
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    def submit(self, task: Callable[[], Result], done: "SimpleQueue[Result | BaseException | None]") -> None:
        """Do the task and put its result, or the exception it raises, into `done`."""

        def run() -> None:
            try:
                done.put(task())
            except BaseException as fault:  # noqa: BLE001 - raised again by the thread that reads `done`
                done.put(fault)

        self._tasks.put(run)
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
            task()
