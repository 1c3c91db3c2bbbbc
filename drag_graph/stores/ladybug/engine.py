"""The embedded engine below `LadybugStore`: one shared database a file, its connections, transactions and errors.

What was measured of ladybug 0.22 and is held to here:

- Its lock on the file belongs to the process (POSIX). A second database on the file could be opened in this process, and
  closing it would release the lock. So all stores of a file share one `Engine`, and nothing else opens the file.
- Only one transaction can write at a time; a second writing connection crashes the engine. So there is one, behind a lock.
  Reading connections see committed data only; each serves one thread at a time.
- After a failed write (a full disk), closing the engine aborts the process. So it is never closed: it refuses further writes,
  and its log is truncated to the end of the last transaction.
- A prepared statement keeps a closed database open: its checkpoint then waits until the statement is freed. So errors are
  raised without the frames that hold one.
- A reader takes no lock, and a checkpoint of another process changes the file under it: see `store_files`.
- A log whose end is torn (a kill between two pages) is refused, unless the engine is told to replay it up to there. It is told
  so: nobody heard that the torn transaction is stored. A copy of the log is kept, should the damage be another one.
"""

import ctypes
import os
import shutil
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import ladybug

from drag_graph.errors import StoreError, StoreLocked, StoreUnavailable, StoreUnfit
from drag_graph.ports.graph_store import QueryRows
from drag_graph.stores.ladybug import store_files as files
from drag_graph.stores.ladybug.ladybug_errors import COMMITTED, WRITE_FAILURE, translate
from drag_graph.stores.ladybug.ladybug_transaction import LadybugTransaction, Plans, read_rows
from drag_graph.stores.shared.transaction import Row

COMPACTING_ROOM = 2
"""Required free space as a multiple of the file's size: for the exported tables and the new file."""
READ_PATIENCE = 30.0
"""Seconds that a compaction waits for readers in this process."""

CHANGED_AT_MOST = 1_000
"""Maximum number of changed vectors to read by id; beyond it, all are read again."""

_engines: dict[str, "Engine"] = {}
_places: dict[str, threading.Lock] = {}
"""A lock for each file, so that waiting for one file does not block another."""
_places_lock = threading.Lock()


