"""Files of an embedded store: checking, opening, copying and creating them.

The engine's readers take no lock. Measured with ladybug 0.22: a reader replays the log in memory when it opens the file, and
later reads pages from the file when it needs them. If another process makes a checkpoint, these pages change: most reads then
fail with a misleading error, and some return wrong rows without an error. Between two checkpoints only the log grows. So while
another process writes, the file and its log are copied between two checkpoints, and the copy is read. Otherwise the file itself
is read, and each read is checked.
"""

import ctypes
import functools
import logging
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeAlias

import ladybug

from drag_graph.errors import StoreLocked, StoreUnavailable, StoreUnfit
from drag_graph.log import event
from drag_graph.stores.ladybug import ladybug_errors as messages
from drag_graph.stores.shared import migrations as migrate
from drag_graph.stores.shared.cypher_files import load

Mark: TypeAlias = tuple[int, int, int]
"""A file's inode, its size in bytes and when it was last modified, in nanoseconds: it changes with every checkpoint."""

AGAIN = "Run the same command again."
_PAUSE = 0.02
"""Seconds between two looks. A file must have stood still for as long, as the clock of a file system ticks every few ms."""
_CHECKPOINTING = (".shadow", ".wal.checkpoint")
"""Suffixes of files that exist during a checkpoint."""


def mark_of(path: Path) -> Mark:
    """Return the mark of a file. Raises OSError."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


@contextmanager
def readable(path: Path, timeout: float) -> Iterator[tuple[Path, Mark | None]]:
    """Give the file to open for reading: `path` and its mark, or a copy (and None) while another process writes.

    The copy is removed at the end of the block: by then the engine has it open and needs its name no more. To be called only
    while this process has the file not open, whose lock would be lost. Raises StoreUnavailable when the writer did not let
    the file stand still for `timeout` seconds, and when there is no room for a copy; OSError for a file that cannot be read.
    """
    deadline = time.monotonic() + timeout
    while True:
        mark = mark_of(path)
        if not is_being_written(path):
            yield path, mark
            return
        if not _is_checkpointing(path) and abs(time.time_ns() - mark[2]) > _PAUSE * 1e9:
            with tempfile.TemporaryDirectory(prefix="drag-graph-") as folder:
                copy = _copy(path, Path(folder))
                if mark_of(path) == mark and not _is_checkpointing(path):
                    yield copy, None
                    return
        if time.monotonic() >= deadline:
            raise StoreUnavailable(f"Another process keeps writing to {path}.", hint=AGAIN)
        time.sleep(_PAUSE)


def is_being_written(path: Path) -> bool:
    """Return whether another process has the writer's lock on the file. Raises OSError for a file that cannot be opened."""
    with path.open("rb") as file:
        return not lock(file, shared=True)


