"""Messages between the processes: errors as values, and outcomes of queries."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from drag_graph.distill.query_distillation import Usage
from drag_graph.errors import DragGraphError
from drag_graph.model import Aggregation, Subgraph

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a query in a worker: a subgraph and how to aggregate it, or the error that the driver must raise."""

    result: tuple[Subgraph, Aggregation] | None
    error: DragGraphError | None
    usage: Usage


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
