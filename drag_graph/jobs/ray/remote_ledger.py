"""Stand-ins for the gate, the tape and the budget in a worker; the keeper answers their calls."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, cast

from drag_graph.errors import ReplyError
from drag_graph.jobs.ray.ray_messages import RemoteReservation, answer
from drag_graph.ledger.tape import Attempt
from drag_graph.ports.model_roles import TeacherReply, TeacherRequest
from drag_graph.ports.teacher_replies import Reply
from drag_graph.privacy.outgoing import texts_of


class RemoteGate:
    """Checks what leaves a worker. The check runs on the driver's machine, which has the originals."""

    def __init__(self, keeper: Any) -> None:
        self._keeper = keeper

    def __call__(self, call: Mapping[str, Any]) -> None:
        """See `Outgoing`."""
        answer(self._keeper.check_outgoing.remote(list(texts_of(call))))


class RemoteTape:
    """The methods of `Tape` that a teacher calls."""

    def __init__(self, keeper: Any) -> None:
        self._keeper = keeper

    def find(self, model: str, request: TeacherRequest) -> TeacherReply | None:
        """See `Tape.find`."""
        return cast("TeacherReply | None", answer(self._keeper.find.remote(model, request)))

    def record(self, model: str, request: TeacherRequest, payload: Reply, attempts: Sequence[Attempt]) -> TeacherReply:
        """See `Tape.record`. When it returns, the reply is on the disk of the driver's machine."""
        return cast("TeacherReply", answer(self._keeper.record.remote(model, request, payload, attempts)))

    def quarantine(self, model: str, request: TeacherRequest, error: ReplyError, attempts: Sequence[Attempt]) -> None:
        """See `Tape.quarantine`."""
        answer(self._keeper.quarantine.remote(model, request, error, attempts))


class RemoteBudget:
    """The methods of `Budget` that a teacher calls."""

    def __init__(self, keeper: Any, worker: int, life: str, limit_usd: float | None) -> None:
        self._keeper = keeper
        self._worker = worker
        self._life = life
        self.limited = limit_usd is not None and isfinite(limit_usd)

    def reserve(self, estimate_usd: float) -> RemoteReservation:
        """See `Budget.reserve`."""
        reserve = self._keeper.reserve.options(concurrency_group="reserving")
        return cast("RemoteReservation", answer(reserve.remote(self._worker, self._life, estimate_usd)))

    def settle(self, token: RemoteReservation, actual_usd: float = 0.0) -> None:
        """See `Budget.settle`."""
        answer(self._keeper.settle.remote(token, actual_usd))
