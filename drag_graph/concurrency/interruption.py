"""Ctrl-C, as the threads of a run see it: no further call is made, no wait goes on, and what is in flight is finished."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from drag_graph.errors import Interrupted
from drag_graph.ports.model_roles import Teacher, TeacherReply, TeacherRequest

GRACE = 1.0
"""Seconds that a service has to end what it is at."""


class Interruption:
    """Whether the user wants the run to end. Thread-safe."""

    def __init__(self) -> None:
        self._event = threading.Event()

    @property
    def is_set(self) -> bool:
        """Whether the run must end."""
        return self._event.is_set()

    def interrupt(self) -> None:
        """Ask the run to end."""
        self._event.set()

    def check(self) -> None:
        """Raise Interrupted when the run is to end."""
        if self._event.is_set():
            raise interrupted()

    def sleep(self, seconds: float) -> None:
        """Wait. Raises Interrupted as soon as the run is to end."""
        if self._event.wait(seconds):
            raise interrupted()


def interrupted() -> Interrupted:
    """Return the error that a run ends with."""
    return Interrupted("interrupted; what is complete is stored", hint="The same command goes on from there.")


class InterruptibleTeacher:
    """A teacher that is not asked any more once the run is to end; a query that is not done then is pending."""

    def __init__(self, teacher: Teacher, interruption: Interruption) -> None:
        self._teacher = teacher
        self._interruption = interruption

    @property
    def name(self) -> str:
        return self._teacher.name

    @property
    def fingerprint(self) -> str:
        return self._teacher.fingerprint

    @property
    def is_model(self) -> bool:
        return self._teacher.is_model

    def ask(self, request: TeacherRequest) -> TeacherReply:
        """Ask the teacher. Raises Interrupted instead when the run is to end."""
        self._interruption.check()
        return self._teacher.ask(request)

    def close(self) -> None:
        self._teacher.close()


@contextmanager
def on_ctrl_c(act: Callable[[], None]) -> Iterator[None]:
    """Let the first Ctrl-C or SIGTERM call `act`, wherever the main thread is, and the next one do what it does else.

    An exception that may come between any two instructions leaves nothing whole. `act` must be safe within a signal handler.
    In another thread than the main one, and where somebody else handles Ctrl-C already, nothing changes.
    """
    plain = signal.default_int_handler
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not plain:
        yield
        return

    # What stops a service, or a machine that goes down, sends SIGTERM: for a run it is the same wish.
    before: dict[signal.Signals, Any] = {signal.SIGINT: plain}
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        before[signal.SIGTERM] = signal.SIG_DFL

    def put_back() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def handle(_number: int, _frame: object) -> None:
        put_back()
        act()

    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        put_back()


def in_background(work: Callable[[threading.Event], None]) -> None:
    """Do work in a thread until it ends, or Ctrl-C or SIGTERM sets the event that it is given; raise what it raises.

    What waits for a network then is not waited for.
    """
    stop, ended, failure = threading.Event(), threading.Event(), list[BaseException]()

    def run() -> None:
        try:
            work(stop)
        except BaseException as error:  # noqa: BLE001 - raised in the main thread
            failure.append(error)
        ended.set()

    def end() -> None:
        stop.set()
        ended.set()

    with on_end(end):
        thread = threading.Thread(target=run, name="service", daemon=True)
        thread.start()
        ended.wait()
        thread.join(GRACE)
    if failure:
        raise failure[0]


@contextmanager
def on_end(act: Callable[[], None]) -> Iterator[None]:
    """Let every Ctrl-C and SIGTERM call `act`, for a service that runs in other threads. It must be safe in a signal handler.

    Ctrl-C stays ignored where it is, as whoever starts a service in the background has it.
    """
    numbers = [signal.SIGTERM] if signal.getsignal(signal.SIGINT) is signal.SIG_IGN else [signal.SIGTERM, signal.SIGINT]
    before = {number: signal.signal(number, lambda _number, _frame: act()) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
