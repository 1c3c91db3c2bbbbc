"""The keeper: the only process of a cluster run that opens the ledger. It is on the driver's machine.

Replies are on disk before a worker receives them, and reservations before a call is sent, so a restarted keeper finds both
unchanged (docs/decisions/0006-threads-and-ray.md).
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from drag_graph.concurrency.interruption import interrupted
from drag_graph.distill.query_distillation import Usage
from drag_graph.errors import DragGraphError, ModelUnavailable
from drag_graph.ledger import Ledger
from drag_graph.ledger.budget import Budget, Reservation, dollars
from drag_graph.model import Aggregation, Subgraph
from drag_graph.ports.setting_types import Privacy
from drag_graph.privacy.privacy_gate import open_gate

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


class Keeper:
    """An actor. Its methods return errors instead of raising them (`returns_errors`).

    A worker is identified by its number and its `life`, which changes when Ray restarts it.
    """

    def __init__(
        self, ledger: Path, job: str, limit_usd: float | None, *, privacy: Privacy = "off", vault: Path | None = None
    ) -> None:
        """`ledger` records the spending of `job`, up to `limit_usd`; `vault` belongs to the privacy gate."""
        self._lock = threading.Lock()
        self._open: dict[Reservation, tuple[int, str]] = {}
        """Worker and life by reservation."""
        self._lives: dict[int, str] = {}
        self._problem: DragGraphError | None = None
        self._interrupted = threading.Event()
        try:
            self._ledger = Ledger(ledger)
            self._budget = Budget(limit_usd, self._ledger.account(job))
            self._gate = open_gate(privacy, vault)
        except DragGraphError as error:  # raised by `check` instead of ending the process
            self._problem = error

    @returns_errors
    def check(self) -> None:
        """Raise the error that occurred when the ledger was opened, if any."""
        self._check()

    @returns_errors
    def announce(self, worker: int, life: str) -> bool:
        """Register a worker's new life, and return whether the run must end.

        Reservations of its previous life count as spent, because the outcome of those calls is unknown.
        """
        self._check()
        with self._lock:
            self._lives[worker] = life
            lost = [one for one, (other, its_life) in self._open.items() if other == worker and its_life != life]
            for reservation in lost:
                del self._open[reservation]
        for reservation in lost:
            self._budget.settle(reservation, dollars(reservation.amount))
        return self._interrupted.is_set()

    def interrupt(self) -> None:
        """Allow no further calls, including those of workers that Ray restarts."""
        self._interrupted.set()

    @returns_errors
    def outgoing(self, texts: list[str]) -> None:
        """Check texts that a worker is about to send; its node must not have the originals. Raises Withheld."""
        self._check()
        if self._gate is not None:
            self._gate.outgoing(texts)

    @returns_errors
    def tape(self, method: str, *arguments: Any) -> Any:
        """Call a method of the tape."""
        self._check()
        return getattr(self._ledger.tape, method)(*arguments)

    @returns_errors
    def reserve(self, worker: int, life: str, estimate_usd: float) -> Reservation:
        """See `Budget.reserve`; can also raise Interrupted. It waits for other calls, so it has its own concurrency group."""
        self._check()
        if self._interrupted.is_set():
            raise interrupted()
        reservation = self._budget.reserve(estimate_usd)
        with self._lock:
            current = self._lives.setdefault(worker, life) == life
            wanted = current and not self._interrupted.is_set()
            if wanted:
                self._open[reservation] = (worker, life)
        if not wanted:  # the worker was lost, or the run interrupted, in the meantime: the call will not be made
            self._budget.settle(reservation)
            raise interrupted() if current else ModelUnavailable("This worker process was replaced because it seemed lost.")
        return reservation

    @returns_errors
    def settle(self, reservation: Reservation, actual_usd: float) -> None:
        """See `Budget.settle`; also works for reservations of an earlier keeper."""
        self._check()
        with self._lock:
            self._open.pop(reservation, None)
        self._budget.settle(reservation, actual_usd)

    def _check(self) -> None:
        if self._problem is not None:
            raise self._problem
