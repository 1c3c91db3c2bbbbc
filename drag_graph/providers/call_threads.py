"""Threads for calls that may have to be abandoned: daemons, and used again where the last call came to its end.

An abandoned call must hold up neither its caller nor the end of the process, which rules out an executor; and a new thread for
each call costs more than handing it over.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

_Job = tuple[Callable[[], Any], "Future[Any]"]
_idle: list["SimpleQueue[_Job]"] = []


def run(function: Callable[[], Any], limit: float) -> Any:
    """Return what `function` returns, or raise what it raises; raise TimeoutError when it takes longer than `limit` seconds.

    Then the function is left to itself: its thread ends with it or goes on to another call.
    """
    future: Future[Any] = Future()
    try:
        jobs = _idle.pop()
    except IndexError:
        jobs = SimpleQueue()
        threading.Thread(target=_work, args=(jobs,), name="model-call", daemon=True).start()
    jobs.put((function, future))
    return future.result(limit)


def _work(jobs: "SimpleQueue[_Job]") -> None:
    while True:
        _do(*jobs.get())  # nothing of a call is kept while its thread waits for another
        _idle.append(jobs)


def _do(function: Callable[[], Any], future: "Future[Any]") -> None:
    try:
        future.set_result(function())
    except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, which raises it
        future.set_exception(error)


os.register_at_fork(after_in_child=_idle.clear)
"""A forked child has none of these threads, so a call that it gave to one would wait for ever."""
