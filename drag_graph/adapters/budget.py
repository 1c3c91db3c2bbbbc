"""A limit in US dollars that concurrent calls never pass together (design, promise 5)."""

import threading
from dataclasses import dataclass

from drag_graph.errors import BudgetReached

_CENT_DUST = 1e-12


@dataclass(eq=False, slots=True)
class Reservation:
    """What one call in flight may cost at most, in US dollars."""

    amount: float


class Budget:
    """`limit_usd` None is no limit. Thread-safe.

    A call reserves the most that it can cost before it is sent and settles for what it did cost. Where only the calls in
    flight stand in the way, `reserve` waits for one of them to settle for less.
    """

    def __init__(self, limit_usd: float | None = None) -> None:
        self._limit = limit_usd
        self._spent = 0.0
        self._open: set[Reservation] = set()
        self._changed = threading.Condition()

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self._limit is not None

    @property
    def spent_usd(self) -> float:
        """What the settled calls cost together, including what was possibly charged for replies that got lost."""
        with self._changed:
            return self._spent

    def reserve(self, estimate_usd: float) -> Reservation:
        """Set aside `estimate_usd`. Every reservation must be settled, whatever happens.

        Raises BudgetReached when it could pass the limit even with no other call in flight.
        """
        reservation = Reservation(max(estimate_usd, 0.0))
        with self._changed:
            while not self._fits(reservation.amount + sum(other.amount for other in self._open)):
                if not self._fits(reservation.amount):
                    raise BudgetReached(
                        f"the next call may cost ${reservation.amount:.4f}; ${self._spent:.4f} of the budget of "
                        f"${self._limit or 0.0:.4f} is spent",
                        hint="Finished work is kept: run the same command again with a larger --budget-usd to go on.",
                    )
                self._changed.wait()
            self._open.add(reservation)
        return reservation

    def settle(self, reservation: Reservation, actual_usd: float = 0.0) -> None:
        """Replace a reservation by what the call did cost; a second call for the same one changes nothing."""
        with self._changed:
            if reservation in self._open:
                self._open.remove(reservation)
                self._spent += max(actual_usd, 0.0)
                self._changed.notify_all()

    def _fits(self, more: float) -> bool:
        return self._limit is None or self._spent + more <= self._limit + _CENT_DUST
