"""Reading files of subgraphs (`drag_graph.adapters.subgraph_lines`): plain or compressed, one line in memory at a time."""

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, cast

from drag_graph.adapters import subgraph_lines as lines
from drag_graph.errors import InputError, QueryInvalid
from drag_graph.exchange import Head, Line

LINE_LIMIT = 64_000_000
"""Bytes of a line."""
GZIP = b"\x1f\x8b"
AGAIN = "Make the file again with `drag-graph export --format subgraphs`; what was stored stays."
_MAKE = "Make one with `drag-graph export --format subgraphs -o FILE`."


def read(path: Path | None, stdin: BinaryIO) -> Iterator[Head | Line]:
    """Yield what is in a file of subgraphs, or where `path` is None in `stdin`; what is compressed is known by its first bytes.

    A Head comes first; a bad line is a Line with its reason. Several files may follow one another. Raises InputError, which
    names the file and the line, for what is no such file, of another version, or not whole.
    """
    name = str(path) if path is not None else "standard input"
    try:
        with ExitStack() as opened:
            file = opened.enter_context(path.open("rb")) if path is not None else stdin
            yield from read_lines(_bounded(_uncompressed(file)), name)
    except OSError as error:
        raise _unreadable(name, error) from error


def read_lines(found: Iterable[bytes], name: str) -> Iterator[Head | Line]:
    """Yield what is in the lines of a file of that name, as `read` does."""
    return _Reader(name).read(found)


def _unreadable(name: str, error: OSError) -> InputError:
    return InputError(f"{name} cannot be read: {error.strerror or type(error).__name__}", hint=_MAKE)


def _uncompressed(file: BinaryIO) -> BinaryIO:
    buffered = io.BufferedReader(cast("io.RawIOBase", file))
    if buffered.peek(len(GZIP))[: len(GZIP)] == GZIP:
        return cast("BinaryIO", io.BufferedReader(cast("io.RawIOBase", gzip.GzipFile(fileobj=buffered))))
    return cast("BinaryIO", buffered)


def _bounded(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines; of one that is too long the beginning. Raises _Damaged where a compressed file cannot be read on."""
    try:
        while line := file.readline(LINE_LIMIT + 1):
            rest = line
            while len(line) > LINE_LIMIT and not rest.endswith(b"\n") and (rest := file.readline(LINE_LIMIT)):
                pass
            yield line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _Damaged(f"the compressed file is cut off or damaged: {error}") from error


class _Damaged(Exception):  # noqa: N818 - reads as what happened; it never leaves this module
    """What is behind this place cannot be read."""


class _Reader:
    """Where in a file the reading is: within a head and an end, or between."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._number = 0
        self._head: Head | None = None
        self._queries = self._ends = 0

    def read(self, found: Iterable[bytes]) -> Iterator[Head | Line]:
        """Yield heads and lines. Raises InputError."""
        try:
            for line in found:
                self._number += 1
                if line.strip():
                    yield from self._one(line.removeprefix(b"\xef\xbb\xbf") if self._number == 1 else line)
        except _Damaged as error:
            self._number += 1
            raise self._unusable(str(error), hint=AGAIN) from error
        if self._head is not None:
            self._number += 1
            raise self._unusable(f"the file ends before its end; {self._queries} queries of it were read", hint=AGAIN)
        if not self._ends:
            raise InputError(f"{self._name} is empty", hint=_MAKE)

    def _one(self, line: bytes) -> Iterator[Head | Line]:
        try:
            document = lines.parsed(line, LINE_LIMIT)
        except QueryInvalid as error:
            if self._head is None:
                raise self._unusable(f"this is no file of subgraphs: {error}") from error
            self._queries += 1
            yield Line(self._number, problem=str(error))
            return
        if self._head is None:
            self._head, self._queries = self._head_of(document), 0
            yield self._head
        elif document.get("end") == lines.FORMAT:
            self._finish(document)
        elif "format" in document:
            raise self._unusable(f"another file begins before the end of this one; {self._queries} queries of it were read")
        else:
            self._queries += 1
            yield self._line(document, self._head)

    def _line(self, document: dict[str, Any], head: Head) -> Line:
        try:
            return Line(self._number, stored=lines.stored_of(document, head))
        except QueryInvalid as error:
            return Line(self._number, problem=str(error))

    def _head_of(self, document: dict[str, Any]) -> Head:
        if document.get("format") != lines.FORMAT:
            if "kind" in document and "properties" in document:
                raise self._unusable("this is a canonical export, which is for comparing stores")
            raise self._unusable(f"this is no file of subgraphs: its first line has no format {lines.FORMAT!r}")
        version = document.get("version")
        if version != lines.VERSION:
            raise self._unusable(
                f"the file is of version {version!r}, and this program reads {lines.VERSION}", hint="Update drag-graph."
            )
        try:
            return lines.head_of(document)
        except QueryInvalid as error:
            raise self._unusable(str(error)) from error

    def _finish(self, document: dict[str, Any]) -> None:
        if document.get("queries") != self._queries:
            said = f"the file says that it holds {document.get('queries')!r} queries, and {self._queries} were read"
            raise self._unusable(said, hint=AGAIN)
        self._head, self._ends = None, self._ends + 1

    def _unusable(self, sentence: str, hint: str = _MAKE) -> InputError:
        return InputError(f"{self._name}:{self._number}: {sentence}", hint=hint)
