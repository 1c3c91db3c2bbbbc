"""What a worker has in place of the gate, the tape and the budget: the same methods, answered by the keeper."""

import math
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, cast

from drag_graph.errors import ReplyError
from drag_graph.jobs.ray.ray_messages import RemoteReservation, answer
from drag_graph.ledger.spending import nanos
from drag_graph.ledger.tape import Attempt
from drag_graph.ports.model_roles import TeacherReply, TeacherRequest
from drag_graph.ports.teacher_replies import Reply
from drag_graph.privacy.outgoing import texts_of


class RemoteGate:
    """Looks at what leaves a worker, on the driver's machine: there the originals are."""

    def __init__(self, keeper: Any) -> None:
        self._keeper = keeper

    def __call__(self, call: Mapping[str, Any]) -> None:
        """See `Outgoing`."""
        answer(self._keeper.check_outgoing.remote(list(texts_of(call))))


class RemoteTape:
    """The part of `Tape` that a teacher uses."""

    def __init__(self, keeper: Any) -> None:
        self._keeper = keeper

    def find(self, model: str, request: TeacherRequest) -> TeacherReply | None:
        """See `Tape.find`."""
        return cast("TeacherReply | None", answer(self._keeper.find.remote(model, request)))

    def record(self, model: str, request: TeacherRequest, payload: Reply, attempts: Sequence[Attempt]) -> TeacherReply:
        """See `Tape.record`: on the disk of the driver's machine when this returns."""
        return cast("TeacherReply", answer(self._keeper.record.remote(model, request, payload, attempts)))

    def quarantine(self, model: str, request: TeacherRequest, error: ReplyError, attempts: Sequence[Attempt]) -> None:
        """See `Tape.quarantine`."""
        answer(self._keeper.quarantine.remote(model, request, error, attempts))


class RemoteBudget:
    """The part of `Budget` that a teacher uses. Without a limit nothing is reserved, so nobody is asked before a call."""

    def __init__(self, keeper: Any, worker: int, life: str, limit_usd: float | None) -> None:
        self._keeper = keeper
        self._worker = worker
        self._life = life
        self._limited = limit_usd is not None and not math.isinf(limit_usd)

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self._limited

    def reserve(self, estimate_usd: float) -> RemoteReservation:
        """See `Budget.reserve`."""
        if not self._limited:
            return RemoteReservation(uuid.uuid4().hex, None, nanos(estimate_usd))
        reserve = self._keeper.reserve.options(concurrency_group="reserving")
        return cast("RemoteReservation", answer(reserve.remote(self._worker, self._life, estimate_usd)))

    def settle(self, token: RemoteReservation, actual_usd: float = 0.0) -> None:
        """See `Budget.settle`."""
        if self._limited or actual_usd:
            answer(self._keeper.settle.remote(token, actual_usd))
