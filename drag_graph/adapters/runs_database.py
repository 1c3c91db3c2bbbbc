"""The file in which runs, their spending and their batches are kept, beside the teacher tape (design, section 8).

It is SQLite, so that many processes may write it and a kill at any instant leaves it whole. It is a journal for people and a
ledger for the budget. What is true about the graph is in the store, and what a teacher said is on the tape: without this file
nothing of these is lost.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from drag_graph.errors import StoreUnfit

VERSION = 1
BUSY_SECONDS = 30.0
_SCHEMA = """
CREATE TABLE runs (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, namespace TEXT NOT NULL, store TEXT NOT NULL, source TEXT NOT NULL,
    job TEXT NOT NULL, teacher TEXT NOT NULL, plan TEXT NOT NULL, started_at TEXT NOT NULL,
    finished_at TEXT NOT NULL DEFAULT '', stopped TEXT NOT NULL DEFAULT '', exit_code INTEGER
);
CREATE TABLE results (
    run_id TEXT NOT NULL, line INTEGER NOT NULL, id TEXT NOT NULL, input_id TEXT NOT NULL, status TEXT NOT NULL,
    settings_hash TEXT NOT NULL, question TEXT NOT NULL, evidence INTEGER NOT NULL DEFAULT 0,
    triples INTEGER NOT NULL DEFAULT 0, edges INTEGER NOT NULL DEFAULT 0, calls INTEGER NOT NULL DEFAULT 0,
    cached_calls INTEGER NOT NULL DEFAULT 0, cost_usd REAL NOT NULL DEFAULT 0, tokens_in INTEGER NOT NULL DEFAULT 0,
    tokens_out INTEGER NOT NULL DEFAULT 0, error TEXT, notes TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (run_id, line)
) WITHOUT ROWID;
CREATE INDEX results_of_query ON results (id, settings_hash, status);
CREATE TABLE spending (job TEXT PRIMARY KEY, spent_usd REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE reservations (
    id INTEGER PRIMARY KEY, job TEXT NOT NULL, owner TEXT NOT NULL, amount_usd REAL NOT NULL
);
CREATE INDEX reservations_of_job ON reservations (job);
CREATE TABLE batches (
    token TEXT PRIMARY KEY, job TEXT NOT NULL, model TEXT NOT NULL, batch_id TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL, created_at TEXT NOT NULL, document TEXT NOT NULL DEFAULT '{}'
) WITHOUT ROWID;
CREATE INDEX batches_of_job ON batches (job);
"""


def connect(path: Path | None, *, synchronous: Literal["NORMAL", "FULL"] = "NORMAL") -> sqlite3.Connection:
    """Open the file, making it the first time; None is a file of this connection alone that goes with it.

    The connection may be used from any thread, by one at a time; transactions are begun by hand (`writing`). NORMAL survives
    a kill of the process, FULL also a loss of power. Raises StoreUnfit when the file cannot be used or is newer than this code.
    """
    try:
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Readable to its owner only, like the tape: it holds questions.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = sqlite3.connect(path or "", timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.Error) as error:
        raise _unfit(path, error) from error
    try:
        _write_ahead(connection)
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        with writing(connection):
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version == 0:
                for statement in _SCHEMA.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {VERSION}")
    except sqlite3.Error as error:
        connection.close()
        raise _unfit(path, error) from error
    if version > VERSION:
        connection.close()
        hint = "Update drag-graph, or choose another place with --tape."
        raise StoreUnfit(f"the journal of runs {path} has version {version}; this drag-graph reads up to {VERSION}", hint=hint)
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Set the mode in which readers and a writer do not wait for one another; SQLite's own waiting does not cover this."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


@contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[None]:
    """One transaction that waits for other writers at its beginning, so that what it reads is what it changes."""
    try:
        connection.execute("BEGIN IMMEDIATE")  # within: Ctrl-C is raised right after it has waited, and been done
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def in_words(path: Path | None) -> Iterator[None]:
    """Turn what SQLite raises into StoreUnfit."""
    try:
        yield
    except sqlite3.Error as error:
        raise _unfit(path, error) from error


def _unfit(path: Path | None, error: OSError | sqlite3.Error) -> StoreUnfit:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    hint = "What is complete is stored. Make room, mend the file's permissions, or choose another place with --tape."
    return StoreUnfit(f"the journal of runs {path} cannot be used: {reason}", hint=hint)
