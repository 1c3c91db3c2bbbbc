"""The journal of runs: the outcome of every line of every run, on disk as it happens (`drag-graph runs`)."""

import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, fields
from datetime import UTC, datetime
from typing import Any, TypeVar

from drag_graph.errors import ConfigurationError, NotStored
from drag_graph.identity import sha256_of
from drag_graph.ledger.ledger_file import LedgerFile
from drag_graph.model import Query
from drag_graph.ports.run_journal import STATUSES, SUMS, Entry, QueryResult, Run, RunState, Status

Item = TypeVar("Item")

PAGE = 500
"""Results read at once."""
_RUN = ", ".join(item.name for item in fields(Run))
_RESULT = ", ".join(item.name for item in fields(QueryResult))
_CHANGED = [item.name for item in fields(QueryResult) if item.name not in {"id", "input_id", "line", "erased"}]
_ENTER = """
INSERT INTO results (run_id, line, id, input_id, status, settings_hash, question) VALUES (?, ?, ?, ?, 'pending', ?, ?)
ON CONFLICT (run_id, line) DO UPDATE SET status = 'pending', id = excluded.id, settings_hash = excluded.settings_hash,
    error = NULL, question = excluded.question, erased = 0
"""
_FIRST = "SELECT line, input_id FROM results WHERE id = ? AND run_id = ? ORDER BY line LIMIT 1"
_RECORD = f"UPDATE results SET {', '.join(f'{name} = ?' for name in _CHANGED)} WHERE run_id = ? AND line = ?"  # noqa: S608
_SUM = f"SELECT status, count(*), {', '.join(f'sum({name})' for name in SUMS)} FROM results WHERE run_id = ? GROUP BY status"  # noqa: S608
_LEAVE = "UPDATE results SET status = 'pending', error = ? WHERE run_id = ? AND line = ?"
_SETTLED = f"""
SELECT {_RESULT} FROM results WHERE id = ? AND settings_hash = ? AND NOT erased
    AND (status = 'complete' OR (status = 'quarantined' AND calls > cached_calls))
ORDER BY (SELECT rowid FROM runs WHERE runs.id = run_id) DESC LIMIT 1
"""  # noqa: S608 - names of columns, no values


def start_run(*, kind: str, namespace: str, store: str, source: str, teacher: str, plan: str) -> Run:
    """Return a new run. Its source, store, namespace and teacher identify the job; without a source it is a job of its own."""
    id_ = uuid.uuid4().hex
    job = sha256_of({"kind": kind, "namespace": namespace, "store": store, "source": source or id_, "teacher": teacher})
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Run(id_, kind, namespace, store, source, job, teacher, plan, now)


