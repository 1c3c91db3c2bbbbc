"""What a job has spent and may be spending, kept where a crash cannot forget it.

A reservation is a row that is on disk before its call is sent; settling replaces it by what the call cost. So the row of a
run that was killed stays and counts as spent: nobody can know any more what its call was charged.

Money is counted in whole nano-dollars: sums of floats drift, and a limit may not be passed by a rounding either.
"""

import math
import secrets
import sqlite3
from dataclasses import dataclass

from drag_graph.ledger.sqlite_file import Database

_NANOS = 1_000_000_000
_MOST = 1 << 52
_SPENT = "SELECT COALESCE(SUM(nanos), 0) FROM spending WHERE job = ?"
RESERVED = "SELECT COALESCE(SUM(nanos), 0) FROM reservations WHERE job = ?"
SPEND = "INSERT INTO spending VALUES (?1, ?2) ON CONFLICT (job) DO UPDATE SET nanos = nanos + ?2"
RESERVE = "INSERT INTO reservations (id, job, batch, nanos) VALUES (?, ?, ?, ?)"


def nanos(usd: float) -> int:
    """Return US dollars as whole nano-dollars, rounded up, at least 0; what is no number is the most that there is.

    Less than a thousandth of a nano-dollar is taken for the dust of float arithmetic and dropped.
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
    """Where a job stands, in nano-dollars: what is settled, and what is reserved by anybody."""

    settled: int
    reserved: int

    def fits(self, amount: int, limit: int) -> bool:
        """Whether `amount` more stays within `limit`, whatever the reserved calls cost in the end."""
        return self.settled + self.reserved + amount <= limit


def standing_of(rows: sqlite3.Connection, job: str) -> Standing:
    """Return where a job stands, within a transaction."""
    settled, reserved = (rows.execute(statement, (job,)).fetchone()[0] for statement in (_SPENT, RESERVED))
    return Standing(settled, reserved)


class Account:
    """The spending of one job in a ledger. Amounts are in nano-dollars. Thread-safe, and safe beside other processes.

    `job` names what is paid for together: the same command again is the same job.

    A reservation is on the disk before `reserve` returns, so that a loss of power cannot forget it. The other changes survive
    a kill of the process; when a loss of power undoes a settling, its reservation is back, which is never less.

    Every method raises StoreUnfit, in words, where the file cannot be used; what was reserved then stays reserved.
    """

    def __init__(self, database: Database, job: str) -> None:
        self._database, self.job = database, job

    def reserve(self, amount: int, limit: int) -> tuple[int | None, Standing]:
        """Set `amount` aside where it fits, in one step; return its key, or None, and what stood before."""
        # Looked at and written in one transaction: in between, another process could reserve the same money.
        with self._database.writing(durable=True) as rows:
            standing = self._standing(rows)
            if not standing.fits(amount, limit):
                return None, standing
            # SQLite gives the number of a deleted row again; by then it could be another's.
            key = secrets.randbits(62)
            rows.execute(RESERVE, (key, self.job, "", amount))
            return key, standing

    def settle(self, key: int, amount: int, actual: int) -> None:
        """Replace the reservation `key` of `amount` by `actual`."""
        with self._database.writing() as rows:
            found = rows.execute("DELETE FROM reservations WHERE id = ? AND job = ?", (key, self.job)).rowcount
            # Where it is gone, it has been settled before: a call to the ledger may be repeated, and is not paid twice.
            rows.execute(SPEND, (self.job, actual if found else max(actual - amount, 0)))

    def spend(self, actual: int) -> None:
        """Add what was spent without a reservation."""
        with self._database.writing() as rows:
            rows.execute(SPEND, (self.job, actual))

    def standing(self) -> Standing:
        """Return where the job stands now."""
        with self._database.reading() as rows:
            return self._standing(rows)

    def _standing(self, rows: sqlite3.Connection) -> Standing:
        return standing_of(rows, self.job)
