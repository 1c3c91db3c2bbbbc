"""The batches of a job and their requests, recorded so that a kill at any moment loses none.

One transaction writes a batch, its requests and its reservation before the batch is submitted. Another one writes its cost
and that it is collected. The reservation has the batch's token and survives a kill of the run.
"""

import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

from drag_graph.errors import StoreLocked
from drag_graph.ledger.budget import RESERVE, RESERVED, SPEND, Standing, dollars, nanos, standing_of
from drag_graph.ledger.ledger_file import LedgerFile
from drag_graph.ledger.tape import Attempt
from drag_graph.model import Query
from drag_graph.ports.model_roles import TeacherRequest
from drag_graph.ports.teacher_replies import REPLIES

NEW, SUBMITTED, COLLECTED, DONE = "new", "submitted", "collected", "done"
"""A batch is new until its id at the provider is known, and done when its content is no longer needed."""
_PAGE = 200
_ALL = (
    "SELECT token, batch_id, status, created_at, document FROM batches WHERE job = ? AND status <> ? ORDER BY created_at, token"
)
_REQUESTS = "SELECT id, key, request FROM batch_requests WHERE job = ? AND token = ? AND id > ? ORDER BY id LIMIT ?"


@dataclass(frozen=True, slots=True)
class QueuedRequest:
    """A request of a batch, with its number in the queue and its key."""

    id: int
    key: str
    request: TeacherRequest


