"""The jobs of the service on disk, so that they survive a kill of the process."""

import json
import shutil
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from drag_graph.errors import NotStored
from drag_graph.ledger.budget import dollars, nanos
from drag_graph.ledger.sqlite_file import SqliteFile
from drag_graph.service.keys import SERVICE

JobKind = Literal["distill", "ingest", "link", "refresh", "export"]
JobState = Literal["queued", "running", "done", "failed", "cancelled"]
STATES: tuple[JobState, ...] = ("queued", "running", "done", "failed", "cancelled")
_COLUMNS = (
    *("id", "kind", "namespace", "caller", "request", "state", "created_at", "started_at", "finished_at"),
    *("progress", "error", "spent", "is_cancelled"),
)
_READ = f"SELECT {', '.join(_COLUMNS)} FROM jobs"  # noqa: S608 - names of columns, no values
_CHARGE = """
UPDATE keys SET spent = spent + ?1 - (SELECT spent FROM jobs WHERE id = ?2) WHERE name = (SELECT caller FROM jobs WHERE id = ?2)
"""


@dataclass(frozen=True, slots=True)
class ServiceJob:
    """A job without its report. Times are UTC, ISO 8601, or ''. `caller` is the name of the key.

    `progress` has the fields of `RunProgress`, `error` those of the body of an error. `spent_usd` is what the job has added to
    the spending of its key.
    """

    id: str
    kind: JobKind
    namespace: str
    caller: str
    request: dict[str, Any]
    state: JobState
    created_at: str
    started_at: str
    finished_at: str
    progress: dict[str, Any]
    error: dict[str, str] | None
    spent_usd: float
    is_cancelled: bool
    """Whether a caller has asked to cancel it. It may still be running."""

    @property
    def has_ended(self) -> bool:
        """Whether the job is done, failed or cancelled."""
        return self.state not in {"queued", "running"}

    def to_dict(self) -> dict[str, Any]:
        """Return the document that the routes send."""
        return asdict(self)


