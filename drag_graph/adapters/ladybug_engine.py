"""The embedded engine below `LadybugStore`: one shared database a file, its connections, transactions and errors.

What was measured of ladybug 0.22 and is held to here:

- Its lock on the file is the process's (POSIX): a second database on the same file in this process would be let in, and closing
  it would drop the lock. So stores of one file share one `Engine`, and nothing else here opens that file.
- One transaction writes at a time; a second writing connection crashes the engine. So there is one, behind a lock. Reading
  connections see committed data only and are safe beside it, each for one thread at a time.
- After a write that failed (a full disk) the engine aborts the whole process when it is closed. So such an engine is never
  closed: it takes no further writes, and its log is cut back to the end of the last transaction.
- A reader takes no lock, and a checkpoint of another process changes the file under it: see `ladybug_snapshot`.
- A log whose end is torn (a kill between two pages) is refused, unless the engine is told to replay it up to there. It is told
  so: nobody heard that the torn transaction is stored. A copy of the log is kept, should the damage be another one.
"""

import ctypes
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from drag_graph.adapters import ladybug_snapshot as snapshot
from drag_graph.adapters.ladybug_errors import (
    BROKEN_RECORD,
    CHECKPOINT_RACE,
    COMMITTED,
    LOCK,
    RECOVERY_PENDING,
    TORN_LOG,
    WRITE_FAILURE,
    translate,
)
from drag_graph.errors import StoreError, StoreLocked, StoreUnavailable, StoreUnfit
from drag_graph.log import event
from drag_graph.queries import load

Row = dict[str, Any]

SPARE_BYTES = 8 * 1024 * 1024
"""Free disk space below which nothing is written; four times the log comes on top, for the checkpoint that empties it."""
FIRST_PAUSE = 0.02
RACE_SECONDS = 2.0
"""How long a reader tries again when a writer comes or goes, with a checkpoint, while it opens the file."""

_engines: dict[str, "Engine"] = {}
_engines_lock = threading.Lock()


class Session:
    """A connection with a transaction open on it. `check` is called before any row is given out."""

    def __init__(self, connection: Any, location: str, check: Callable[[], None] | None = None) -> None:
        self._connection = connection
        self._location = location
        self._check = check

    def run(self, name: str, /, **parameters: Any) -> list[Row]:
        """Execute the statement of that name (`cypher/ladybug`, `cypher/common`) and return its rows. Raises StoreError."""
        return self.execute(*load(name, "ladybug").bind(**parameters))

    def execute(self, text: str, parameters: dict[str, Any] | None = None) -> list[Row]:
        """Execute a text that a file or the engine's own transaction control gave, and return its rows. Raises StoreError."""
        return list(rows_of(self._connection, text, parameters, self._location, self._check))


