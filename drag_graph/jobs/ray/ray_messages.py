"""What travels between the processes: errors as values, log events, and what became of a query."""

import logging
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

from drag_graph import log
from drag_graph.distill.query_distillation import Usage
from drag_graph.errors import DragGraphError
from drag_graph.model import Aggregation, Subgraph

P = ParamSpec("P")
T = TypeVar("T")


class RemoteReservation(NamedTuple):
    """A reservation as a worker holds it: its own `name`, the ledger's `key` if it has one, and the amount in nano-dollars."""

    name: str
    key: int | None
    amount: int


class Event(NamedTuple):
    """One log event on its way to the driver's log."""

    level: int
    name: str
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a query in a worker: a subgraph and how to aggregate it, or the error that the driver is to raise."""

    result: tuple[Subgraph, Aggregation] | None
    error: DragGraphError | None
    usage: Usage
    events: list[Event] = field(default_factory=list)


def returns_errors(method: Callable[P, T]) -> Callable[P, T | DragGraphError | OSError]:
    """Make a method of an actor return the errors that are meant for the caller.

    Ray would wrap a raised error in one of its own, and write it into its log with the values that were at hand.
    """

    @wraps(method)
    def returning(*args: P.args, **kwargs: P.kwargs) -> T | DragGraphError | OSError:
        try:
            return method(*args, **kwargs)
        except (DragGraphError, OSError) as error:
            return error.with_traceback(None)

    return returning


def answer(reference: Any, timeout: float | None = None) -> Any:
    """Wait for what an actor returns, at most `timeout` seconds, and raise it where it is an error (see `returns_errors`)."""
    import ray

    value = ray.get(reference, timeout=timeout)
    if isinstance(value, DragGraphError | OSError):
        raise value
    return value


class Events(logging.Handler):
    """Keeps this process's log events until they are taken to the driver; they are written nowhere else."""

    MOST = 1000

    def __init__(self, level: int) -> None:
        super().__init__()
        self._kept: deque[Event] = deque(maxlen=self.MOST)
        log.LOGGER.handlers[:] = [self]
        log.LOGGER.setLevel(level)
        log.LOGGER.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the event."""
        self._kept.append(Event(record.levelno, record.getMessage(), log.fields_of(record)))

    def take(self) -> list[Event]:
        """Return what was kept since the last time."""
        taken = []
        while self._kept:
            taken.append(self._kept.popleft())
        return taken


def repeat(events: Iterable[Event], **more: Any) -> None:
    """Log the events of another process in this one."""
    for event in events:
        log.event(event.name, level=event.level, **event.fields, **more)
