"""Interrupt runs: no further call is made, waits end, and calls in flight are finished."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

from drag_graph.concurrency.threads import in_background
from drag_graph.errors import Interrupted
from drag_graph.ports.model_roles import Teacher, TeacherReply, TeacherRequest

GRACE = 1.0
"""Seconds that a service has to finish its current work."""
ATTENTION = 0.2
"""Seconds between two checks for a signal."""
Item = TypeVar("Item")


class Interruption:
    """The wish to end a run early: from Ctrl-C, or from a caller. Thread-safe."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._listeners: list[Callable[[], None]] = []

    @property
    def is_set(self) -> bool:
        """Whether the run must end."""
        return self._event.is_set()

    def interrupt(self) -> None:
        """Ask the run to end."""
        self._event.set()
        for listener in self._listeners:
            listener()

    def notify(self, listener: Callable[[], None]) -> None:
        """Call `listener` when the run is asked to end."""
        self._listeners.append(listener)

    def check(self) -> None:
        """Raise Interrupted if the run must end."""
        if self._event.is_set():
            raise interrupted()

    def sleep(self, seconds: float) -> None:
        """Wait. Raises Interrupted as soon as the run must end."""
        if self._event.wait(seconds):
            raise interrupted()


def interrupted() -> Interrupted:
    """Return the error of an interrupted run."""
    return Interrupted("Interrupted; completed work is stored.", hint="Run the same command again to resume.")


class InterruptibleTeacher:
    """A teacher that refuses requests once the run must end. Unfinished queries are then pending."""

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
        """Ask the teacher. Raises Interrupted if the run must end."""
        self._interruption.check()
        return self._teacher.ask(request)

    def close(self) -> None:
        self._teacher.close()


@contextmanager
def on_ctrl_c(act: Callable[[], None]) -> Iterator[None]:
    """Call `act` at the first Ctrl-C or SIGTERM, and restore the usual effect for the next one.

    A KeyboardInterrupt between any two instructions could leave results half recorded. `act` must be safe in a signal handler.
    Outside the main thread, and if Ctrl-C is already handled, nothing changes.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    # Service managers, and a machine that shuts down, send SIGTERM.
    has_default = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    with _handled([signal.SIGINT, *([signal.SIGTERM] if has_default else [])], act, once=True):
        yield


@contextmanager
def _handled(numbers: Sequence[signal.Signals], act: Callable[[], None], *, once: bool = False) -> Iterator[None]:
    """Call `act` at these signals, or at the first one, and restore their handlers at the end of the block."""
    before = {number: signal.getsignal(number) for number in numbers}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def handle(_number: int, _frame: object) -> None:
        if once:
            restore()
        act()

    for number in numbers:
        signal.signal(number, handle)
    try:
        yield
    finally:
        restore()


def until_interrupted(work: Callable[[threading.Event], None]) -> None:
    """Run `work` in a thread until it ends, or until Ctrl-C or SIGTERM sets the event it receives; raise what it raises.

    Pending network calls get one second (`GRACE`) to end.
    """
    stop, ended = threading.Event(), SimpleQueue[None]()
    with on_end(lambda: ended.put(None)):
        done = in_background(lambda: work(stop), "service")
        done.add_done_callback(lambda _done: ended.put(None))
        taken(ended)
        stop.set()
        wait([done], GRACE)
    if done.done():
        done.result()


def taken(queue: SimpleQueue[Item]) -> Item:
    """Wait in the main thread for an item that a signal handler, too, may put into the queue, and return it.

    The system may deliver a signal to any thread, but its handler runs in the main thread, and only when that thread is awake.
    """
    while True:
        with suppress(Empty):
            return queue.get(timeout=ATTENTION)


@contextmanager
def on_end(act: Callable[[], None]) -> Iterator[None]:
    """Call `act` at every Ctrl-C and SIGTERM, for a service that runs in other threads. It must be safe in a signal handler.

    If Ctrl-C is ignored, as for a process started in the background of a shell, it stays ignored.
    """
    numbers = [signal.SIGTERM] if signal.getsignal(signal.SIGINT) is signal.SIG_IGN else [signal.SIGTERM, signal.SIGINT]
    with _handled(numbers, act):
        yield