class Engine:
    """An open database file, shared by all stores of this process that are on it (see `open_engine`)."""

    def __init__(self, key: str, location: str, database: Any, *, read_only: bool, mark: snapshot.Mark | None = None) -> None:
        self.location = location
        self.read_only = read_only
        self.version = 0
        """Grows with every write of this process that may change a vector: what a cache of vectors is checked against."""
        self.upgrading = threading.Lock()
        """Held by the one of this process's stores that migrates the file; other processes are kept out by the file's lock."""
        self._key = key
        self._log = Path(f"{location}.wal")
        self._database = database
        self._mark = mark
        self._check = None if mark is None else self._require_unchanged
        self._users = 1
        self._write_lock = threading.Lock()
        self._idle: list[Any] = []
        self._idle_lock = threading.Lock()
        self._writer: Any = None
        self._failure = ""

    def share(self, *, read_only: bool) -> "Engine":
        """Return the engine for one more use. Raises StoreLocked when it was opened for reading and is wanted for writing."""
        if self.read_only and not read_only:
            raise StoreLocked(f"{self.location} is open in this process for reading only", hint="Close it there first.")
        self._users += 1
        return self

    def close(self) -> None:
        """Release one use; the last one closes the connections and the file (which checkpoints it)."""
        with _engines_lock:
            self._users -= 1
            if self._users:
                return
            del _engines[self._key]
            with self._idle_lock:
                connections = [*self._idle, *([self._writer] if self._writer else [])]
                self._idle, self._writer = [], None
            if self._failure or (not self.read_only and self._lacking_space()):
                _leak(self._database, *connections)
                return
            for connection in connections:
                connection.close()
            self._database.close()

    @contextmanager
    def writing(self, *, keeps_vectors: bool = False) -> Iterator[Session]:
        """Open the writing transaction: committed at the end of the block, rolled back by any exception. Raises StoreError.

        `keeps_vectors` says that what is written neither adds, changes nor takes away a vector.
        """
        if self.read_only:
            raise StoreUnfit(f"{self.location} is open for reading only", hint="Open it for writing.")
        with self._write_lock:
            self._require_writable()
            if self._writer is None:
                self._writer = self._connect()
            session = Session(self._writer, self.location)
            committed, log_size = False, self._log_size()
            try:
                session.execute("BEGIN TRANSACTION")
                yield session
                session.execute("COMMIT")
                committed = True
            except StoreError as error:
                if WRITE_FAILURE.search(str(error.__cause__)):
                    self._failure = str(error)
                    if not COMMITTED.search(str(error.__cause__)) and self._log_size() > log_size:
                        os.truncate(self._log, log_size)
                raise
            finally:
                self.version += not keeps_vectors
                if not committed:
                    self._roll_back()

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Open a read-only transaction on a connection of its own: all its statements see one state. Raises StoreError."""
        with self._borrowed() as connection:
            session = Session(connection, self.location, self._check)
            session.execute("BEGIN TRANSACTION READ ONLY")
            yield session
            session.execute("COMMIT")

    def stream(self, name: str, /, **parameters: Any) -> Iterator[Row]:
        """Yield the rows of one reading statement one by one, from one state of the store. Raises StoreError."""
        text, bound = load(name, "ladybug").bind(**parameters)
        with self._borrowed() as connection:
            yield from rows_of(connection, text, bound, self.location, self._check)

    @contextmanager
    def _borrowed(self) -> Iterator[Any]:
        """Lend an idle reading connection, or a new one. One that met an error is not lent again."""
        with self._idle_lock:
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = self._connect()
        usable = False
        try:
            yield connection
            usable = True
        except GeneratorExit:
            usable = True
            raise
        finally:
            if usable:
                with self._idle_lock:
                    self._idle.append(connection)
            else:
                connection.close()

    def _connect(self) -> Any:
        import ladybug

        try:
            # The statements are small: sharing one out among threads costs more than it saves.
            return ladybug.Connection(self._database, num_threads=1)
        except RuntimeError as error:
            raise translate(str(error), self.location) from error

    def _require_unchanged(self) -> None:
        """Refuse to read on in a file that a writer has come to and checkpointed since. Raises StoreUnavailable."""
        path = Path(self.location)
        try:
            changed = snapshot.mark_of(path) != self._mark
        except OSError:
            changed = False  # Its name is gone, or its folder may no longer be looked into; the open file is what it was.
        if changed:
            raise StoreUnavailable(f"{path} was written to while it was being read", hint=snapshot.AGAIN)

    def _require_writable(self) -> None:
        if self._failure:
            raise StoreUnavailable(f"{self.location} took no more writes after: {self._failure}", hint="Start again.")
        if self._lacking_space():
            raise StoreUnavailable(f"the disk of {self.location} is full", hint="Free some space and run the same again.")

    def _lacking_space(self) -> bool:
        folder = os.statvfs(Path(self.location).parent)
        return folder.f_bavail * folder.f_frsize < SPARE_BYTES + 4 * self._log_size()

    def _log_size(self) -> int:
        return self._log.stat().st_size if self._log.exists() else 0

    def _roll_back(self) -> None:
        # The engine has rolled back by itself where a statement failed; then there is nothing left to roll back.
        with suppress(StoreError):
            Session(self._writer, self.location).execute("ROLLBACK")


def open_engine(path: Path, *, read_only: bool, timeout: float) -> Engine:
    """Return the engine on `path`, which is made with its folder unless `read_only`; every call wants one `close`.

    Waits up to `timeout` seconds for a lock that another process holds, then raises StoreLocked. Raises StoreUnfit for what
    is no store or may not be used, StoreUnavailable for a full disk.
    """
    _require_file(path, read_only=read_only)
    key = os.path.realpath(path)
    with _engines_lock:
        engine = _engines.get(key)
        if engine is not None:
            return engine.share(read_only=read_only)
        if not read_only and not path.exists():
            _create(path)
        database, mark = _open(path, read_only=read_only, timeout=timeout)
        engine = _engines[key] = Engine(key, str(path), database, read_only=read_only, mark=mark)
        return engine


def rows_of(
    connection: Any, text: str, parameters: dict[str, Any] | None, location: str, check: Callable[[], None] | None = None
) -> Iterator[Row]:
    """Execute a text and yield its rows as dictionaries, each after a `check`. Raises StoreError, never the engine's own."""
    try:
        result = connection.execute(text, parameters or {})
        try:
            names = result.get_column_names()
            while result.has_next():
                row = dict(zip(names, result.get_next(), strict=True))
                if check:
                    check()
                yield row
        finally:
            result.close()
    except (RuntimeError, IndexError, UnicodeError) as error:
        if check:
            check()
        raise translate(str(error), location) from error
    if check:
        check()


