"""What is known about the batches of a job, kept so that a kill at any instant loses none, and the requests in them.

A batch's row, its requests' and the reservation of its money are written in one transaction before the provider hears of it;
what it cost and that it is collected, in another. The reservation bears the batch's token; it stays when the run
dies.
"""

import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from drag_graph.errors import StoreLocked
from drag_graph.ledger.ledger_file import LedgerFile
from drag_graph.ledger.spending import RESERVE, RESERVED, SPEND, Standing, dollars, nanos, standing_of
from drag_graph.ledger.tape import Attempt
from drag_graph.model import Query
from drag_graph.ports.model_roles import TeacherRequest
from drag_graph.ports.teacher_replies import REPLIES

NEW, SUBMITTED, COLLECTED, DONE = "new", "submitted", "collected", "done"
"""A batch is new until the provider's id for it is known; done when nothing needs to be remembered of it any more."""
_PAGE = 200
_ALL = (
    "SELECT token, batch_id, status, created_at, document FROM batches WHERE job = ? AND status <> ? ORDER BY created_at, token"
)
_REQUESTS = "SELECT id, key, request FROM batch_requests WHERE job = ? AND token = ? AND id > ? ORDER BY id LIMIT ?"


@dataclass(frozen=True, slots=True)
class QueuedRequest:
    """A request that goes, or has gone, into a batch: its number in the queue and its key."""

    id: int
    key: str
    request: TeacherRequest


@dataclass(slots=True)
class BatchRecord:
    """A batch. `by_schema` says how its replies' shape was asked for; the rest of the document is known when it is collected.

    `keys` are those of its requests; `direct` those whose reply was unusable, with what was said (None where nobody can tell);
    `missing` those that got none, because the batch ended as `reason` says. `booked_by` is the run in whose results its costs
    are; `used` are the keys whose costs are in the results of a run that ended before it could use all.
    """

    token: str
    created_at: datetime
    keys: list[str]
    by_schema: bool
    batch_id: str = ""
    status: str = NEW
    direct: dict[str, Attempt | None] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    reason: str = ""
    booked_by: str = ""
    used: list[str] = field(default_factory=list)

    def document(self) -> str:
        """Return the row's document."""
        names = ("keys", "by_schema", "missing", "reason", "booked_by", "used")
        return json.dumps({name: getattr(self, name) for name in names})


