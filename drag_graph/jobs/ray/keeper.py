"""The keeper: the one process of a cluster run, on the driver's machine, that has the ledger open: the tape and the budget.

A restarted keeper finds both as they were: replies are on the disk before a worker has them, and reservations are rows
on disk before a call is sent (docs/adr/0012).
"""

import threading
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from drag_graph import log
from drag_graph.concurrency.interruption import interrupted
from drag_graph.errors import DragGraphError, ModelUnavailable, ReplyError
from drag_graph.jobs.ray.ray_messages import Event, Events, RemoteReservation, returns_errors
from drag_graph.ledger import Ledger
from drag_graph.ledger.budget import Budget, Reservation
from drag_graph.ledger.spending import dollars, nanos
from drag_graph.ledger.tape import Attempt
from drag_graph.ports.model_roles import TeacherReply, TeacherRequest
from drag_graph.ports.setting_types import Privacy
from drag_graph.ports.teacher_replies import Reply
from drag_graph.privacy.gate_opening import open_gate


@dataclass(frozen=True, slots=True)
class Custody:
    """What the keeper keeps: the ledger, with the spending of `job`, which may be up to `limit_usd`; the gate and its vault."""

    ledger: Path
    job: str
    limit_usd: float | None
    privacy: Privacy = "off"
    vault: Path | None = None


@dataclass(frozen=True, slots=True)
class _Open:
    """A reservation that is not settled, and whose it is."""

    reservation: Reservation
    worker: int
    life: str


class Keeper:
    """An actor; its methods return the errors that are meant for the caller (`returns_errors`).

    A worker is known by its number and its `life`, which is another one after Ray has restarted it.
    """

    def __init__(self, custody: Custody, log_level: int) -> None:
        self._events = Events(log_level)
        self._lock = threading.Lock()
        self._open: dict[str, _Open] = {}
        self._lives: dict[int, str] = {}
        self._problem: DragGraphError | None = None
        self._interrupted = threading.Event()
        try:
            self._ledger = Ledger(custody.ledger)
            self._account = self._ledger.account(custody.job)
            self._budget = Budget(custody.limit_usd, self._account)
            self._gate = open_gate(custody.privacy, custody.vault)
        except DragGraphError as error:  # to be told by `check`, and not to end the process
            self._problem = error

    @returns_errors
    def check(self) -> None:
        """Raise what is wrong with the ledger."""
        self._check()

    def events(self) -> list[Event]:
        """Return what was logged since the last time."""
        return self._events.take()

    @returns_errors
    def announce(self, worker: int, life: str) -> bool:
        """Take note of a worker's (new) life, and return whether the run is to end.

        What the last life had reserved counts as spent, as nobody can know any more.
        """
        self._check()
        with self._lock:
            self._lives[worker] = life
            lost = {name: one for name, one in self._open.items() if one.worker == worker and one.life != life}
            for name in lost:
                del self._open[name]
        for one in lost.values():
            self._budget.settle(one.reservation, dollars(one.reservation.amount))
        if lost:
            log.event("a worker was lost with calls in flight", worker=worker, calls=len(lost))
        return self._interrupted.is_set()

    def interrupt(self) -> None:
        """Let no further call be made, by workers that Ray starts from now on neither."""
        self._interrupted.set()

    @returns_errors
    def check_outgoing(self, texts: Sequence[str]) -> None:
        """Look at what is about to leave a worker, whose node must not have the originals. Raises Withheld."""
        self._check()
        if self._gate is not None:
            self._gate.check_outgoing(texts)

    @returns_errors
    def find(self, model: str, request: TeacherRequest) -> TeacherReply | None:
        """See `Tape.find`."""
        self._check()
        return self._ledger.tape.find(model, request)

    @returns_errors
    def record(self, model: str, request: TeacherRequest, payload: Reply, attempts: Sequence[Attempt]) -> TeacherReply:
        """See `Tape.record`."""
        self._check()
        return self._ledger.tape.record(model, request, payload, attempts)

    @returns_errors
    def quarantine(self, model: str, request: TeacherRequest, error: ReplyError, attempts: Sequence[Attempt]) -> None:
        """See `Tape.quarantine`."""
        self._check()
        self._ledger.tape.quarantine(model, request, error, attempts)

    @returns_errors
    def reserve(self, worker: int, life: str, estimate_usd: float) -> RemoteReservation:
        """See `Budget.reserve`. It may wait for other calls, so it is called in a group of threads of its own.

        Raises Interrupted, too.
        """
        self._check()
        if self._interrupted.is_set():
            raise interrupted()
        reservation = self._budget.reserve(estimate_usd)
        token = RemoteReservation(uuid.uuid4().hex, reservation.key, reservation.amount)
        with self._lock:
            current = self._lives.setdefault(worker, life) == life
            wanted = current and not self._interrupted.is_set()
            if wanted:
                self._open[token.name] = _Open(reservation, worker, life)
        if not wanted:  # the worker was lost, or the run interrupted, while this waited: the call will not be made
            self._budget.settle(reservation)
            if current:
                raise interrupted()
            raise ModelUnavailable("this worker process was taken for lost and another has its place")
        return token

    @returns_errors
    def settle(self, token: RemoteReservation, actual_usd: float) -> None:
        """See `Budget.settle`; also for what an earlier keeper has reserved."""
        self._check()
        with self._lock:
            found = self._open.pop(token.name, None)
        if found is not None:
            self._budget.settle(found.reservation, actual_usd)
        elif token.key is None:
            self._budget.settle(self._budget.reserve(0.0), actual_usd)
        else:
            self._account.settle(token.key, token.amount, nanos(actual_usd))

    def _check(self) -> None:
        if self._problem is not None:
            raise self._problem
