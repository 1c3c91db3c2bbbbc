"""Sorting more lines than fit into memory: sorted runs on disk, merged."""

import heapq
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import IO

from drag_graph.errors import ConfigurationError

RUN = 16_000_000
"""Characters that are sorted in memory at once; a run of so many goes into a temporary file."""
TOGETHER = 64
"""Runs that are merged into a longer one, so that few files are open however many lines there are."""


def sorted_lines(lines: Iterable[str], run: int = RUN) -> Iterator[str]:
    """Yield lines without line ends as `sorted` does, with about `run` characters of them in memory.

    Raises ConfigurationError where the temporary files cannot be written.
    """
    with ExitStack() as opened:
        runs = _Runs(opened)
        batch: list[str] = []
        size = 0
        for line in lines:
            batch.append(line)
            size += len(line)
            if size >= run:
                batch.sort()
                runs.add(batch)
                batch, size = [], 0
        batch.sort()
        yield from heapq.merge(batch, *runs.all()) if runs.levels else batch


class _Runs:
    """Files of sorted lines. Those of a level are of about one length, and become one of the next when there are enough."""

    def __init__(self, opened: ExitStack) -> None:
        self._opened = opened
        self.levels: list[list[IO[str]]] = []

    def add(self, lines: Iterable[str], level: int = 0) -> None:
        """Keep sorted lines on disk."""
        file = self._opened.enter_context(_written(lines))
        if level == len(self.levels):
            self.levels.append([])
        self.levels[level].append(file)
        if len(self.levels[level]) == TOGETHER:
            merged, self.levels[level] = self.levels[level], []
            self.add(heapq.merge(*map(_lines, merged)), level + 1)
            for file in merged:
                file.close()

    def all(self) -> Iterator[Iterator[str]]:
        """Yield the lines of each file."""
        return (_lines(file) for files in self.levels for file in files)


def _written(lines: Iterable[str]) -> IO[str]:
    try:
        with ExitStack() as opened:
            file = opened.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n"))
            file.writelines(line + "\n" for line in lines)
            file.seek(0)
            opened.pop_all()
    except OSError as error:
        hint = "Free some space there, or name another folder by TMPDIR."
        raise ConfigurationError(f"{tempfile.gettempdir()} cannot be written: {error.strerror}", hint=hint) from error
    return file


def _lines(file: IO[str]) -> Iterator[str]:
    return (line.removesuffix("\n") for line in file)
