"""A SQLite file that many processes share and that a kill at any moment leaves whole."""

import os
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from drag_graph.errors import StoreLocked, StoreUnfit

BUSY_SECONDS = 30.0
"""How long a statement waits for another process."""


@dataclass(frozen=True, slots=True)
class FileKind:
    """Content and error texts of a kind of file. Hints may contain `{path}`."""

    name: str
    schema: str
    hint: str
    """Hint if the file cannot be read or written."""
    restore: str
    """Hint if the file is damaged."""
    application: int = 0
    """Written into SQLite's header, so that files of other programs are recognised; 0 accepts any."""
    version: int = 0


class SqliteFile:
    """One connection to a file. Thread-safe, and safe next to other processes.

    Creates a missing file with its tables, readable only by its owner. With `read_only` the file must exist and may be
    write-protected. Without a path the content is temporary and private to this object.

    Raises StoreUnfit if the file cannot be used, is empty or damaged, belongs to another program or has another version.
    """

    def __init__(self, kind: FileKind, path: Path | None = None, *, read_only: bool = False) -> None:
        self.kind = kind
        self.path = path
        self.read_only = read_only
        self._lock = threading.Lock()
        with self.errors():
            self._connection = self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; further calls do nothing."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection for one read transaction. A ValueError in the block means that the content is damaged."""
        with self._lock, self.errors(ValueError):
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("COMMIT")

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """Lend the connection for one transaction. It waits for other writers first, so it reads the latest state.

        A finished transaction survives a kill of the process and, if `durable`, a loss of power.
        """
        with self._lock, self.errors():
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            try:
                self._connection.execute("BEGIN IMMEDIATE")  # inside `try`: Ctrl-C can arrive when it has already begun
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def copied(self) -> "SqliteFile":
        """Return a temporary copy, private to the caller."""
        copy = SqliteFile(self.kind)
        with self.reading() as connection:
            connection.backup(copy._connection)
        return copy

    def compact(self) -> None:
        """Rewrite the file so that neither it nor its log contains deleted content.

        Raises StoreLocked if another process reads the file.
        """
        with self._lock, self.errors():
            self._connection.execute("VACUUM")
            busy, *_ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise StoreLocked(
                f"Another process reads the {self.kind.name} {self.path}, so its log still contains the erased text.",
                hint="Let the process finish, then erase again.",
            )

    @contextmanager
    def errors(self, *damage: type[Exception]) -> Iterator[None]:
        """Turn errors of SQLite and the file system into StoreUnfit. The `damage` types mean that the file is damaged."""
        try:
            yield
        except (OSError, sqlite3.Error, *damage) as error:  # type: ignore[misc]
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code == sqlite3.SQLITE_NOTADB:
                raise self._unfit("{path} is not a drag-graph {kind}, or it is damaged.", self.kind.restore) from error
            if code == sqlite3.SQLITE_CORRUPT or isinstance(error, damage) or "decode to UTF-8" in reason:
                raise self._unfit("The {kind} {path} is damaged.", self.kind.restore) from error
            raise self._unfit(f"Cannot use the {{kind}} {{path}}: {reason}.", self.kind.hint) from error

    def _unfit(self, message: str, hint: str) -> StoreUnfit:
        path = str(self.path or "in memory")
        return StoreUnfit(message.replace("{kind}", self.kind.name).replace("{path}", path), hint=hint.replace("{path}", path))

    def _open(self) -> sqlite3.Connection:
        if self.path is None:
            connection = _connection("")
            _create_tables(connection, self.kind)
            return connection
        writable = not self.read_only or (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK))
        if not self.read_only and not self.path.exists():
            _create(self.path, self.kind)
        if self.path.is_file() and not self.path.stat().st_size:
            raise self._unfit("The {kind} {path} is an empty file.", self.kind.restore)
        mode = "mode=rw" if writable else _read_only_mode(self.path)
        connection = _connection(f"{self.path.resolve().as_uri()}?{mode}")
        try:
            self._check(connection)
            if self.read_only:
                connection.execute("PRAGMA query_only = ON")
            else:
                _retry(lambda: connection.execute("PRAGMA journal_mode = WAL"))
                connection.execute("PRAGMA secure_delete = ON")
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        (application,) = _retry(lambda: connection.execute("PRAGMA application_id").fetchone())
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != self.kind.application:
            raise self._unfit("{path} is not a drag-graph {kind}.", self.kind.hint)
        if version != self.kind.version:
            message = f"The {{kind}} {{path}} has version {version}, but this drag-graph reads version {self.kind.version}."
            raise self._unfit(message, f"Use the drag-graph that wrote it. {self.kind.hint}")


def _connection(address: str) -> sqlite3.Connection:
    return sqlite3.connect(
        address, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=256, uri=True
    )


def _read_only_mode(path: Path) -> str:
    """Return the mode in which SQLite opens the file without write permission.

    A file in WAL mode is read through its log. If there is no log, nobody is writing, and `immutable` reads the file alone.
    """
    log = path.with_name(f"{path.name}-wal")
    return "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"


def _create(path: Path, kind: FileKind) -> None:
    """Create the file in one step, unless another process is faster. An empty file is therefore always a damaged one."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(prefix=f"{path.name}-new-", dir=path.parent.resolve())  # readable only by its owner
    os.close(handle)
    try:
        with closing(_connection(Path(name).as_uri())) as connection:
            _create_tables(connection, kind)
        with suppress(FileExistsError):
            path.hardlink_to(name)
    finally:
        Path(name).unlink()


def _create_tables(connection: sqlite3.Connection, kind: FileKind) -> None:
    connection.execute("BEGIN")
    for statement in kind.schema.split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {kind.application}")
    connection.execute(f"PRAGMA user_version = {kind.version}")
    connection.execute("COMMIT")


def _retry(action: Callable[[], sqlite3.Cursor]) -> sqlite3.Cursor:
    """Repeat an action for which SQLite itself does not wait for other processes."""
    until = time.monotonic() + BUSY_SECONDS
    while time.monotonic() < until:
        with suppress(sqlite3.OperationalError):
            return action()
        time.sleep(0.01)
    return action()
