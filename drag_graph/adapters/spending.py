"""What a job has spent and may be spending, kept where a crash cannot forget it (design, section 8, promise 5).

A reservation is a row that is on disk before its call is sent; settling replaces it by what the call cost. So the row of a
run that was killed stays and counts as spent: nobody can know any more what its call was charged.

Money is counted in whole nano-dollars: sums of floats drift, and a limit may not be passed by a rounding either.
"""

import math
import secrets
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from drag_graph.adapters.runs_database import connect, in_words, writing

_NANOS = 1_000_000_000
_MOST = 1 << 52
"""Up to here (4.5 million dollars) a whole number of nano-dollars survives being kept as a float of dollars."""

_SPENT = "SELECT CAST(ROUND(spent_usd * 1e9) AS INTEGER) FROM spending WHERE job = ?"
_RESERVED = "SELECT COALESCE(SUM(CAST(ROUND(amount_usd * 1e9) AS INTEGER)), 0) FROM reservations WHERE job = ?"
SPEND = """
INSERT INTO spending (job, spent_usd) VALUES (?1, ?2 / 1e9)
ON CONFLICT (job) DO UPDATE SET spent_usd = (ROUND(spent_usd * 1e9) + ?2) / 1e9
"""


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


class Account(Protocol):
    """Where a `Budget` keeps its sums: a `Ledger`, or the memory of the process. Amounts are in nano-dollars."""

    def reserve(self, amount: int, limit: int) -> tuple[int | None, Standing]:
        """Set `amount` aside where it fits, in one step; return its key, or None, and what stood before."""

    def settle(self, key: int, amount: int, actual: int) -> None:
        """Replace the reservation `key` of `amount` by `actual`."""

    def spend(self, actual: int) -> None:
        """Add what was spent without a reservation."""

    def abandon(self, owner: str) -> int:
        """Settle all that `owner` has reserved at its full amount; return that."""

    def standing(self) -> Standing:
        """Return where the job stands now."""

    def close(self) -> None:
        """Release files."""


class Ledger:
    """The spending of one job in the journal of runs at `path` (None: a file of its own that goes with it).

    `job` names what is paid for together: the same command again is the same job. `owner` names who reserves, so that what a
    dead one had open can be told from the rest. Several processes may keep one job at once. Thread-safe.

    A reservation is on the disk before `reserve` returns, so that a loss of power cannot forget it. The other changes survive
    a kill of the process; when a loss of power undoes a settling, its reservation is back, which is never less.

    Every method raises StoreUnfit, in words, where the file cannot be used; what was reserved then stays reserved.
    """

    def __init__(self, path: Path | None, job: str, owner: str) -> None:
        self.path, self.job, self.owner = path, job, owner
        self._connection = connect(path)
        self._lock = threading.Lock()

    def reserve(self, amount: int, limit: int) -> tuple[int | None, Standing]:
        with self._lock, in_words(self.path):
            self._connection.execute("PRAGMA synchronous = FULL")
            try:
                return self._reserve(amount, limit)
            finally:
                self._connection.execute("PRAGMA synchronous = NORMAL")

    def settle(self, key: int, amount: int, actual: int) -> None:
        with self._lock, in_words(self.path), writing(self._connection):
            found = self._connection.execute("DELETE FROM reservations WHERE id = ? AND job = ?", (key, self.job)).rowcount
            # Where it is gone, somebody took this owner for dead and settled it in full.
            self._connection.execute(SPEND, (self.job, actual if found else max(actual - amount, 0)))

    def spend(self, actual: int) -> None:
        with self._lock, in_words(self.path):
            self._connection.execute(SPEND, (self.job, actual))

    def abandon(self, owner: str) -> int:
        with self._lock, in_words(self.path), writing(self._connection):
            (amount,) = self._connection.execute(f"{_RESERVED} AND owner = ?", (self.job, owner)).fetchone()
            self._connection.execute("DELETE FROM reservations WHERE job = ? AND owner = ?", (self.job, owner))
            if amount:
                self._connection.execute(SPEND, (self.job, amount))
            return int(amount)

    def standing(self) -> Standing:
        with self._lock, in_words(self.path):
            self._connection.execute("BEGIN")  # both sums of one moment
            try:
                return self._standing()
            finally:
                self._connection.execute("COMMIT")

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _reserve(self, amount: int, limit: int) -> tuple[int | None, Standing]:
        # Looked at and written in one transaction: in between, another process could reserve the same money.
        with writing(self._connection):
            standing = self._standing()
            if not standing.fits(amount, limit):
                return None, standing
            # SQLite gives the number of a deleted row again; by then it could be another owner's.
            key = secrets.randbits(62)
            statement = "INSERT INTO reservations (id, job, owner, amount_usd) VALUES (?, ?, ?, ? / 1e9)"
            self._connection.execute(statement, (key, self.job, self.owner, amount))
            return key, standing

    def _standing(self) -> Standing:
        settled = self._connection.execute(_SPENT, (self.job,)).fetchone()
        (reserved,) = self._connection.execute(_RESERVED, (self.job,)).fetchone()
        return Standing(settled[0] if settled else 0, reserved)
