"""Spending and reservations of a job, on disk so that a crash does not lose them.

A reservation is on disk before its call is sent, and settling replaces it by the call's cost. After a kill the reservation
stays and counts as spent, because nobody knows what its call was charged.

Amounts are whole nano-dollars: sums of floats drift, and rounding must not exceed a limit.
"""

import math
import secrets
import sqlite3
from dataclasses import dataclass

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
