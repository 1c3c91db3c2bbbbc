"""A limit in US dollars that concurrent calls never pass together, nor a job's runs one after another."""

import threading
from dataclasses import dataclass

from drag_graph.errors import BudgetReached
from drag_graph.ledger.spending import Account, Standing, dollars, nanos, nanos_of_limit
from drag_graph.ledger.sqlite_file import Database

_SMALL = 100_000
"""Nano-dollars below which four places of a dollar say nothing."""


@dataclass(eq=False, slots=True)
class Reservation:
    """What one call in flight may cost at most, in nano-dollars. `key` is the account's, or None where none was needed."""

    amount: int
    key: int | None = None


class Budget:
    """`limit_usd` None (or infinity) is no limit. Thread-safe.

    A call reserves the most that it can cost before it is sent and settles for what it did cost. Where only the calls in
    flight here stand in the way, `reserve` waits for one of them to settle for less.

    The limit is that of the account's job: what earlier runs spent counts, and so does, in full, what others
    have reserved, be it a run that was killed or one that runs beside this. Without a limit nothing is reserved; what
    was spent is recorded all the same, for a later run of the job that has one. The methods then raise StoreUnfit, too, where
    the ledger cannot be used; no reservation is lost by that.
    """

    def __init__(self, limit_usd: float | None = None, account: Account | None = None) -> None:
        self._limit = None if limit_usd is None or limit_usd == float("inf") else nanos_of_limit(limit_usd)
        self._account = account or Account(Database(), "")
        self._spent_here = 0
        self._open: set[Reservation] = set()
        self._changed = threading.Condition()
        at_first = self._account.standing()
        self._before = at_first.settled + at_first.reserved

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self._limit is not None

    @property
    def spent_usd(self) -> float:
        """What the settled calls of the job cost together, including what was possibly charged for replies that got lost."""
        return dollars(self._account.standing().settled)

    def reserve(self, estimate_usd: float) -> Reservation:
        """Set aside `estimate_usd`. Every reservation must be settled, whatever happens.

        Raises BudgetReached when it could pass the limit even with no other call in flight here.
        """
        reservation = Reservation(nanos(estimate_usd))
        with self._changed:
            if self._limit is not None and reservation.amount:
                reservation.key = self._reserve(reservation.amount, self._limit)
            self._open.add(reservation)
        return reservation

    def settle(self, reservation: Reservation, actual_usd: float = 0.0) -> None:
        """Replace a reservation by what the call did cost; a second call for the same one changes nothing."""
        actual = nanos(actual_usd)
        with self._changed:
            if reservation not in self._open:
                return
            # First of all: whatever becomes of the file, nobody may wait for this call any more.
            self._open.remove(reservation)
            self._spent_here += actual
            self._changed.notify_all()
            if reservation.key is not None:
                self._account.settle(reservation.key, reservation.amount, actual)
            elif actual:
                self._account.spend(actual)

    def _reserve(self, amount: int, limit: int) -> int:
        while True:
            key, standing = self._account.reserve(amount, limit)
            if key is not None:
                return key
            in_flight = sum(other.amount for other in self._open if other.key is not None)
            if not Standing(standing.settled, standing.reserved - in_flight).fits(amount, limit):
                raise self._reached(amount, limit, standing.settled + standing.reserved - in_flight)
            self._changed.wait()

    def _reached(self, amount: int, limit: int, spent: int) -> BudgetReached:
        others = spent - self._spent_here
        # More than there was at first: another run of the job is spending now.
        which = "earlier" if others <= self._before else "other"
        by_others = f", {shown(others)} of it by {which} runs of this job" if others > 0 else ""
        return BudgetReached(
            f"the next call may cost {shown(amount)}; {shown(spent)} of the budget of {shown(limit)} is spent{by_others}",
            hint="Finished work is kept: run the same command again with a larger --budget-usd to go on.",
        )


def shown(amount: int) -> str:
    """Return an amount for people: small ones with more places."""
    usd = dollars(amount)
    if 0 < amount < _SMALL:
        return f"${usd:.9f}".rstrip("0")
    return f"${usd:.2f}" if usd >= 1 else f"${usd:.4f}"
