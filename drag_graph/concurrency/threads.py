"""The threads of a run, and how they take turns."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TypeVar

LONG_TURN = 0.05
"""Seconds; Python's own is 0.005. It saves a fifth of the time of 64 workers (docs/adr/0025-fewer-parts.md)."""
Result = TypeVar("Result")
_lock = threading.Lock()
_open: list[float] = []


@contextmanager
def long_turns() -> Iterator[None]:
    """Let a thread of this process compute for up to `LONG_TURN` before another that waits gets its turn.

    What a worker does between two calls takes some milliseconds. With short turns all workers that were answered together get
    on together and are done together, each after the work of all; with long ones the first is done, and waits for its next
    reply, while the others work. So their calls spread out, and the processor has work while they wait. Turns are those of the
    whole process and go back to what they were when the last that wanted long ones is done.
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


class Workers:
    """Up to `number` threads that do what they are given, in its order. They do not hold up the end of the process."""

    def __init__(self, number: int, name: str) -> None:
        self._number = number
        self._name = name
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    def submit(self, task: Callable[[], None]) -> None:
        """Have the task done. It must not raise."""
        self._tasks.put(task)
        if len(self._threads) < self._number:
            thread = threading.Thread(target=self._work, name=f"{self._name}_{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def submit_into(self, done: "SimpleQueue[Result | BaseException]", task: Callable[[], Result]) -> None:
        """Have the task done, and put what it returns into `done`, or what it raises: for the thread that waits to raise."""

        def told() -> None:
            try:
                done.put(task())
            except BaseException as fault:  # noqa: BLE001 - raised again in the thread that waits for the result
                done.put(fault)

        self.submit(told)

    def abandon(self) -> None:
        """Let the threads end when they have done what was submitted, without waiting for them."""
        for _ in self._threads:
            self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()
