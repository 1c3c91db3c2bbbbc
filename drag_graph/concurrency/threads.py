"""The threads of a run."""

import threading
from collections.abc import Callable
from queue import SimpleQueue


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

    def abandon(self) -> None:
        """Let the threads end when they have done what was submitted, without waiting for them."""
        for _ in self._threads:
            self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()
