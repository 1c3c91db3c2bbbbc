"""The ledger's file: SQLite, so that many processes may write it and a kill at any instant leaves it whole."""

import os
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from drag_graph.errors import StoreLocked, StoreUnfit

VERSION = 2
APPLICATION = 0x6472616C
"""What SQLite's header says whose file it is."""
BUSY_SECONDS = 30.0
_SCHEMA = """
CREATE TABLE exchanges (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, model TEXT NOT NULL, stage TEXT NOT NULL, prompt_version TEXT NOT NULL,
    reply TEXT, error TEXT
);
CREATE UNIQUE INDEX usable_exchanges ON exchanges (key) WHERE reply IS NOT NULL;
CREATE TABLE calls (
    exchange_id INTEGER NOT NULL, n INTEGER NOT NULL, request_sha256 TEXT NOT NULL, response_sha256 TEXT NOT NULL,
    tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, cost_usd REAL NOT NULL, latency_ms INTEGER NOT NULL,
    created_at TEXT NOT NULL, sent TEXT NOT NULL, raw TEXT NOT NULL, PRIMARY KEY (exchange_id, n)
);
CREATE INDEX calls_of_request ON calls (request_sha256);
CREATE TABLE asked (source_id TEXT NOT NULL, exchange_id INTEGER NOT NULL, PRIMARY KEY (source_id, exchange_id)) WITHOUT ROWID;
CREATE INDEX asked_of_exchange ON asked (exchange_id);
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
    tokens_out INTEGER NOT NULL DEFAULT 0, error TEXT, notes TEXT NOT NULL DEFAULT '[]', erased INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run_id, line)
) WITHOUT ROWID;
CREATE INDEX results_of_source ON results (id, settings_hash, status);
CREATE TABLE spending (job TEXT PRIMARY KEY, nanos INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE reservations (id INTEGER PRIMARY KEY, job TEXT NOT NULL, batch TEXT NOT NULL, nanos INTEGER NOT NULL);
CREATE INDEX reservations_of_job ON reservations (job);
CREATE TABLE batches (
    token TEXT PRIMARY KEY, job TEXT NOT NULL, model TEXT NOT NULL, batch_id TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL, created_at TEXT NOT NULL, document TEXT NOT NULL DEFAULT '{}'
) WITHOUT ROWID;
CREATE INDEX batches_of_job ON batches (job);
CREATE TABLE batch_requests (
    id INTEGER PRIMARY KEY, job TEXT NOT NULL, token TEXT NOT NULL DEFAULT '', key TEXT NOT NULL, source_id TEXT NOT NULL,
    request TEXT NOT NULL, unusable TEXT
);
CREATE INDEX requests_of_batch ON batch_requests (job, token);
"""


