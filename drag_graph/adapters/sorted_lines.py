"""Sorting more lines than fit into memory: sorted runs on disk, merged."""

import heapq
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import IO

from drag_graph.errors import ConfigurationError

RUN = 64_000_000
"""Characters that are sorted in memory at once; a run of so many goes into a temporary file."""


def sorted_lines(lines: Iterable[str], run: int = RUN) -> Iterator[str]:
    """Yield lines without line ends as `sorted` does, with at most `run` characters of them in memory.

    Raises ConfigurationError where the temporary files cannot be written.
    """
    with ExitStack() as opened:
        runs: list[IO[str]] = []
        batch: list[str] = []
        size = 0
        for line in lines:
            batch.append(line)
            size += len(line)
            if size >= run:
                runs.append(opened.enter_context(_written(sorted(batch))))
                batch, size = [], 0
        batch.sort()
        if not runs:
            yield from batch
            return
        yield from heapq.merge(batch, *(map(_without_end, file) for file in runs))


def _written(lines: list[str]) -> IO[str]:
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


def _without_end(line: str) -> str:
    return line.removesuffix("\n")