def lock(file: IO[bytes], *, shared: bool = False) -> bool:
    """Take the lock that the engine takes on its file, and return whether it could be had; closing the file releases it.

    True where there are no such locks: on a file system without them, and on Windows, which refuses to open a locked file.
    """
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.lockf(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    return True


def _is_checkpointing(path: Path) -> bool:
    return any(Path(f"{path}{end}").exists() for end in _CHECKPOINTING)


def _copy(path: Path, folder: Path) -> Path:
    copy = folder / path.name
    try:
        shutil.copyfile(path, copy)
        # There is no log right after a checkpoint.
        with suppress(FileNotFoundError):
            shutil.copyfile(f"{path}.wal", f"{copy}.wal")
    except OSError as error:
        raise StoreUnavailable(
            f"{path} is being written to, and no copy to read can be made in {folder.parent}: {error.strerror}.",
            hint="Free some space there, or wait until the writer is done.",
        ) from error
    return copy


Execute = Callable[[str], list[dict[str, Any]]]
"""Executes a text and returns its rows."""


def write_tables(execute: Execute, folder: Path) -> list[str]:
    """Write every table of a store to a file in `folder`; return the texts that read them again, nodes first."""
    loads = []
    tables = execute(_text("show_tables"))
    for table in sorted(tables, key=lambda row: (row["type"] != "NODE", row["name"])):
        name = table["name"]
        file = _quoted(folder / f"{name}.parquet")
        write = "compact_nodes" if table["type"] == "NODE" else "compact_relationships"
        execute(_text(write, table=name, file=file))
        loads.append(_text("compact_load", table=name, file=file))
    return loads


def read_tables(execute: Execute, loads: list[str]) -> None:
    """Create the schema in an empty database and read all tables into it, including the history of migrations."""
    for _, statements in migrate.known("ladybug"):
        for text in statements:
            execute(text)
    for text in loads:
        execute(text)


def _text(statement: str, **names: str) -> str:
    """Return a statement with the names of tables and files inserted, which cannot be parameters."""
    text, _ = load(statement, "ladybug").bind()
    for key, value in names.items():
        text = text.replace(f"<{key}>", value)
    return text


def _quoted(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace("'", "\\'")


_PERTURB = -6
"""glibc's M_PERTURB: fill memory that is handed out with the complement of a byte, and memory that is let go with the byte."""


@functools.cache
def hand_out_zeros() -> None:
    """Make the allocator return zeroed memory from now on. Works with glibc only (docs/explanation/privacy.md).

    Blocks of about a kilobyte and less may be handed out as they were. Writing a store and embedding take no longer by it.
    """
    if sys.platform == "linux" and (ask := getattr(ctypes.CDLL(None), "mallopt", None)):
        ask(_PERTURB, 0xFF)


SPARE_BYTES = 8 * 1024 * 1024
"""Minimum free disk space for writing, in addition to four times the size of the log, which a checkpoint needs."""
COMPRESSION = False
"""ladybug 0.22 loses lists of numbers if a table was created with compression. If a column has vectors that are mostly zeros,
a vector added later is all zeros after the checkpoint."""
CHECKPOINT_BYTES = 128 * 1024 * 1024
"""Size of the log that triggers a checkpoint. A checkpoint rewrites much of the file, so frequent ones are slow."""
DRAFT = ".compacting"
"""Suffix of a compaction's folder, which remains if the compaction is killed."""
LENIENT = "throw_on_wal_replay_failure"
FIRST_PAUSE = 0.02
RACE_SECONDS = 2.0
"""How long a reader retries if a writer starts or ends, with a checkpoint, while it opens the file."""


def open_database(path: Path, *, read_only: bool, timeout: float) -> tuple[Any, Mark | None]:
    """Open the database. Waits for the lock until the deadline, and accepts a log with a torn end."""
    start = time.monotonic()
    pause = FIRST_PAUSE
    log = Path(f"{path}.wal")
    cause: Exception
    options: dict[str, Any] = {"compression": COMPRESSION, "checkpoint_threshold": CHECKPOINT_BYTES}
    while True:
        try:
            if not read_only:
                hand_out_zeros()
                database = ladybug.Database(str(path), **options)
                shutil.rmtree(path.with_name(f".{path.name}{DRAFT}"), ignore_errors=True)  # nobody else compacts now
                return database, None
            with readable(path, timeout) as (place, mark):
                return ladybug.Database(str(place), read_only=True, **options), mark
        except RuntimeError as error:
            message, cause = str(error), error
            misread = messages.BROKEN_RECORD.search(message) is not None
        except OSError as error:
            raise StoreUnfit(f"{path} is not readable: {error.strerror}.", hint="Check its permissions.") from error
        except (ValueError, LookupError, OverflowError, MemoryError) as error:
            # Raised while the engine reads a broken file, or the torn end of a log.
            message, cause, misread = messages.DAMAGED, error, True
        waited = time.monotonic() - start
        torn = messages.TORN_LOG.search(message) or (misread and log.exists())
        if torn and LENIENT not in options:
            _keep_torn_log(path, read_only=read_only)
            options[LENIENT] = False
            continue
        patience = timeout if messages.LOCK.search(message) else 0.0
        if read_only and (messages.CHECKPOINT_RACE.search(message) or messages.RECOVERY_PENDING.search(message)):
            patience = min(RACE_SECONDS, timeout)
        if waited >= patience:
            raise messages.translate(message, str(path)) from cause
        if patience > RACE_SECONDS and pause == FIRST_PAUSE:
            event(
                "another process has the store open; waiting for it", level=logging.WARNING, location=str(path), seconds=timeout
            )
        time.sleep(min(pause, max(patience - waited, 0.0)))
        pause = min(pause * 1.5, 0.5)


def require_file(path: Path, *, read_only: bool) -> None:
    """Refuse what the engine would misread or misname. Only looks at the names: opening the file could drop our lock."""
    if "\0" in str(path):
        raise StoreUnfit(f"{str(path)!r} is not a valid file name.", hint="Choose another file with `store=FILE`.")
    try:
        if path.is_dir():
            raise StoreUnfit(
                f"{path} is a folder; an embedded store is a file.", hint=f"Choose a file, such as {path / 'graph.lbug'}."
            )
        if path.exists():
            if path.stat().st_size == 0:
                raise StoreUnfit(f"{path} is an empty file, not a store.", hint="Remove it, or restore it from a backup.")
            _require_rights(path, read_only=read_only)
        elif read_only:
            raise StoreUnfit(
                f"There is no store at {path}.", hint="Create one with `drag-graph distill` or `drag-graph ingest`."
            )
        if not read_only:
            # Questions may be private, so a new folder and its files are for their owner only.
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _require_folder(path.parent)
    except OSError as error:
        raise StoreUnfit(
            f"{path} cannot be used as a store: {error.strerror}.", hint="Choose another file with `store=FILE`."
        ) from error


def _require_rights(path: Path, *, read_only: bool) -> None:
    if not os.access(path, os.R_OK if read_only else os.R_OK | os.W_OK):
        raise StoreUnfit(f"{path} is not {'readable' if read_only else 'writable'}.", hint="Check its permissions.")
    log = Path(f"{path}.wal")
    if log.exists() and not os.access(log, os.R_OK):
        raise StoreUnfit(f"The log {log} of the store is not readable.", hint="Check its permissions.")


def _require_folder(folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StoreUnfit(f"The folder {folder} is not writable.", hint="Check its permissions.")
    if os.statvfs(folder).f_blocks == 0:
        # A folder such as /proc would otherwise be reported as a full disk.
        raise StoreUnfit(f"Files cannot be stored in {folder}.", hint="Choose another file with `store=FILE`.")


def create(path: Path) -> None:
    """Create an empty database next to `path` and rename it, so that `path` is never incomplete."""
    if shutil.disk_usage(path.parent).free < SPARE_BYTES:
        raise StoreUnavailable(f"The disk of {path} is full.", hint="Free some space and run the same command again.")
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    hand_out_zeros()
    try:
        ladybug.Database(str(draft), compression=COMPRESSION).close()
        draft.chmod(0o600)
        try:
            os.link(draft, path)
        except FileExistsError:
            return  # Another process was faster; its file is as good.
        except OSError:
            draft.rename(path)  # A file system without hard links.
    except (RuntimeError, OSError) as error:
        raise messages.translate(str(error), str(path)) from error
    finally:
        draft.unlink(missing_ok=True)


def protect(log: Path, path: Path) -> None:
    """Give a log the rights of its file: the engine makes it with those that the process has for new files."""
    with suppress(FileNotFoundError):
        mode = path.stat().st_mode & 0o777
        if log.stat().st_mode & 0o777 & ~mode:
            log.chmod(mode)


@contextmanager
def draft_beside(path: Path) -> Iterator[Path]:
    """Return the name of a file in a new folder next to `path`; the folder is removed at the end of the block."""
    folder = path.with_name(f".{path.name}{DRAFT}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    try:
        yield folder / path.name
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def put_in_place(draft: Path, path: Path) -> Iterator[None]:
    """Replace a closed file by another one, then run the block, which opens it.

    The old file stays locked until the end of the block, so that no other process can use it. Raises StoreLocked if another
    process has opened it already, StoreUnavailable if the system refuses.
    """
    try:
        with path.open("rb+") as old:
            if not lock(old) or Path(f"{path}.wal").exists():
                raise StoreLocked(
                    f"Another process opened {path} before it was compacted.",
                    hint="Run the same command again when that process has ended.",
                )
            draft.chmod(path.stat().st_mode & 0o777)
            with draft.open("rb") as new:
                os.fsync(new.fileno())
            draft.replace(path)
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
            yield
    except OSError as error:
        raise StoreUnavailable(f"Could not rewrite {path}: {error}.", hint="Run the same command again.") from error


def _keep_torn_log(path: Path, *, read_only: bool) -> None:
    """Save a copy of the log, because opening replays it up to its torn end and empties it. Raises StoreUnavailable."""
    # For a reader this is normal: a writer may be in the middle of a record.
    event("store.torn_log", level=logging.INFO if read_only else logging.WARNING, location=str(path))
    if read_only:
        return
    log = Path(f"{path}.wal")
    try:
        if log.exists():
            shutil.copyfile(log, f"{log}.torn")
    except OSError as error:
        raise StoreUnavailable(f"Cannot copy the log of {path}: {error.strerror}.", hint="Free some disk space.") from error
