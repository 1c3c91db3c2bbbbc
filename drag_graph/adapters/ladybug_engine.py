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
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from drag_graph.adapters import ladybug_files as files
from drag_graph.adapters import ladybug_snapshot as snapshot
from drag_graph.adapters.ladybug_errors import COMMITTED, WRITE_FAILURE, translate
from drag_graph.errors import StoreError, StoreLocked, StoreUnavailable, StoreUnfit
from drag_graph.queries import load

Row = dict[str, Any]

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
        self._write_lock = threading.RLock()
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
        """Release one use; the last one closes the connections and the file (which checkpoints it).

        It waits for a write that is under way in another thread.
        """
        with _engines_lock:
            if self._users > 1:
                self._users -= 1
                return
        with self._write_lock, _engines_lock:
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

    def alone(self) -> AbstractContextManager[Any]:
        """Keep this process's other writers out, over several transactions of this thread."""
        return self._write_lock

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
            committed = False
            try:
                with self._committed(session):
                    yield session
                committed = True
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

    @contextmanager
    def _committed(self, session: Session) -> Iterator[None]:
        """Begin a transaction and commit it at the end of the block; what is to be done where it fails is the caller's.

        After a failure to write nothing more is written, and the log is cut back to its size before.
        """
        log_size = self._log_size()
        try:
            session.execute("BEGIN TRANSACTION")
            yield
            session.execute("COMMIT")
        except StoreError as error:
            if WRITE_FAILURE.search(str(error.__cause__)):
                self._failure = str(error)
                if not COMMITTED.search(str(error.__cause__)) and self._log_size() > log_size:
                    os.truncate(self._log, log_size)
            raise

    def _lacking_space(self) -> bool:
        return self.free_bytes() < files.SPARE_BYTES + 4 * self._log_size()

    def free_bytes(self) -> int:
        """Return how many bytes may still be written to the disk of the file."""
        folder = os.statvfs(Path(self.location).parent)
        return folder.f_bavail * folder.f_frsize

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
    files.require_file(path, read_only=read_only)
    key = os.path.realpath(path)
    with _engines_lock:
        engine = _engines.get(key)
        if engine is not None:
            return engine.share(read_only=read_only)
        if not read_only and not path.exists():
            files.create(path)
        database, mark = files.open_database(path, read_only=read_only, timeout=timeout)
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


def _leak(*objects: Any) -> None:
    """Keep objects alive past the interpreter's end: their destructors would abort the process."""
    for item in objects:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(item))
