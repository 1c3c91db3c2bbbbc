"""What is known about the batches of a job, in the journal of runs: kept so that a kill at any instant loses none.

A batch's row and the reservation of its money are written in one transaction before the provider hears of it; what it cost and
that it is collected, in another. The reservation bears the batch's token instead of a run's id: it stays when the run dies.
"""

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from drag_graph.adapters.litellm_teacher import Level
from drag_graph.adapters.runs_database import in_words, writing
from drag_graph.adapters.spending import SPEND, Ledger, Standing, dollars, nanos

NEW, SUBMITTED, COLLECTED, DONE = "new", "submitted", "collected", "done"
"""A batch is new until the provider's id for it is known; done when nothing needs to be remembered of it any more."""
_RESERVE = "INSERT INTO reservations (id, job, owner, amount_usd) VALUES (?, ?, ?, ? / 1e9)"
_RESERVED = "SELECT COALESCE(SUM(CAST(ROUND(amount_usd * 1e9) AS INTEGER)), 0) FROM reservations WHERE job = ? AND owner = ?"
_ADD = "INSERT INTO batches (token, job, model, status, created_at, document) VALUES (?, ?, ?, ?, ?, ?)"
_ALL = """
SELECT token, batch_id, status, created_at, document FROM batches WHERE job = ? AND status <> ? ORDER BY created_at, token
"""


@dataclass(slots=True)
class BatchRecord:
    """A batch. `level` says how its replies' shape was asked for; the rest of the document is known when it is collected.

    `keys` are those of its requests; `direct` those whose reply was unusable, with what it took (tokens in, tokens out, US
    dollars); `missing` those that got none, because the batch ended as `reason` says. `booked_by` is the run in whose results
    its costs are; `used` are the keys whose costs are in the results of a run that ended before it could use all.
    """

    token: str
    created_at: datetime
    keys: list[str]
    level: Level
    batch_id: str = ""
    status: str = NEW
    direct: dict[str, list[float]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    reason: str = ""
    booked_by: str = ""
    used: list[str] = field(default_factory=list)

    def document(self) -> str:
        """Return the row's document."""
        names = ("keys", "level", "direct", "missing", "reason", "booked_by", "used")
        return json.dumps({name: getattr(self, name) for name in names})


class BatchRecords(Ledger):
    """The batches of one job, and what they cost. Every method raises StoreUnfit where the file cannot be used."""

    def __init__(self, path: Path | None, job: str, model: str) -> None:
        super().__init__(path, job, owner="")
        self._model = model

    def all(self) -> list[BatchRecord]:
        """Return the job's batches but for those that are done, oldest first."""
        with self._lock, in_words(self.path):
            rows = self._connection.execute(_ALL, (self.job, DONE)).fetchall()
        found = []
        for token, batch_id, status, created_at, document in rows:
            known: dict[str, Any] = json.loads(document)
            found.append(BatchRecord(token, datetime.fromisoformat(created_at), batch_id=batch_id, status=status, **known))
        return found

    def add(
        self, token: str, keys: Sequence[str], level: Level, amounts: Sequence[int], limit: int | None
    ) -> tuple[BatchRecord | None, Standing]:
        """Keep a new batch of the first requests, as many as may cost their `amounts` (nano-dollars) within `limit`.

        Returns it, or None where not even the first fits, and what stood before. It is on the disk when this returns.
        """
        with self._lock, in_words(self.path):
            self._connection.execute("PRAGMA synchronous = FULL")
            try:
                with writing(self._connection):
                    standing = self._standing()
                    number, total = _fitting(standing, amounts, limit)
                    if not number:
                        return None, standing
                    record = BatchRecord(token, datetime.now(UTC), list(keys[:number]), level)
                    self._connection.execute(_RESERVE, (secrets.randbits(62), self.job, token, total))
                    made = record.created_at.isoformat()
                    self._connection.execute(_ADD, (token, self.job, self._model, NEW, made, record.document()))
                    return record, standing
            finally:
                self._connection.execute("PRAGMA synchronous = NORMAL")

    def submitted(self, record: BatchRecord, batch_id: str) -> None:
        """Keep the provider's id."""
        record.batch_id, record.status = batch_id, SUBMITTED
        with self._lock, in_words(self.path), writing(self._connection):
            statement = "UPDATE batches SET batch_id = ?, status = ? WHERE token = ?"
            self._connection.execute(statement, (batch_id, SUBMITTED, record.token))

    def close_batch(self, record: BatchRecord, cost_usd: float | None) -> float:
        """Keep that a batch is collected, and replace its reservation by what it cost: once, however often this is called.

        None is a cost that nobody knows: the batch is settled at all that was reserved. Returns the settled US dollars.
        """
        record.status = COLLECTED
        with self._lock, in_words(self.path), writing(self._connection):
            owned = (self.job, record.token)
            (reserved,) = self._connection.execute(_RESERVED, owned).fetchone()
            amount = reserved if cost_usd is None else nanos(cost_usd)
            gone = self._connection.execute("DELETE FROM reservations WHERE job = ? AND owner = ?", owned).rowcount
            if gone:
                self._connection.execute(SPEND, (self.job, amount))
            statement = "UPDATE batches SET status = ?, document = ? WHERE token = ?"
            self._connection.execute(statement, (COLLECTED, record.document(), record.token))
        return dollars(amount)

    def book(self, records: Sequence[BatchRecord]) -> None:
        """Keep in whose results the costs of these batches are."""
        with self._lock, in_words(self.path), writing(self._connection):
            for record in records:
                statement = "UPDATE batches SET document = ? WHERE token = ?"
                self._connection.execute(statement, (record.document(), record.token))

    def forget(self) -> None:
        """Keep of the collected batches only that they were: a later run of the job begins anew."""
        statement = "UPDATE batches SET status = ?, document = '{}' WHERE job = ? AND status = ?"
        with self._lock, in_words(self.path), writing(self._connection):
            self._connection.execute(statement, (DONE, self.job, COLLECTED))


def _fitting(standing: Standing, amounts: Sequence[int], limit: int | None) -> tuple[int, int]:
    """Return how many of the amounts, from the first on, fit together, and their sum."""
    total = 0
    for number, amount in enumerate(amounts):
        if limit is not None and not standing.fits(total + amount, limit):
            return number, total
        total += amount
    return len(amounts), total
