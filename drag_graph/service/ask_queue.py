"""Limit how many questions are answered or wait at a time, and for how long."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import TypeVar

from drag_graph.service.errors import LATER, RequestRefused
from drag_graph.service.limits import Limits

Result = TypeVar("Result")


class AskQueue:
    """Runs up to `limits.asks` questions at the same time; up to `limits.waiting_asks` more wait.

    Its threads do not keep the process alive, so a student that never replies does not delay the exit.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._open = 0
        self.is_closed = False
        for number in range(limits.asks):
            threading.Thread(target=self._work, name=f"ask-{number}", daemon=True).start()

    @property
    def running(self) -> int:
        """Number of questions that are being answered."""
        return min(self._open, self._limits.asks)

    @property
    def waiting(self) -> int:
        """Number of questions that wait."""
        return max(0, self._open - self._limits.asks)

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        """Run `work` in a thread as soon as there is room.

        Raises RequestRefused if too many wait (429), or once the service stops (503).
        """
        future = Future[Result]()
        future.add_done_callback(self._end)
        with self._lock:
            if self.is_closed:
                raise RequestRefused(503, "Stopping", "The service is stopping.", headers=LATER)
            if self._open >= self._limits.asks + self._limits.waiting_asks:
                message = f"{self._open} questions are being answered or waiting already."
                raise RequestRefused(429, "TooManyRequests", message, hint="Ask again later.", headers=LATER)
            self._open += 1
            self._calls.put(partial(contextvars.copy_context().run, _finish, future, work))
        return future

    async def result(self, future: Future[Result]) -> Result:
        """Wait for submitted work. Raises RequestRefused (504) after `limits.answer_seconds`; running work is not stopped."""
        try:
            async with asyncio.timeout(self._limits.answer_seconds):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            message = f"The answer took longer than {self._limits.answer_seconds:g} seconds."
            raise RequestRefused(504, "AnswerTimeout", message, hint="Ask again later, or restrict the search.") from None

    async def run(self, work: Callable[[], Result]) -> Result:
        """Submit work and wait for it."""
        return await self.result(self.submit(work))

    def close(self) -> None:
        """Accept no further work. Work that runs or waits is finished."""
        with self._lock:
            self.is_closed = True
            for _ in range(self._limits.asks):
                self._calls.put(None)

    def _work(self) -> None:
        while call := self._calls.get():
            call()

    def _end(self, _future: object) -> None:
        with self._lock:
            self._open -= 1


def _finish(future: Future[Result], work: Callable[[], Result]) -> None:
    """Do the work unless it was cancelled meanwhile, and finish its future."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
        future.set_exception(error)
    else:
        future.set_result(result)