class BatchRecords:
    """The batches of one job, their requests, and what they cost. Thread-safe.

    It has the job's lock, so that no two runs of a job make and collect its batches at once: raises StoreLocked where another
    process has it. Every method raises StoreUnfit where the file cannot be used.
    """

    def __init__(self, database: LedgerFile, job: str, model: str) -> None:
        self._database, self._job, self._model = database, job, model
        self._lock_name = f"job-{job[:16]}"
        if not database.lock(self._lock_name):
            hint = "Let it finish, or stop it with Ctrl-C: this command then goes on with its batches."
            raise StoreLocked("another process waits for the batches of this very command", hint=hint)
        self.clear()  # what a kill has left

    def close(self) -> None:
        """Give the lock back; what was queued and not put into a batch is gone."""
        self.clear()
        self._database.unlock(self._lock_name)

    # ---- requests

    def queue(self, key: str, request: TeacherRequest) -> None:
        """Add a request to those of the next batch."""
        row = (self._job, key, request.source.id, _dumped(request))
        with self._database.writing() as rows:
            rows.execute("INSERT INTO batch_requests (job, key, source_id, request) VALUES (?, ?, ?, ?)", row)

    def clear(self) -> None:
        """Forget what is in no batch."""
        with self._database.writing() as rows:
            rows.execute("DELETE FROM batch_requests WHERE job = ? AND token = ''", (self._job,))

    def requests(self, token: str = "") -> Iterator[QueuedRequest]:
        """Yield the requests of a batch, in order; without a token, those that are in none yet."""
        after = -1
        while True:
            with self._database.reading() as rows:
                page = rows.execute(_REQUESTS, (self._job, token, after, _PAGE)).fetchall()
            for id_, key, document in page:
                yield QueuedRequest(id_, key, _request_of(document))
                after = id_
            if len(page) < _PAGE:
                return

    def has_requests(self, token: str) -> bool:
        """Return whether the requests of a batch are still kept."""
        return next(self.requests(token), None) is not None

    # ---- batches

    def all(self) -> list[BatchRecord]:
        """Return the job's batches but for those that are done, oldest first."""
        found = []
        with self._database.reading() as rows:
            for token, batch_id, status, created_at, document in rows.execute(_ALL, (self._job, DONE)).fetchall():
                known: dict[str, Any] = json.loads(document)
                made = datetime.fromisoformat(created_at)
                record = BatchRecord(token, made, batch_id=batch_id, status=status, **known)
                statement = "SELECT key, unusable FROM batch_requests WHERE job = ? AND token = ? AND unusable IS NOT NULL"
                for key, unusable in rows.execute(statement, (self._job, token)):
                    attempt = json.loads(unusable)
                    record.direct[key] = Attempt(**attempt) if attempt else None
                found.append(record)
        return found

    def add(
        self, queued: Sequence[QueuedRequest], by_schema: bool, amounts: Sequence[int], limit: int | None
    ) -> tuple[BatchRecord | None, Standing]:
        """Keep a new batch of the first of these requests, as many as may cost their `amounts` (nano-dollars) within `limit`.

        Returns it, or None where not even the first fits, and what stood before. It is on the disk when this returns.
        """
        with self._database.writing(durable=True) as rows:
            standing = standing_of(rows, self._job)
            number, total = _fitting(standing, amounts, limit)
            if not number:
                return None, standing
            record = BatchRecord(secrets.token_hex(16), datetime.now(UTC), [item.key for item in queued[:number]], by_schema)
            rows.execute(RESERVE, (secrets.randbits(62), self._job, record.token, total))
            row = (record.token, self._job, self._model, NEW, record.created_at.isoformat(), record.document())
            statement = "INSERT INTO batches (token, job, model, status, created_at, document) VALUES (?, ?, ?, ?, ?, ?)"
            rows.execute(statement, row)
            put = "UPDATE batch_requests SET token = ? WHERE job = ? AND token = '' AND id <= ?"
            rows.execute(put, (record.token, self._job, queued[number - 1].id))
            return record, standing

    def submitted(self, record: BatchRecord, batch_id: str) -> None:
        """Keep the provider's id."""
        record.batch_id, record.status = batch_id, SUBMITTED
        with self._database.writing() as rows:
            rows.execute("UPDATE batches SET batch_id = ?, status = ? WHERE token = ?", (batch_id, SUBMITTED, record.token))

    def close_batch(self, record: BatchRecord, cost_usd: float | None) -> float:
        """Keep that a batch is collected, and replace its reservation by what it cost: once, however often this is called.

        None is a cost that nobody knows: the batch is settled at all that was reserved. Returns the settled US dollars.
        """
        record.status = COLLECTED
        owned = (self._job, record.token)
        with self._database.writing() as rows:
            (reserved,) = rows.execute(f"{RESERVED} AND batch = ?", owned).fetchone()
            amount = reserved if cost_usd is None else nanos(cost_usd)
            gone = rows.execute("DELETE FROM reservations WHERE job = ? AND batch = ?", owned).rowcount
            if gone:
                rows.execute(SPEND, (self._job, amount))
            statement = "UPDATE batches SET status = ?, document = ? WHERE token = ?"
            rows.execute(statement, (COLLECTED, record.document(), record.token))
            for key, attempt in record.direct.items():
                said = json.dumps(attempt and asdict(attempt))
                rows.execute(
                    "UPDATE batch_requests SET unusable = ? WHERE job = ? AND token = ? AND key = ?", (said, *owned, key)
                )
            rows.execute("DELETE FROM batch_requests WHERE job = ? AND token = ? AND unusable IS NULL", owned)
        return dollars(amount)

    def book(self, records: Sequence[BatchRecord]) -> None:
        """Keep in whose results the costs of these batches are."""
        with self._database.writing() as rows:
            for record in records:
                rows.execute("UPDATE batches SET document = ? WHERE token = ?", (record.document(), record.token))

    def forget(self) -> None:
        """Keep of the collected batches only that they were: a later run of the job begins anew."""
        with self._database.writing() as rows:
            gone = "DELETE FROM batch_requests WHERE token IN (SELECT token FROM batches WHERE job = ? AND status = ?)"
            rows.execute(gone, (self._job, COLLECTED))
            statement = "UPDATE batches SET status = ?, document = '{}' WHERE job = ? AND status = ?"
            rows.execute(statement, (DONE, self._job, COLLECTED))


def give_up(database: LedgerFile, batch_id: str) -> int:
    """Forget the requests of a batch whose replies cannot be had, and return how many these were.

    The next run of its job then counts it as paid in full and asks its requests again.
    """
    with database.writing() as rows:
        statement = "DELETE FROM batch_requests WHERE token IN (SELECT token FROM batches WHERE batch_id = ? AND status = ?)"
        return rows.execute(statement, (batch_id, SUBMITTED)).rowcount


def _fitting(standing: Standing, amounts: Sequence[int], limit: int | None) -> tuple[int, int]:
    """Return how many of the amounts, from the first on, fit together, and their sum."""
    total = 0
    for number, amount in enumerate(amounts):
        if limit is not None and not standing.fits(total + amount, limit):
            return number, total
        total += amount
    return len(amounts), total


def _dumped(request: TeacherRequest) -> str:
    document = asdict(
        request, dict_factory=lambda pairs: {name: value for name, value in pairs if name not in {"source", "schema"}}
    )
    return json.dumps({**document, "query": request.query.model_dump(mode="json"), "schema": request.schema.schema_name})


def _request_of(text: str) -> TeacherRequest:
    document = json.loads(text)
    tuples = {name: tuple(document[name]) for name in ("messages", "simpler", "texts")}
    query, schema = Query.model_validate(document.pop("query")), REPLIES[document["schema"]]
    return TeacherRequest(**{**document, **tuples, "source": query, "schema": schema})
