"""Reading input files (design, section 6): JSON lines, streamed."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from drag_graph.errors import InputError
from drag_graph.inputs import LINE_LIMIT, InputLine, parse_lines
from drag_graph.model import DEFAULT_NAMESPACE, Domain


def read_queries(path: Path, *, namespace: str = DEFAULT_NAMESPACE, domain: Domain | None = None) -> Iterator[InputLine]:
    """Yield the lines of a JSONL file as queries, in order; blank lines are passed over.

    `domain` is for lines that name none. Raises InputError when the file cannot be opened or is no text at all.
    """
    try:
        with path.open("rb") as file:
            yield from parse_lines(_bounded_lines(file), namespace=namespace, domain=domain)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"{path} cannot be read: {reason}", hint="Give the path of a JSONL file.") from error


def _bounded_lines(file: IO[bytes]) -> Iterator[bytes]:
    while line := file.readline(LINE_LIMIT + 2):
        if len(line) > LINE_LIMIT:
            while not line.endswith(b"\n") and (rest := file.readline(LINE_LIMIT)):
                line = line[:LINE_LIMIT] + b" " + rest[-1:]
        yield line