class Database:
    """One connection to the file at `path` (None: a file of this object alone that goes with it). Thread-safe.

    With `read_only` the file has to be there, and the right to write is not needed. Raises StoreUnfit, in words, where the file
    cannot be used, is empty, of somebody else, or of another version.
    """

    def __init__(self, path: Path | None = None, *, read_only: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        self._lock = threading.Lock()
        self._locks: dict[str, FileLock] = {}
        self._connection = self._open()

    def close(self) -> None:
        """Release the file and the locks; a second call does nothing."""
        for name in list(self._locks):
            self.unlock(name)
        with self._lock:
            self._connection.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give the connection to one thread at a time: all that it reads is of one moment."""
        with self._lock, self._in_words():
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("COMMIT")

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """One transaction that waits for other writers at its beginning, so that what it reads is what it changes.

        It survives a kill of the process when it is done; where `durable`, also a loss of power.
        """
        with self._lock, self._in_words():
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            try:
                self._connection.execute("BEGIN IMMEDIATE")  # within: Ctrl-C is raised right after it has waited, and been done
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def compact(self) -> None:
        """Write the file anew, so that nothing of what was deleted is left in it or in its log. Raises StoreLocked."""
        with self._lock, self._in_words():
            self._connection.execute("VACUUM")
            busy, *_ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            said = f"another process reads the ledger {self.path}, so what was erased is still in its log"
            raise StoreLocked(said, hint="Let it finish, then erase again.")

    # ---- who is at work

    def lock(self, name: str) -> bool:
        """Take the lock `name` of this ledger until `unlock` or the end of the process; False where another has it."""
        if self.path is None:
            return True
        lock = FileLock(self._lock_path(name), timeout=0, mode=0o600, thread_local=False)
        try:
            with self._in_words():
                lock.acquire()
        except Timeout:
            return False
        self._locks[name] = lock
        return True

    def unlock(self, name: str) -> None:
        """Give the lock back and remove its file."""
        lock = self._locks.pop(name, None)
        if lock is not None:
            self._lock_path(name).unlink(missing_ok=True)
            lock.release()

    def is_locked(self, name: str) -> bool:
        """Whether a living process has the lock."""
        if self.path is None or name in self._locks:
            return True
        path = self._lock_path(name)
        if not path.exists():
            return False
        lock = FileLock(path, timeout=0, mode=0o600, thread_local=False)
        try:
            lock.acquire()
        except Timeout:
            return True
        except OSError:
            return False
        path.unlink(missing_ok=True)  # left by a process that is gone
        lock.release()
        return False

    def _lock_path(self, name: str) -> Path:
        path = self.path or Path()
        return path.with_name(f"{path.name}-{name}.lock")

    # ---- opening

    def _open(self) -> sqlite3.Connection:
        with self._in_words():
            if self.path is None:
                connection = _connection("")
                _make_tables(connection)
                return connection
            writes = not self.read_only or (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK))
            if not self.read_only and not self.path.exists():
                _create(self.path)
            if self.path.is_file() and not self.path.stat().st_size:
                hint = "It was cut off: put a copy in its place, or remove it to begin anew (what was recorded is lost)."
                raise StoreUnfit(f"the ledger {self.path} is an empty file", hint=hint)
            mode = "mode=rw" if writes else _unwritten(self.path)
            connection = _connection(f"{self.path.resolve().as_uri()}?{mode}")
            try:
                self._check(connection)
                if self.read_only:
                    connection.execute("PRAGMA query_only = ON")
                else:
                    _patiently(lambda: connection.execute("PRAGMA journal_mode = WAL"))
                    connection.execute("PRAGMA secure_delete = ON")
            except BaseException:
                connection.close()
                raise
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        (application,) = _patiently(lambda: connection.execute("PRAGMA application_id").fetchone())
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION:
            raise StoreUnfit(f"{self.path} is not a ledger of drag-graph", hint="Choose another file with --ledger.")
        if version != VERSION:
            hint = "Use the drag-graph that wrote it, or choose another file with --ledger."
            raise StoreUnfit(f"the ledger {self.path} has version {version}; this drag-graph reads {VERSION}", hint=hint)

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            if isinstance(error, Timeout):
                raise
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            hint = "What is complete is stored. Make room, mend the file's permissions, or choose another file with --ledger."
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
                hint = "It is damaged: put a copy in its place, or choose another file with --ledger. The store is not touched."
            raise StoreUnfit(f"the ledger {self.path} cannot be used: {reason}", hint=hint) from error


def _connection(address: str) -> sqlite3.Connection:
    return sqlite3.connect(
        address, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=256, uri=True
    )


def _unwritten(path: Path) -> str:
    """Return the mode in which SQLite reads the file without writing.

    A file in WAL mode is read by way of its log, which wants a right to write unless the log is there already. Where there is
    none, nobody is at work, and the file alone is all: `immutable` spares the log.
    """
    log = path.with_name(f"{path.name}-wal")
    return "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"


def _create(path: Path) -> None:
    """Make the file in one step, unless another process is faster.

    So an empty file is never one that was just begun: it was cut off, and what was paid for is lost.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Readable to its owner only: it will hold questions.
    handle, name = tempfile.mkstemp(prefix=f"{path.name}-new-", dir=path.parent.resolve())
    os.close(handle)
    try:
        with closing(_connection(Path(name).as_uri())) as connection:
            _make_tables(connection)
        with suppress(FileExistsError):
            path.hardlink_to(name)
    finally:
        Path(name).unlink()


def _make_tables(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN")
    for statement in _SCHEMA.split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _patiently(act: Callable[[], sqlite3.Cursor]) -> sqlite3.Cursor:
    """Do what SQLite's own waiting for other processes does not cover."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        with suppress(sqlite3.OperationalError):
            return act()
        if time.monotonic() > until:
            return act()
        time.sleep(0.01)
