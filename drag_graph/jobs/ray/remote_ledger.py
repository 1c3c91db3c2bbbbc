"""Stand-ins for the gate, the tape and the budget in a worker; the keeper answers their calls."""

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, cast

from drag_graph.jobs.ray.ray_messages import answer
from drag_graph.ledger.budget import Reservation
from drag_graph.privacy.outgoing import texts_of


class RemoteGate:
    """Checks what leaves a worker. The check runs on the driver's machine, which has the originals."""

    def __init__(self, keeper: Any) -> None:
        self._keeper = keeper

    def __call__(self, call: Mapping[str, Any]) -> None:
        """See `Outgoing`."""
        answer(self._keeper.outgoing.remote(list(texts_of(call))))


class RemoteTape:
    """The methods of `Tape`. When `record` returns, the reply is on the disk of the driver's machine."""

    def __init__(self, keeper: Any) -> None:
        self._keeper = keeper

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return lambda *arguments: answer(self._keeper.tape.remote(method, *arguments))


class RemoteBudget:
    """The methods of `Budget` that a teacher calls."""

    def __init__(self, keeper: Any, worker: int, life: str, limit_usd: float | None) -> None:
        self._keeper = keeper
        self._worker = worker
        self._life = life
        self.limited = limit_usd is not None and isfinite(limit_usd)

    def reserve(self, estimate_usd: float) -> Reservation:
        """See `Budget.reserve`."""
        reserve = self._keeper.reserve.options(concurrency_group="reserving")
        return cast("Reservation", answer(reserve.remote(self._worker, self._life, estimate_usd)))

    def settle(self, reservation: Reservation, actual_usd: float = 0.0) -> None:
        """See `Budget.settle`."""
        answer(self._keeper.settle.remote(reservation, actual_usd))