class JobTable:
    """The jobs of a store. Thread-safe. Every method raises StoreUnfit if the file cannot be used."""

    def __init__(self, path: Path) -> None:
        self._file = SqliteFile(SERVICE, path)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def add(self, id_: str, kind: JobKind, namespace: str, caller: str, request: dict[str, Any], *, most: int) -> bool:
        """Add a queued job, unless `most` jobs are queued or running. Return whether it was added."""
        row = (id_, kind, namespace, caller, json.dumps(request), now())
        with self._file.writing(durable=True) as rows:
            statement = "SELECT count(*) FROM jobs WHERE state IN ('queued', 'running')"
            if rows.execute(statement).fetchone()[0] >= most:
                return False
            names = "id, kind, namespace, caller, request, created_at"
            rows.execute(f"INSERT INTO jobs ({names}) VALUES (?, ?, ?, ?, ?, ?)", row)  # noqa: S608
            return True

    def take(self) -> ServiceJob | None:
        """Mark the oldest queued job as running and return it; None if no job waits."""
        with self._file.writing() as rows:
            row = rows.execute(f"{_READ} WHERE state = 'queued' ORDER BY number LIMIT 1").fetchone()
            if row is None:
                return None
            rows.execute("UPDATE jobs SET state = 'running', started_at = ? WHERE id = ?", (now(), row[0]))
            return _job(rows.execute(f"{_READ} WHERE id = ?", (row[0],)).fetchone())

    def requeue(self) -> None:
        """Queue again the jobs that were running when their process ended, or cancel them if a caller asked for that."""
        with self._file.writing() as rows:
            rows.execute("UPDATE jobs SET state = 'queued' WHERE state = 'running' AND NOT is_cancelled")
            rows.execute("UPDATE jobs SET state = 'cancelled', finished_at = ? WHERE state = 'running'", (now(),))

    def advance(self, id_: str, progress: dict[str, Any], spent_usd: float) -> None:
        """Record the progress of a job, and charge its key with what it has spent since the last record."""
        amount = nanos(spent_usd)
        with self._file.writing() as rows:
            rows.execute(_CHARGE, (amount, id_))
            rows.execute("UPDATE jobs SET progress = ?, spent = ? WHERE id = ?", (json.dumps(progress), amount, id_))

    def finish(self, id_: str, state: JobState, report: Any, error: dict[str, str] | None) -> None:
        """Record how a job ended, with its report as a JSON document; None if there is none."""
        with self._file.writing(durable=True) as rows:
            rows.execute(
                "UPDATE jobs SET state = ?, finished_at = ?, report = ?, error = ? WHERE id = ?",
                (state, now(), json.dumps(report, default=str), json.dumps(error), id_),
            )

    def cancel(self, id_: str) -> None:
        """Cancel a queued job; for a running one, record that it is to stop."""
        with self._file.writing() as rows:
            rows.execute("UPDATE jobs SET is_cancelled = 1 WHERE id = ? AND state IN ('queued', 'running')", (id_,))
            statement = "UPDATE jobs SET state = 'cancelled', finished_at = ? WHERE id = ? AND state = 'queued'"
            rows.execute(statement, (now(), id_))

    def job(self, id_: str, namespace: str | None = None) -> ServiceJob:
        """Return a job of a namespace, or of any. Raises NotStored if there is none."""
        found = self._select("WHERE id = ? AND coalesce(?, namespace) = namespace", (id_, namespace))
        if not found:
            raise NotStored(f"There is no job {id_!r}.", hint="List the jobs with GET /api/v1/jobs.")
        return found[0]

    def jobs(
        self, namespace: str, limit: int, *, kind: JobKind | None = None, state: JobState | None = None
    ) -> list[ServiceJob]:
        """Return the last jobs of a namespace (of one kind, in one state), newest first."""
        condition = "WHERE namespace = ? AND coalesce(?, kind) = kind AND coalesce(?, state) = state"
        return self._select(f"{condition} ORDER BY number DESC LIMIT ?", (namespace, kind, state, limit))

    def finished_exports(self) -> list[ServiceJob]:
        """Return the exports that have ended."""
        return self._select("WHERE kind = 'export' AND state = 'done'", ())

    def report(self, id_: str) -> Any:
        """Return the report of a job; None if it has none."""
        with self._file.reading() as rows:
            return json.loads(rows.execute("SELECT report FROM jobs WHERE id = ?", (id_,)).fetchone()[0])

    def counts(self) -> dict[JobState, int]:
        """Return the number of jobs in each state."""
        with self._file.reading() as rows:
            counted = dict(rows.execute("SELECT state, count(*) FROM jobs GROUP BY state").fetchall())
        return {state: counted.get(state, 0) for state in STATES}

    def spent_usd(self) -> float:
        """Return what all jobs have spent, in US dollars."""
        with self._file.reading() as rows:
            return dollars(rows.execute("SELECT coalesce(sum(spent), 0) FROM jobs").fetchone()[0])

    def _select(self, condition: str, values: Sequence[Any]) -> list[ServiceJob]:
        with self._file.reading() as rows:
            return [_job(row) for row in rows.execute(f"{_READ} {condition}", values)]


def files_of(path: Path) -> Path:
    """Return the folder with the files of jobs: one folder for each. `path` is the service's file."""
    return path.with_name(f"{path.name}-files")


def remove_exports(path: Path, namespace: str) -> None:
    """Delete the exports of a namespace that wait to be downloaded, because they contain what is erased."""
    if path.exists():
        with closing(JobTable(path)) as table:
            for job in table.finished_exports():
                if job.namespace == namespace:
                    shutil.rmtree(files_of(path) / job.id, ignore_errors=True)


def now() -> str:
    """Return the time, UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _job(row: Sequence[Any]) -> ServiceJob:
    values = dict(zip(_COLUMNS, row, strict=True))
    texts = {name: json.loads(values[name]) for name in ("request", "progress", "error")}
    spent = dollars(values.pop("spent"))
    return ServiceJob(**{**values, **texts, "is_cancelled": bool(values["is_cancelled"])}, spent_usd=spent)
