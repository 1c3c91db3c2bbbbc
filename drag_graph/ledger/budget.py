"""Spending and reservations of a job, on disk so that a crash does not lose them, and its limit in US dollars.

A reservation is on disk before its call is sent, and settling replaces it by the call's cost. After a kill the reservation
stays and counts as spent, because nobody knows what its call was charged.

Amounts are whole nano-dollars: sums of floats drift, and rounding must not exceed a limit.
"""

import math
import secrets
import sqlite3
import threading
from dataclasses import dataclass

from drag_graph.errors import BudgetReached
from drag_graph.ledger.ledger_file import LedgerFile

_NANOS = 1_000_000_000
_MOST = 1 << 52
_SPENT = "SELECT COALESCE(SUM(nanos), 0) FROM spending WHERE job = ?"
RESERVED = "SELECT COALESCE(SUM(nanos), 0) FROM reservations WHERE job = ?"
SPEND = "INSERT INTO spending VALUES (?1, ?2) ON CONFLICT (job) DO UPDATE SET nanos = nanos + ?2"
RESERVE = "INSERT INTO reservations (id, job, batch, nanos) VALUES (?, ?, ?, ?)"


def nanos(usd: float) -> int:
    """Return US dollars as whole nano-dollars, rounded up, at least 0. NaN and infinity become the largest amount.

    Less than a thousandth of a nano-dollar is float noise and is dropped.
    """
    if not usd < _MOST / _NANOS:
        return _MOST
    return max(math.ceil(round(usd * _NANOS, 3)), 0)


def nanos_of_limit(usd: float) -> int:
    """Return a limit in whole nano-dollars, rounded down, at least 0."""
    return max(math.floor(round(usd * _NANOS, 3)), 0) if usd < _MOST / _NANOS else _MOST


def dollars(amount: int) -> float:
    """Return nano-dollars as US dollars."""
    return amount / _NANOS


@dataclass(frozen=True, slots=True)
class Standing:
    """Settled and reserved nano-dollars of a job, over all processes."""

    settled: int
    reserved: int

    def fits(self, amount: int, limit: int) -> bool:
        """Whether `amount` more stays within `limit`, even if every reserved call costs its maximum."""
        return self.settled + self.reserved + amount <= limit


def standing_of(rows: sqlite3.Connection, job: str) -> Standing:
    """Return a job's standing, within a transaction."""
    settled, reserved = (rows.execute(statement, (job,)).fetchone()[0] for statement in (_SPENT, RESERVED))
    return Standing(settled, reserved)


class Account:
    """The spending of one job in a ledger, in nano-dollars. Thread-safe, and safe next to other processes.

    The same command run again is the same job, and shares its budget.

    A reservation is on disk before `reserve` returns and survives a loss of power. Other changes survive a kill of the process.
    If a loss of power undoes a settlement, its reservation is back, which is never less.

    Every method raises StoreUnfit if the file cannot be used; reservations then stay.
    """

    def __init__(self, database: LedgerFile, job: str) -> None:
        self._database, self.job = database, job

    def reserve(self, amount: int, limit: int) -> tuple[int | None, Standing]:
        """Reserve `amount` if it fits; return its key, or None, and the standing before."""
        # One transaction: otherwise another process could reserve the same money in between.
        with self._database.writing(durable=True) as rows:
            standing = standing_of(rows, self.job)
            if not standing.fits(amount, limit):
                return None, standing
            key = secrets.randbits(62)  # not SQLite's row number, which is reused after a deletion
            rows.execute(RESERVE, (key, self.job, "", amount))
            return key, standing

    def settle(self, key: int, amount: int, actual: int) -> None:
        """Replace the reservation `key` of `amount` by `actual`. A repeated settlement is not paid twice."""
        with self._database.writing() as rows:
            deleted = rows.execute("DELETE FROM reservations WHERE id = ? AND job = ?", (key, self.job)).rowcount
            rows.execute(SPEND, (self.job, actual if deleted else max(actual - amount, 0)))

    def spend(self, actual: int) -> None:
        """Add spending that was not reserved."""
        with self._database.writing() as rows:
            rows.execute(SPEND, (self.job, actual))

    def standing(self) -> Standing:
        """Return the job's current standing."""
        with self._database.reading() as rows:
            return standing_of(rows, self.job)


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
