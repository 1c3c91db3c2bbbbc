"""The journal of runs: what became of each line of each run, on disk as it happens (`drag-graph runs`)."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import astuple, fields
from datetime import UTC, datetime
from typing import Any

from drag_graph.errors import ConfigurationError, NotStored
from drag_graph.ledger.sqlite_file import Database
from drag_graph.ports.run_journal import STATUSES, SUMS, Entry, QueryResult, Run, RunState, Status

PAGE = 500
"""Results that are read at once."""
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


class Journal:
    """`RunJournal` in a ledger.

    A run has a lock until it has finished, so that one that was killed is told from one at work.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, run: Run) -> None:
        self._database.lock(_lock_of(run.id))
        with self._database.writing() as database:
            marks = ", ".join("?" * len(fields(Run)))
            database.execute(f"INSERT OR IGNORE INTO runs ({_RUN}) VALUES ({marks})", astuple(run))  # noqa: S608

    def enter(self, run_id: str, entries: Sequence[Entry]) -> dict[int, str]:
        rows = [
            (run_id, entry.line, entry.query.id, entry.query.input_id, entry.settings_hash, _question(entry))
            for entry in entries
        ]
        repeated = {}
        with self._database.writing() as database:
            database.executemany(_ENTER, rows)
            for entry in entries:
                line, input_id = database.execute(_FIRST, (entry.query.id, run_id)).fetchone()
                if line < entry.line:
                    repeated[entry.line] = input_id or entry.query.id
        return repeated

    def record(self, run_id: str, results: Sequence[QueryResult]) -> None:
        # What was left undone before anything was asked leaves what an earlier pass of the run has paid for the line.
        left = [result for result in results if result.status == "pending" and not result.calls]
        rows = [(*_values(result), run_id, result.line) for result in results if result not in left]
        with self._database.writing() as database:
            database.executemany(_RECORD, rows)
            database.executemany(_LEAVE, [(result.error, run_id, result.line) for result in left])

    def finish(self, run_id: str, stopped: str, exit_code: int) -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._database.writing() as database:
            statement = "UPDATE runs SET finished_at = ?, stopped = ?, exit_code = ? WHERE id = ?"
            database.execute(statement, (now, stopped, exit_code, run_id))
        self._database.unlock(_lock_of(run_id))

    def results(self, run_id: str, statuses: Sequence[Status] = STATUSES) -> Iterator[QueryResult]:
        marks = ", ".join("?" * len(statuses))
        statement = (
            f"SELECT {_RESULT} FROM results WHERE run_id = ? AND line > ? AND status IN ({marks}) "  # noqa: S608
            "ORDER BY line LIMIT ?"
        )
        after = -1
        while True:
            page = self._rows(statement, (run_id, after, *statuses, PAGE))
            for row in page:
                yield _result(row)
            if len(page) < PAGE:
                return
            after = _result(page[-1]).line

    def sums(self, run_id: str) -> dict[Status, dict[str, float]]:
        return {status: dict(zip(("queries", *SUMS), values, strict=True)) for status, *values in self._rows(_SUM, (run_id,))}

    def settled(self, entries: Sequence[Entry]) -> dict[str, QueryResult]:
        found = {}
        with self._database.reading() as rows:
            for entry in entries:
                row = rows.execute(_SETTLED, (entry.query.id, entry.settings_hash)).fetchone()
                if row is not None:
                    found[entry.query.id] = _result(row)
        return found

    def quarantined(self, entries: Sequence[Entry]) -> set[str]:
        """Return the ids of those queries that a run would not ask again without being told to."""
        return {id_ for id_, result in self.settled(entries).items() if result.status == "quarantined"}

    # ---- for people

    def runs(self, namespace: str, limit: int = 20) -> list[tuple[Run, dict[str, int], float]]:
        """Return the last runs of a namespace, newest first: each with its counts by status and its cost in US dollars."""
        found = self._rows(
            f"SELECT {_RUN} FROM runs WHERE namespace = ? ORDER BY rowid DESC LIMIT ?",  # noqa: S608
            (namespace, limit),
        )
        return [(run, *self.summary(run.id)) for run in (Run(*row) for row in found)]

    def run(self, run_id: str, namespace: str) -> Run:
        """Return the run whose id begins with `run_id`. Raises NotStored when there is none, ConfigurationError for several."""
        found = self._rows(
            f"SELECT {_RUN} FROM runs WHERE substr(id, 1, ?) = ? AND namespace = ? LIMIT 2",  # noqa: S608
            (len(run_id), run_id, namespace),
        )
        if not found:
            raise NotStored(f"no run {run_id!r} in namespace {namespace!r}", hint="`drag-graph runs` lists them.")
        if len(found) > 1:
            raise ConfigurationError(f"several run ids begin with {run_id!r}", hint="Give more digits of the id.")
        return Run(*found[0])

    def state(self, run: Run) -> RunState:
        """Return whether a run has ended, is at work, or was killed."""
        if run.finished_at:
            return "ended"
        return "running" if self._database.is_locked(_lock_of(run.id)) else "died"

    def summary(self, run_id: str) -> tuple[dict[str, int], float]:
        """Return a run's counts by status, all present, and what it paid in US dollars."""
        sums = self.sums(run_id)
        counts: dict[str, int] = {status: int(sums[status]["queries"]) if status in sums else 0 for status in STATUSES}
        return counts, sum((part["cost_usd"] for part in sums.values()), 0.0)

    def questions(self, run_id: str, lines: Sequence[int]) -> dict[int, str]:
        """Return the questions of some lines of a run, by line."""
        statement = "SELECT question FROM results WHERE run_id = ? AND line = ?"
        found = ((line, self._rows(statement, (run_id, line))) for line in lines)
        return {line: str(json.loads(rows[0][0])["question"]) for line, rows in found if rows and rows[0][0]}

    def completed_since(self, run_id: str) -> set[str]:
        """Return the query ids that are not complete in this run and became so in a later one, under the same settings."""
        rows = self._rows(
            "SELECT DISTINCT ours.id FROM results AS ours JOIN results AS theirs ON theirs.id = ours.id "
            "AND theirs.settings_hash = ours.settings_hash AND theirs.status = 'complete' AND NOT theirs.erased "
            "WHERE ours.run_id = ? AND ours.status IN ('pending', 'quarantined') AND NOT ours.erased "
            "AND (SELECT rowid FROM runs WHERE runs.id = theirs.run_id) > (SELECT rowid FROM runs WHERE runs.id = ours.run_id)",
            (run_id,),
        )
        return {row[0] for row in rows}

    def _rows(self, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._database.reading() as rows:
            return rows.execute(statement, tuple(values)).fetchall()


def _lock_of(run_id: str) -> str:
    return f"run-{run_id}"


def _question(entry: Entry) -> str:
    """Return what a person knows the question by, and may choose it by."""
    query = entry.query
    return json.dumps({"question": query.text, "options": query.options, "domain": query.domain}, ensure_ascii=False)


def _values(result: QueryResult) -> tuple[Any, ...]:
    return tuple(json.dumps(result.notes) if name == "notes" else getattr(result, name) for name in _CHANGED)


def _result(row: Sequence[Any]) -> QueryResult:
    names = [item.name for item in fields(QueryResult)]
    values = dict(zip(names, row, strict=True))
    return QueryResult(**{**values, "notes": json.loads(values["notes"]), "erased": bool(values["erased"])})