def _open(path: Path, *, read_only: bool, timeout: float) -> tuple[Any, snapshot.Mark | None]:
    """Open the database, waiting for the lock until the deadline, and past a log whose end was torn off."""
    import ladybug

    start = time.monotonic()
    pause = FIRST_PAUSE
    options: dict[str, Any] = {}
    while True:
        try:
            if not read_only:
                return ladybug.Database(str(path), **options), None
            with snapshot.readable(path, timeout) as (place, mark):
                return ladybug.Database(str(place), read_only=True, **options), mark
        except RuntimeError as error:
            message, cause = str(error), error
        except OSError as error:
            raise StoreUnfit(f"{path} may not be read: {error.strerror}", hint="Check its permissions.") from error
        except (ValueError, IndexError, OverflowError) as error:
            # What the engine's own reading of a broken file runs into.
            raise StoreUnfit(f"{path} is damaged", hint="Restore it from a backup, or name another file by --store.") from error
        waited = time.monotonic() - start
        torn = TORN_LOG.search(message) or (BROKEN_RECORD.search(message) and Path(f"{path}.wal").exists())
        if torn and not options:
            _keep_torn_log(path, read_only=read_only)
            options = {"throw_on_wal_replay_failure": False}
            continue
        patience = timeout if LOCK.search(message) else 0.0
        if read_only and (CHECKPOINT_RACE.search(message) or RECOVERY_PENDING.search(message)):
            patience = min(RACE_SECONDS, timeout)
        if waited >= patience:
            raise translate(message, str(path)) from cause
        if patience > RACE_SECONDS and pause == FIRST_PAUSE:
            said = "another process has the store open; waiting for it"
            event(said, level=logging.WARNING, location=str(path), seconds=timeout)
        time.sleep(min(pause, max(patience - waited, 0.0)))
        pause = min(pause * 1.5, 0.5)


def _require_file(path: Path, *, read_only: bool) -> None:
    """Refuse what the engine would misread or misname. Only looks at the names: opening the file could drop our lock."""
    if "\0" in str(path):
        raise StoreUnfit(f"{str(path)!r} cannot be a file's name", hint="Name another file by --store.")
    try:
        if path.is_dir():
            raise StoreUnfit(f"{path} is a folder; an embedded store is a file", hint=f"Name a file: {path / 'graph.lbug'}")
        if path.exists():
            if path.stat().st_size == 0:
                raise StoreUnfit(f"{path} is an empty file, not a store", hint="Remove it, or restore it from a backup.")
            _require_rights(path, read_only=read_only)
        elif read_only:
            raise StoreUnfit(f"there is no store at {path}", hint="`drag-graph distill` makes one.")
        if not read_only:
            path.parent.mkdir(parents=True, exist_ok=True)
            _require_folder(path.parent)
    except OSError as error:
        raise StoreUnfit(f"{path} cannot be a store: {error.strerror}", hint="Name another file by --store.") from error


def _require_rights(path: Path, *, read_only: bool) -> None:
    if not os.access(path, os.R_OK if read_only else os.R_OK | os.W_OK):
        raise StoreUnfit(f"{path} may not be {'read' if read_only else 'written'}", hint="Check its permissions.")
    log = Path(f"{path}.wal")
    if log.exists() and not os.access(log, os.R_OK):
        raise StoreUnfit(f"the log {log} of the store may not be read", hint="Check its permissions.")


def _require_folder(folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StoreUnfit(f"the folder {folder} may not be written to", hint="Check its permissions.")
    if os.statvfs(folder).f_blocks == 0:
        # Such as /proc, which would otherwise be called a full disk.
        raise StoreUnfit(f"{folder} is no place for files", hint="Name another file by --store.")


def _create(path: Path) -> None:
    """Make an empty database beside `path` and give it its name, so that a file of that name is never half-made."""
    import ladybug

    free = os.statvfs(path.parent)
    if free.f_bavail * free.f_frsize < SPARE_BYTES:
        raise StoreUnavailable(f"the disk of {path} is full", hint="Free some space and run the same again.")
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        ladybug.Database(str(draft)).close()
        try:
            os.link(draft, path)
        except FileExistsError:
            return  # Another process was faster; its file is as good.
        except OSError:
            draft.rename(path)  # A file system without hard links.
    except (RuntimeError, OSError) as error:
        raise translate(str(error), str(path)) from error
    finally:
        draft.unlink(missing_ok=True)


def _keep_torn_log(path: Path, *, read_only: bool) -> None:
    """Copy the log aside before it is replayed up to its torn end, as opening empties it. Raises StoreUnavailable."""
    # To a reader it is nothing odd: a writer may be in the middle of a record.
    event("store.torn_log", level=logging.INFO if read_only else logging.WARNING, location=str(path))
    if read_only:
        return
    log = Path(f"{path}.wal")
    try:
        if log.exists():
            shutil.copyfile(log, f"{log}.torn")
    except OSError as error:
        raise StoreUnavailable(f"the log of {path} cannot be copied: {error.strerror}", hint="Free some space.") from error


def _leak(*objects: Any) -> None:
    """Keep objects alive past the interpreter's end: their destructors would abort the process."""
    for item in objects:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(item))
