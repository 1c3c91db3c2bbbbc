"""Reading input files: JSON lines or CSV with a header, streamed."""

import csv
import itertools
import json
import re
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

from drag_graph.errors import InputError
from drag_graph.inputs import LINE_LIMIT, InputLine, parse_lines
from drag_graph.model import DEFAULT_NAMESPACE, Domain

STANDARD = Path("-")
_OPTION = re.compile(r"[a-j]|(?:option|choice)[ _]?(?:[a-j]|\d+)")


def read_queries(path: Path, *, namespace: str = DEFAULT_NAMESPACE, domain: Domain | None = None) -> Iterator[InputLine]:
    """Yield the lines of a JSONL or CSV file as queries, in order; blank lines are passed over. The path - is standard input.

    `domain` is for lines that name none. Raises InputError when the file cannot be opened, or is JSON of another form.
    """
    try:
        with nullcontext(sys.stdin.buffer) if path == STANDARD else path.open("rb") as file:
            bounded = _bounded_lines(file)
            first, second = next(bounded, b""), next(bounded, b"")
            head = first.removeprefix(b"\xef\xbb\xbf").strip()
            _check_form(path, head, second.strip())
            rest = itertools.chain([second], bounded)
            lines = _rows(path, first, rest) if _is_header(head) else itertools.chain([first], rest)
            yield from parse_lines(lines, namespace=namespace, domain=domain)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"{path} cannot be read: {reason}", hint="Give the path of a JSONL or CSV file.") from error


def _check_form(path: Path, head: bytes, second: bytes) -> None:
    """Raise InputError for JSON that is not one object a line, once for the file instead of once a line."""
    if head.startswith(b"["):
        raise InputError(f"{path} is a JSON array, not one object a line", hint=f"jq -c '.[]' {path} > questions.jsonl")
    if path.suffix.lower() in {".csv", ".tsv"} and not _is_header(head):
        raise InputError(
            f"{path} has no column `question`", hint="Its first line names columns: id, question, options, answer."
        )
    if b"\r" in head and _is_header(head):
        raise InputError(f"{path} ends its lines by carriage returns alone", hint="Save it with line feeds.")
    if head == b"{" and second.startswith(b'"'):
        raise InputError(f"{path} is JSON over several lines, not one object a line", hint=f"jq -c . {path} > questions.jsonl")


def _is_header(head: bytes) -> bool:
    return not head.startswith(b"{") and "question" in (name.strip().lower() for name in _cells(head))


def _cells(line: bytes) -> list[str]:
    text = line.decode("utf-8", "replace").splitlines() or [""]  # old Mac files end lines by a carriage return alone
    return next(csv.reader(text[:1], delimiter=_delimiter(line)), [])


def _delimiter(head: bytes) -> str:
    return max(",;\t", key=head.decode("utf-8", "replace").count)


def _rows(path: Path, first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the header as a blank line, and each row of a CSV file as a line of JSON, so that numbers stay those of the rows.

    Options are in a column `options`, as a JSON list or between `|`, or in columns `A`, `B`, ... or `option1`, `option2`, ...
    """
    names = [name.strip().lower() for name in _cells(first.removeprefix(b"\xef\xbb\xbf"))]
    try:
        text = (line.decode("utf-8") for line in rest)
        yield b"\n"
        for row in csv.reader(text, delimiter=_delimiter(first), strict=True):
            yield json.dumps(_document(dict(zip(names, row, strict=False))), ensure_ascii=False).encode() if row else b"\n"
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} is not a CSV file in UTF-8: {error}", hint="Save it as CSV in UTF-8.") from error


def _document(row: dict[str, str]) -> dict[str, Any]:
    """Return a row as a line of JSON has it; empty cells are left out."""
    row = {name: value for name, value in row.items() if value.strip()}
    options: Any = [row.pop(name) for name in list(row) if _OPTION.fullmatch(name)]
    if "options" in row:
        given = row.pop("options")
        options = _listed(given) or [part.strip() for part in given.split("|")]
    return {**row, **({"options": options} if options else {})}


def _listed(cell: str) -> list[Any]:
    try:
        found = json.loads(cell)
    except ValueError:
        return []
    return found if isinstance(found, list) else []


def _bounded_lines(file: IO[bytes]) -> Iterator[bytes]:
    while line := file.readline(LINE_LIMIT + 2):
        if len(line) > LINE_LIMIT:
            while not line.endswith(b"\n") and (rest := file.readline(LINE_LIMIT)):
                line = line[:LINE_LIMIT] + b" " + rest[-1:]
        yield line
