"""Copies for readers while another process writes to the store, because the engine's readers take no lock.

Measured of ladybug 0.22: a reader has the log replayed in memory when it opens the file, and then takes pages from the file as
it needs them. A checkpoint of another process changes these pages under it: most reads after it fail in odd words, and some
give wrong rows without a word. Between two checkpoints the file stands still and only the log grows. So the file and its log
are copied between two checkpoints, and the copy is read. Where nobody writes, the file itself is read, and reads are checked.
"""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeAlias

from drag_graph.errors import StoreUnavailable

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
