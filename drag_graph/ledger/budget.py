"""A limit in US dollars for all runs of a job, which concurrent calls never exceed together."""

import threading
from dataclasses import dataclass

from drag_graph.errors import BudgetReached
from drag_graph.ledger.ledger_file import LedgerFile
from drag_graph.ledger.spending import Account, Standing, dollars, nanos, nanos_of_limit


@dataclass(frozen=True, slots=True)
class Reservation:
    """The maximum cost of one call in flight, in nano-dollars. `key` is the account's; None if nothing had to be reserved."""

    amount: int
    key: int | None = None


class Budget:
    """`limit_usd` None or infinity means no limit. Thread-safe.

    A call reserves its maximum cost before it is sent and settles its actual cost afterwards. If only this process' own calls
    in flight prevent a reservation, `reserve` waits until one of them settles for less.

    The limit applies to the account's job. What earlier runs spent counts, and every open reservation counts in full, also
    that of a killed or a parallel run. Without a limit nothing is reserved, but spending is recorded for later runs.

    Every method raises StoreUnfit if the ledger cannot be used; reservations stay.
    """

    def __init__(self, limit_usd: float | None = None, account: Account | None = None) -> None:
        self._limit = None if limit_usd is None or limit_usd == float("inf") else nanos_of_limit(limit_usd)
        self._account = account or Account(LedgerFile(), "")
        self._spent_here = 0
        self._open: dict[int, int] = {}
        """Amounts of the calls of this process that are in flight, by key."""
        self._changed = threading.Condition()

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self._limit is not None

    @property
    def spent_usd(self) -> float:
        """Cost of the job's settled calls, including possible charges for lost replies."""
        return dollars(self._account.standing().settled)

    def reserve(self, estimate_usd: float) -> Reservation:
        """Reserve `estimate_usd`. Settle every reservation, whatever happens to the call.

        Raises BudgetReached if the call could exceed the limit even when this process has no other call in flight.
        """
        amount = nanos(estimate_usd)
        with self._changed:
            if self._limit is None or not amount:
                return Reservation(amount)
            key = self._reserve(amount, self._limit)
            self._open[key] = amount
        return Reservation(amount, key)

    def settle(self, reservation: Reservation, actual_usd: float = 0.0) -> None:
        """Replace a reservation by the call's actual cost; settling it again is not paid twice."""
        actual = nanos(actual_usd)
        with self._changed:
            if reservation.key is None:
                self._spent_here += actual
                if actual:
                    self._account.spend(actual)
                return
            # First, so that nobody waits for this call even if the file fails.
            if self._open.pop(reservation.key, None) is not None:
                self._spent_here += actual
                self._changed.notify_all()
            self._account.settle(reservation.key, reservation.amount, actual)

    def _reserve(self, amount: int, limit: int) -> int:
        while True:
            key, standing = self._account.reserve(amount, limit)
            if key is not None:
                return key
            in_flight = sum(self._open.values())
            if not Standing(standing.settled, standing.reserved - in_flight).fits(amount, limit):
                raise self._reached(amount, limit, standing.settled + standing.reserved - in_flight)
            self._changed.wait()

    def _reached(self, amount: int, limit: int, spent: int) -> BudgetReached:
        others = spent - self._spent_here
        share = f", {in_dollars(others)} of it by other runs of this job" if others > 0 else ""
        return BudgetReached(
            f"The next call may cost {in_dollars(amount)}, but {in_dollars(spent)} of the budget of {in_dollars(limit)} is "
            f"spent{share}.",
            hint="Finished work is kept. Run the same command again with a larger `budget_usd=LIMIT` to continue.",
        )


def in_dollars(amount: int) -> str:
    """Return an amount of nano-dollars in dollars, with at least two decimal places."""
    whole, _, places = f"{dollars(amount):.9f}".rstrip("0").partition(".")
    return f"${whole}.{places:0<2}"