class Engine:
    """An open database file, shared by all stores of this process that are on it (see `open_engine`)."""

    def __init__(self, key: str, location: str, database: Any, *, read_only: bool, mark: files.Mark | None = None) -> None:
        self.location = location
        self.read_only = read_only
        self.version = 0
        """Grows with every write of this process that may change a vector: what a cache of vectors is checked against."""
        self._changed: dict[str, int] = {}
        self._changed_lock = threading.Lock()
        self._any_changed = 0
        self.upgrading = threading.Lock()
        """Held by the one of this process's stores that migrates the file; other processes are kept out by the file's lock."""
        self._key = key
        self._log = Path(f"{key}.wal")  # `location` may be relative to a folder that the process leaves
        self._database = database
        self._mark = mark
        self.users = 1
        self._write_lock = threading.RLock()
        self._idle: list[Any] = []
        self._reading = threading.Condition()
        self._readers = 0
        self._is_waited_for = False
        self._writer: Any = None
        self._plans = Plans()
        self._failure, self._is_closed = "", False
        """Why nothing is written any more; whether another process took the compacted file, which the next write opens."""

    def close(self) -> None:
        """Release one use; the last one closes the connections and the file (which checkpoints it).

        It waits for a write that is under way in another thread.
        """
        with _place_of(self._key):
            if self.users > 1:
                self.users -= 1
                return
        with self._write_lock, _place_of(self._key):
            self.users -= 1
            if self.users:
                return
            del _engines[self._key]
            connections = self._take_connections()
            if self._is_closed:
                return
            if self._failure or (not self.read_only and self._lacking_space()):
                _leak(self._database, *connections)
                return
            for connection in connections:
                connection.close()
            self._database.close()

    def _take_connections(self) -> list[Any]:
        """Take all connections that nobody uses."""
        with self._reading:
            connections = [*self._idle, *([self._writer] if self._writer else [])]
            self._idle, self._writer = [], None
        return connections

    def compact(self, patience: float = READ_PATIENCE) -> None:
        """Replace the file by a new one with live data only, so that no file contains deleted text.

        Other writers are locked out; readers wait only while the files are swapped. If the process is killed, either the old
        or the new file is in place. Raises StoreLocked if this process keeps reading for longer than `patience` seconds, or
        another one opens the file; StoreUnavailable if there is no space, or the file cannot be replaced.
        """
        with self._write_lock:
            self._require_writable()
            path = Path(self.location)
            if self.free_bytes() < COMPACTING_ROOM * path.stat().st_size + files.SPARE_BYTES:
                raise StoreUnavailable(f"There is no space for a second file next to {path}.", hint="Free some disk space.")
            with files.draft_beside(path) as draft:
                self._write_draft(draft)
                with self._without_readers(patience):
                    self._swap(draft, path, patience)

    def _swap(self, draft: Path, path: Path, patience: float) -> None:
        """Put a file in the place of the open one, and open it. Where that fails, the old one is opened again."""
        for connection in self._take_connections():
            connection.close()
        self._database.close()
        self._is_closed = True
        try:
            with files.put_in_place(draft, path):
                self._reopen(path, patience)
        except StoreError:
            if self._is_closed:
                self._reopen(path, patience)
            raise

    def _reopen(self, path: Path, patience: float) -> None:
        self._database, _ = files.open_database(path, read_only=False, timeout=patience)
        self._is_closed = False
        self._note_changed(None)

    def _write_draft(self, draft: Path) -> None:
        connection = self._connect()
        try:
            loads = files.write_tables(LadybugTransaction(connection, self.location).execute, draft.parent)
        finally:
            connection.close()
        database = ladybug.Database(str(draft), compression=files.COMPRESSION)
        try:
            connection = ladybug.Connection(database)
            files.read_tables(LadybugTransaction(connection, str(draft)).execute, loads)
        except BaseException:
            _leak(database, connection)  # a COPY that failed has broken its memory
            raise
        connection.close()
        database.close()

    @contextmanager
    def _without_readers(self, patience: float) -> Iterator[None]:
        """Run the block while nobody in this process reads. Raises StoreLocked."""
        with self._reading:
            self._is_waited_for = True
            is_free = self._reading.wait_for(lambda: self._readers == 0, patience)
            self._is_waited_for = False
            self._reading.notify_all()
            if not is_free:
                raise StoreLocked(
                    f"This process is still reading {self.location}.", hint="Try again when the reading has ended."
                )
            yield

    @contextmanager
    def writing(self) -> Iterator[LadybugTransaction]:
        """Open the writing transaction: committed at the end of the block, rolled back by any exception. Raises StoreError."""
        with self._write_lock:
            self._require_writable()
            if self._plans.are_old():
                for connection in self._take_connections():
                    connection.close()
            if self._writer is None:
                self._writer = self._connect()
            session = LadybugTransaction(self._writer, self.location, plans=self._plans)
            committed = False
            try:
                with self._committed(session):
                    yield session
                committed = True
            finally:
                self._note_changed(session.changed_vectors if committed else None)
                if not committed:
                    with suppress(StoreError):  # the engine has rolled back by itself if a statement failed
                        LadybugTransaction(self._writer, self.location).execute("ROLLBACK")

    def _note_changed(self, ids: Collection[str] | None) -> None:
        """Note the nodes whose vectors a write may have changed; None is any."""
        with self._changed_lock:
            self.version += ids is None or bool(ids)
            self._changed |= dict.fromkeys(ids or (), self.version)
            if ids is None or len(self._changed) > CHANGED_AT_MOST:
                self._changed, self._any_changed = {}, self.version

    def changed_since(self, version: int) -> list[str] | None:
        """Return the ids of the nodes whose vectors may have changed since a version; None where it may be any."""
        with self._changed_lock:
            return None if version < self._any_changed else [id_ for id_, last in self._changed.items() if last > version]

    @contextmanager
    def reading(self) -> Iterator[LadybugTransaction]:
        """Open a read-only transaction on a connection of its own: all its statements see one state. Raises StoreError."""
        with self._borrowed() as connection:
            session = LadybugTransaction(connection, self.location, self._require_unchanged, self._plans)
            session.execute("BEGIN TRANSACTION READ ONLY")
            yield session
            session.execute("COMMIT")

    def stream(self, name: str, /, **parameters: Any) -> Iterator[Row]:
        """Yield the rows of one reading statement one by one, from one state of the store. Raises StoreError."""
        with self._borrowed() as connection:
            yield from LadybugTransaction(connection, self.location, self._require_unchanged).stream(name, **parameters)

    def query(self, statement: str, limit: int, seconds: float) -> QueryRows:
        """Return what a person's statement reads (`read_rows`)."""
        with self._borrowed(fresh=True) as connection:
            rows = read_rows(connection, statement, limit, seconds, self.location)
            self._require_unchanged()
            return rows

    @contextmanager
    def _borrowed(self, *, fresh: bool = False) -> Iterator[Any]:
        """Yield an idle reading connection, or a new one. A connection with an error, or a `fresh` one, is not used again."""
        with self._reading:
            self._reading.wait_for(lambda: not self._is_waited_for)
            self._readers += 1
            connection = self._idle.pop() if self._idle and not fresh else None
        usable = False
        try:
            if connection is None:
                connection = self._connect()
            yield connection
            usable = not fresh
        except GeneratorExit:
            usable = True
            raise
        finally:
            if not usable and connection is not None:
                connection.close()
            with self._reading:
                self._idle += [connection] if usable else []
                self._readers -= 1
                self._reading.notify_all()

    def _connect(self) -> Any:
        try:
            # The statements are small: sharing one out among threads costs more than it saves.
            return ladybug.Connection(self._database, num_threads=1)
        except RuntimeError as error:
            raise translate(str(error), self.location) from error

    def _require_unchanged(self) -> None:
        """Refuse to read on in a file that a writer has come to and checkpointed since. Raises StoreUnavailable."""
        if self._mark is None:
            return
        with suppress(OSError):  # The name was removed or the folder is not accessible; the open file is unchanged.
            if files.mark_of(Path(self.location)) != self._mark:
                raise StoreUnavailable(f"{self.location} was written to while it was being read.", hint=files.AGAIN)

    def _require_writable(self) -> None:
        if self.read_only:
            raise StoreUnfit(f"{self.location} is open for reading only.", hint="Open it for writing.")
        if self._failure:
            raise StoreUnavailable(
                f"{self.location} accepts no more writes after an error. {self._failure}", hint="Start the program again."
            )
        if self._is_closed:
            self._reopen(Path(self.location), READ_PATIENCE)
        if self._lacking_space():
            raise StoreUnavailable(
                f"The disk of {self.location} is full.", hint="Free some space and run the same command again."
            )

    @contextmanager
    def _committed(self, session: LadybugTransaction) -> Iterator[None]:
        """Begin a transaction and commit it at the end of the block; the caller handles failures.

        After a failed write nothing more is written, and the log is truncated to its previous size.
        """
        log_size = self._log_size()
        try:
            session.execute("BEGIN TRANSACTION")
            yield
            session.execute("COMMIT")
            files.protect(self._log, Path(self.location))
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
        try:
            return shutil.disk_usage(Path(self._key).parent).free
        except FileNotFoundError:  # the folder has been removed
            return 0

    def _log_size(self) -> int:
        return self._log.stat().st_size if self._log.exists() else 0


