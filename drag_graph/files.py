"""Write files atomically, and hash them."""

import gzip
import hashlib
import io
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, BinaryIO, TextIO, cast

from drag_graph.errors import ConfigurationError

_LEVEL = 6
"""Compression level, the default of gzip."""
_GZIP = b"\x1f\x8b"


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

    It is a temporary file next to `path`, which is synced and renamed. Devices and pipes are written directly. If the name ends
    in `.gz` it is compressed, equal texts to equal bytes. Raises ConfigurationError if `path` cannot be written; then it is
    unchanged.
    """
    temporary = ""
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as device:
                yield from _text(device, path)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            temporary = file.name
            yield from _text(cast("IO[bytes]", file), path)
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


def _text(file: IO[bytes], path: Path) -> Iterator[TextIO]:
    packed = gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) if path.suffix == ".gz" else None
    text = io.TextIOWrapper(cast("IO[bytes]", packed or file), encoding="utf-8", newline="\n")
    try:
        yield text
    finally:
        text.detach()
        if packed:
            packed.close()


def binary_lines(path: Path, stream: BinaryIO | None, *, limit: int) -> Iterator[bytes]:
    """Yield the lines of a file, or of `stream` instead, decompressed if needed. A line is cut after `limit` bytes.

    Raises OSError, and EOFError or zlib.error if the compressed data is damaged.
    """
    with ExitStack() as opened:
        source = stream or opened.enter_context(path.open("rb"))
        buffered = source if isinstance(source, io.BufferedReader) else io.BufferedReader(cast("io.RawIOBase", source))
        is_packed = buffered.peek(len(_GZIP))[: len(_GZIP)] == _GZIP
        file = io.BufferedReader(cast("io.RawIOBase", gzip.GzipFile(fileobj=buffered))) if is_packed else buffered
        while line := file.readline(limit + 1):
            rest = line
            while len(line) > limit and not rest.endswith(b"\n") and (rest := file.readline(limit)):
                pass
            yield line