@dataclass(slots=True)
class BatchRecord:
    """A batch and the `keys` of its requests. `by_schema` tells how the form of the replies was requested.

    `direct` has the keys of unusable replies, with the attempt if it is known; `missing` has the keys without reply, because
    the batch ended for `reason`. `booked_by` is the run whose results include the cost. If a run ended early, `used` has the
    keys whose cost its results include.
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
        """Return the JSON document of the row."""
        names = ("keys", "by_schema", "missing", "reason", "booked_by", "used")
        return json.dumps({name: getattr(self, name) for name in names})


class BatchRecords:
    """The batches of one job, their requests and their cost. Thread-safe.

    Holds the job's lock, so that only one run at a time submits and collects its batches. Raises StoreLocked if another process
    holds it. Every method raises StoreUnfit if the file cannot be used.
    """

    def __init__(self, database: LedgerFile, job: str, model: str) -> None:
        self._database, self._job, self._model = database, job, model
        self._lock_name = f"job-{job[:16]}"
        if not database.lock(self._lock_name):
            hint = "Let it finish, or stop it with Ctrl-C. This command then continues with its batches."
            raise StoreLocked("Another process waits for the batches of the same command.", hint=hint)
        self.clear()  # requests that a killed run left

    def close(self) -> None:
        """Release the lock and delete the requests that are in no batch."""
        self.clear()
        self._database.unlock(self._lock_name)

    # ---- requests

    def queue(self, key: str, request: TeacherRequest) -> None:
        """Add a request to the next batch."""
        row = (self._job, key, request.source.id, _dumped(request))
        with self._database.writing() as rows:
            rows.execute("INSERT INTO batch_requests (job, key, source_id, request) VALUES (?, ?, ?, ?)", row)

    def clear(self) -> None:
        """Delete the requests that are in no batch."""
        with self._database.writing() as rows:
            rows.execute("DELETE FROM batch_requests WHERE job = ? AND token = ''", (self._job,))

    def requests(self, token: str = "") -> Iterator[QueuedRequest]:
        """Yield the requests of a batch in order; without a token, those that are in no batch yet."""
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
        """Return whether the requests of a batch are still recorded."""
        return next(self.requests(token), None) is not None

    # ---- batches

    def all(self) -> list[BatchRecord]:
        """Return the job's batches that are not done, oldest first."""
        records = []
        with self._database.reading() as rows:
            for token, batch_id, status, created_at, document in rows.execute(_ALL, (self._job, DONE)).fetchall():
                values: dict[str, Any] = json.loads(document)
                record = BatchRecord(token, datetime.fromisoformat(created_at), batch_id=batch_id, status=status, **values)
                statement = "SELECT key, unusable FROM batch_requests WHERE job = ? AND token = ? AND unusable IS NOT NULL"
                for key, unusable in rows.execute(statement, (self._job, token)):
                    attempt = json.loads(unusable)
                    record.direct[key] = Attempt(**attempt) if attempt else None
                records.append(record)
        return records

    def add(
        self, queued: Sequence[QueuedRequest], by_schema: bool, amounts: Sequence[int], limit: int | None
    ) -> tuple[BatchRecord | None, Standing]:
        """Record a new batch of the first requests whose maximum costs, `amounts` in nano-dollars, fit into `limit`.

        Returns the batch, or None if not even the first request fits, and the standing before. The batch is then on disk.
        """
        with self._database.writing(durable=True) as rows:
            standing = standing_of(rows, self._job)
            totals = [total for total in accumulate(amounts) if limit is None or standing.fits(total, limit)]
            if not totals:
                return None, standing
            number = len(totals)
            record = BatchRecord(secrets.token_hex(16), datetime.now(UTC), [item.key for item in queued[:number]], by_schema)
            rows.execute(RESERVE, (secrets.randbits(62), self._job, record.token, totals[-1]))
            row = (record.token, self._job, self._model, NEW, record.created_at.isoformat(), record.document())
            statement = "INSERT INTO batches (token, job, model, status, created_at, document) VALUES (?, ?, ?, ?, ?, ?)"
            rows.execute(statement, row)
            assign = "UPDATE batch_requests SET token = ? WHERE job = ? AND token = '' AND id <= ?"
            rows.execute(assign, (record.token, self._job, queued[number - 1].id))
            return record, standing

    def submitted(self, record: BatchRecord, batch_id: str) -> None:
        """Record the provider's id."""
        record.batch_id, record.status = batch_id, SUBMITTED
        with self._database.writing() as rows:
            rows.execute("UPDATE batches SET batch_id = ?, status = ? WHERE token = ?", (batch_id, SUBMITTED, record.token))

    def close_batch(self, record: BatchRecord, cost_usd: float | None) -> float:
        """Record that a batch is collected, and replace its reservation by its cost. Repeated calls settle only once.

        If the cost is None (unknown), the whole reservation counts. Returns the settled US dollars.
        """
        record.status = COLLECTED
        owned = (self._job, record.token)
        with self._database.writing() as rows:
            (reserved,) = rows.execute(f"{RESERVED} AND batch = ?", owned).fetchone()
            amount = reserved if cost_usd is None else nanos(cost_usd)
            if rows.execute("DELETE FROM reservations WHERE job = ? AND batch = ?", owned).rowcount:
                rows.execute(SPEND, (self._job, amount))
            statement = "UPDATE batches SET status = ?, document = ? WHERE token = ?"
            rows.execute(statement, (COLLECTED, record.document(), record.token))
            for key, attempt in record.direct.items():
                statement = "UPDATE batch_requests SET unusable = ? WHERE job = ? AND token = ? AND key = ?"
                rows.execute(statement, (json.dumps(attempt and asdict(attempt)), *owned, key))
            rows.execute("DELETE FROM batch_requests WHERE job = ? AND token = ? AND unusable IS NULL", owned)
        return dollars(amount)

    def book(self, records: Sequence[BatchRecord]) -> None:
        """Record which run's results include the cost of each batch."""
        with self._database.writing() as rows:
            for record in records:
                rows.execute("UPDATE batches SET document = ? WHERE token = ?", (record.document(), record.token))

    def forget(self) -> None:
        """Delete the content of the collected batches, so that a later run of the job starts afresh."""
        with self._database.writing() as rows:
            delete = "DELETE FROM batch_requests WHERE token IN (SELECT token FROM batches WHERE job = ? AND status = ?)"
            rows.execute(delete, (self._job, COLLECTED))
            statement = "UPDATE batches SET status = ?, document = '{}' WHERE job = ? AND status = ?"
            rows.execute(statement, (DONE, self._job, COLLECTED))


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