def open_engine(path: Path, *, read_only: bool, timeout: float) -> Engine:
    """Return the engine on `path`, which is made with its folder unless `read_only`; every call wants one `close`.

    Waits up to `timeout` seconds for a lock that another process holds, then raises StoreLocked. Raises StoreUnfit for what
    is no store or may not be used, StoreUnavailable for a full disk.
    """
    files.require_file(path, read_only=read_only)
    key = os.path.realpath(path)
    with _place_of(key):
        engine = _engines.get(key)
        if engine is not None:
            if engine.read_only and not read_only:
                raise StoreLocked(f"{path} is open in this process for reading only.", hint="Close it there first.")
            engine.users += 1
            return engine
        if not read_only and not path.exists():
            files.create(path)
        database, mark = files.open_database(path, read_only=read_only, timeout=timeout)
        engine = _engines[key] = Engine(key, str(path), database, read_only=read_only, mark=mark)
        return engine


def is_written_elsewhere(path: Path) -> bool:
    """Return whether another process has the file open for writing. Looking at it would drop a lock of this process."""
    key = os.path.realpath(path)
    with _place_of(key):
        engine = _engines.get(key)
        try:
            return (engine is None or engine.read_only) and files.is_being_written(path)
        except OSError:
            return False


def _place_of(key: str) -> threading.Lock:
    with _places_lock:
        return _places.setdefault(key, threading.Lock())


def _leak(*objects: Any) -> None:
    """Keep objects alive until after the interpreter has ended, because their destructors would abort the process."""
    for item in objects:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(item))
