"""Write files atomically, and hash them."""

import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from drag_graph.errors import ConfigurationError, InputError


def sha256_of_file(path: Path) -> str:
    """Return the SHA-256 of a file's content in hexadecimal. A file that has not changed is not read again."""
    status = path.stat()
    return _sha256(path.resolve(), status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=16)
def _sha256(path: Path, _size: int, _changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines to `path`, as `replacing` does."""
    with replacing(path) as file:
        file.writelines(line + "\n" for line in lines)


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """Lend a text file (UTF-8) that replaces `path` when the block ends without an error. Only its owner may read it.

    It is a temporary file next to `path`, which is synced and renamed. Devices and pipes are written directly. Raises
    ConfigurationError if `path` cannot be written; then it is unchanged.
    """
    temporary = ""
    try:
        if path.exists() and not path.is_file():
            with path.open("w", encoding="utf-8", newline="\n") as device:
                yield device
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="\n", dir=path.parent, delete=False) as file:
            temporary = file.name
            yield cast("TextIO", file)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
        temporary = ""
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigurationError(f"Cannot write {path}: {reason}.", hint="Choose another file.") from error
    finally:
        if temporary:
            Path(temporary).unlink(missing_ok=True)


@contextmanager
def opened(path: Path, hint: str = "") -> Iterator[BinaryIO]:
    """Open a file to read it. Raises InputError if that fails, now or within the block."""
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror or type(error).__name__}.", hint=hint) from error


def bounded_lines(file: BinaryIO, limit: int) -> Iterator[bytes]:
    """Yield the lines of a binary file. Of a longer line, `limit` bytes and one more are returned."""
    while line := file.readline(limit + 1):
        rest = line
        while len(line) > limit and not rest.endswith(b"\n") and (rest := file.readline(limit)):
            pass
        yield line
