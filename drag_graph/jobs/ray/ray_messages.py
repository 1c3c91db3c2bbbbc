"""Messages between the processes: errors as values, log events, and outcomes of queries."""

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
    """A worker's reservation: its `name`, the ledger's `key` if there is one, and the amount in nano-dollars."""

    name: str
    key: int | None
    amount: int


class Event(NamedTuple):
    """A log event for the driver's log."""

    level: int
    name: str
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a query in a worker: a subgraph and how to aggregate it, or the error that the driver must raise."""

    result: tuple[Subgraph, Aggregation] | None
    error: DragGraphError | None
    usage: Usage
    events: list[Event] = field(default_factory=list)


def returns_errors(method: Callable[P, T]) -> Callable[P, T | DragGraphError | OSError]:
    """Make a method of an actor return errors instead of raising them.

    Ray would wrap a raised error in its own, and log it together with local values.
    """

    @wraps(method)
    def returning(*args: P.args, **kwargs: P.kwargs) -> T | DragGraphError | OSError:
        try:
            return method(*args, **kwargs)
        except (DragGraphError, OSError) as error:
            return error.with_traceback(None)

    return returning


def answer(reference: Any, timeout: float | None = None) -> Any:
    """Wait up to `timeout` seconds for the result of an actor, and raise it if it is an error (see `returns_errors`)."""
    import ray

    value = ray.get(reference, timeout=timeout)
    if isinstance(value, DragGraphError | OSError):
        raise value
    return value


class Events(logging.Handler):
    """Collects the log events of this process for the driver. They are written nowhere else."""

    MOST = 1000

    def __init__(self, level: int) -> None:
        super().__init__()
        self._pending: deque[Event] = deque(maxlen=self.MOST)
        log.LOGGER.handlers[:] = [self]
        log.LOGGER.setLevel(level)
        log.LOGGER.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        """Store the event."""
        self._pending.append(Event(record.levelno, record.getMessage(), log.fields_of(record)))

    def take(self) -> list[Event]:
        """Return the events since the last call."""
        events = []
        while self._pending:
            events.append(self._pending.popleft())
        return events


def repeat(events: Iterable[Event], **more: Any) -> None:
    """Log the events of another process."""
    for event in events:
        log.event(event.name, level=event.level, **event.fields, **more)