class Journal:
    """Records the outcome of every line of every run, on disk as it happens. Thread-safe.

    A run holds a lock until it finishes, which tells a running run from a killed one.
    """

    def __init__(self, database: LedgerFile) -> None:
        self._database = database

    def begin(self, run: Run) -> None:
        self._database.lock(_lock_of(run.id))
        with self._database.writing() as rows:
            marks = ", ".join("?" * len(fields(Run)))
            rows.execute(f"INSERT OR IGNORE INTO runs ({_RUN}) VALUES ({marks})", astuple(run))  # noqa: S608

    def enter(self, run_id: str, entries: Sequence[Entry]) -> dict[int, str]:
        repeated = {}
        with self._database.writing() as rows:
            for entry in entries:
                query = entry.query
                rows.execute(_ENTER, (run_id, entry.line, query.id, query.input_id, entry.settings_hash, _question(query)))
            for entry in entries:
                line, input_id = rows.execute(_FIRST, (entry.query.id, run_id)).fetchone()
                if line < entry.line:
                    repeated[entry.line] = input_id or entry.query.id
        return repeated

    def record(self, run_id: str, results: Sequence[QueryResult]) -> None:
        with self._database.writing() as rows:
            for result in results:
                if result.status == "pending" and not result.calls:  # keeps the calls that an earlier run of the job paid for
                    rows.execute(_LEAVE, (result.error, run_id, result.line))
                else:
                    rows.execute(_RECORD, (*_values(result), run_id, result.line))

    def finish(self, run_id: str, stopped: str, exit_code: int) -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._database.writing() as rows:
            statement = "UPDATE runs SET finished_at = ?, stopped = ?, exit_code = ? WHERE id = ?"
            rows.execute(statement, (now, stopped, exit_code, run_id))
        self._database.unlock(_lock_of(run_id))

    def results(self, run_id: str, statuses: Sequence[Status] = STATUSES) -> Iterator[QueryResult]:
        marks = ", ".join("?" * len(statuses))
        statement = (
            f"SELECT {_RESULT} FROM results WHERE run_id = ? AND line > ? AND status IN ({marks}) "  # noqa: S608
            "ORDER BY line LIMIT ?"
        )
        after = -1
        while True:
            page = self._read(statement, (run_id, after, *statuses, PAGE), _result)
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1].line

    def sums(self, run_id: str) -> dict[Status, dict[str, float]]:
        names = ("queries", *SUMS)
        return dict(self._read(_SUM, (run_id,), lambda row: (_status(row[0]), dict(zip(names, row[1:], strict=True)))))

    def settled(self, entries: Sequence[Entry]) -> dict[str, QueryResult]:
        results = {}
        with self._database.reading() as rows:
            for entry in entries:
                row = rows.execute(_SETTLED, (entry.query.id, entry.settings_hash)).fetchone()
                if row is not None:
                    results[entry.query.id] = _result(row)
        return results

    def quarantined(self, entries: Sequence[Entry]) -> set[str]:
        """Return the ids of the queries that a run skips because they are quarantined, unless it retries them."""
        return {id_ for id_, result in self.settled(entries).items() if result.status == "quarantined"}

    # ---- for people

    def runs(self, namespace: str, limit: int = 20) -> list[tuple[Run, dict[str, int], float]]:
        """Return the last runs of a namespace, newest first, each with its counts by status and its cost in US dollars."""
        statement = f"SELECT {_RUN} FROM runs WHERE namespace = ? ORDER BY rowid DESC LIMIT ?"  # noqa: S608
        return [(run, *self.summary(run.id)) for run in self._read(statement, (namespace, limit), _run)]

    def run(self, run_id: str, namespace: str) -> Run:
        """Return the run whose id begins with `run_id`. Raises NotStored if there is none, ConfigurationError for several."""
        statement = f"SELECT {_RUN} FROM runs WHERE substr(id, 1, ?) = ? AND namespace = ? LIMIT 2"  # noqa: S608
        matches = self._read(statement, (len(run_id), run_id, namespace), _run)
        if not matches:
            raise NotStored(f"There is no run {run_id!r} in namespace {namespace!r}.", hint="List the runs: drag-graph runs")
        if len(matches) > 1:
            raise ConfigurationError(f"Several run ids begin with {run_id!r}.", hint="Give more digits of the id.")
        return matches[0]

    def state(self, run: Run) -> RunState:
        """Return whether a run has ended, is running or was killed."""
        if run.finished_at:
            return "ended"
        return "running" if self._database.is_locked(_lock_of(run.id)) else "died"

    def summary(self, run_id: str) -> tuple[dict[str, int], float]:
        """Return a run's counts, for every status, and its cost in US dollars."""
        sums = self.sums(run_id)
        counts: dict[str, int] = {status: int(sums[status]["queries"]) if status in sums else 0 for status in STATUSES}
        return counts, sum((part["cost_usd"] for part in sums.values()), 0.0)

    def questions(self, run_id: str, lines: Sequence[int]) -> dict[int, str]:
        """Return the questions of lines of a run, by line. Erased ones are missing."""
        marks = ", ".join("?" * len(lines))
        statement = f"SELECT line, question FROM results WHERE run_id = ? AND question <> '' AND line IN ({marks})"  # noqa: S608
        return dict(self._read(statement, (run_id, *lines), lambda row: (row[0], str(json.loads(row[1])["question"]))))

    def _read(self, statement: str, values: Sequence[Any], read: Callable[[Sequence[Any]], Item]) -> list[Item]:
        with self._database.reading() as rows:  # `read` inside it: a row that it cannot read is damage
            return [read(row) for row in rows.execute(statement, tuple(values))]


def _lock_of(run_id: str) -> str:
    return f"run-{run_id}"


def _question(query: Query) -> str:
    """Return the JSON document by which a person recognises and selects a query."""
    return json.dumps({"question": query.text, "options": query.options, "domain": query.domain}, ensure_ascii=False)


def _values(result: QueryResult) -> tuple[Any, ...]:
    return tuple(json.dumps(result.notes) if name == "notes" else getattr(result, name) for name in _CHANGED)


def _run(row: Sequence[Any]) -> Run:
    return Run(*row)


def _result(row: Sequence[Any]) -> QueryResult:
    values = dict(zip((item.name for item in fields(QueryResult)), row, strict=True))
    notes, status = json.loads(values["notes"]), _status(values["status"])
    return QueryResult(**{**values, "status": status, "notes": notes, "erased": bool(values["erased"])})


def _status(name: str) -> Status:
    """Return a recorded status. Raises ValueError for any other text."""
    return STATUSES[STATUSES.index(name)]
