"""Read questions from JSONL and CSV files (docs/reference/json.md).

A JSON line is `{"id"?, "question", "options"?, "answer"?, "domain"?}`. An unusable line is reported with its number and the
reason, and the others are read. Files of any length are streamed, one line at a time.
"""

import csv
import itertools
import json
import math
import re
import string
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

from drag_graph.errors import InputError, QueryInvalid
from drag_graph.files import bounded_lines, opened
from drag_graph.identity import canonical_text, query_id
from drag_graph.model import DEFAULT_NAMESPACE, DOMAINS, LABELS, Domain, Query

QUESTION_LIMIT = 20_000
"""Maximum length of a question or option in characters; no model could read more."""
LINE_LIMIT = 4_000_000
"""Maximum length of a line in bytes."""
_KNOWN = {"id", "question", "options", "answer", "domain"}
_TEXT_CONTROLS = {"\t", "\n", "\r", "\f", "\v"}
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
STANDARD = Path("-")
_INDEX = re.compile(r"-?\d{1,9}")
_OPTION = re.compile(r"[a-j]|(?:option|choice)[ _]?(?:[a-j]|\d+)")


@dataclass(frozen=True, slots=True)
class InputLine:
    """One line of the input: its number, from 1, and either the query or the problem with it.

    `edition` is when the subgraph was made that a refresh replaces, else "". `withheld` is why the privacy gate sends nothing
    of the question; the query then contains nothing of its text. `own_id` is the line's id if the gate has removed it from the
    query.
    """

    number: int
    query: Query | None = None
    problem: str = ""
    edition: str = ""
    withheld: str = ""
    own_id: str = field(default="", repr=False)


def parse_lines(lines: Iterable[bytes], *, namespace: str, domain: Domain | None = None) -> Iterator[InputLine]:
    """Yield an InputLine for each non-blank line."""
    for number, line in enumerate(lines, start=1):
        content = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line  # a byte order mark
        if not content.strip():
            continue
        try:
            yield InputLine(number, query_of(json_object(content), namespace=namespace, domain=domain))
        except QueryInvalid as error:
            yield InputLine(number, problem=str(error))


def query_of(document: Mapping[str, Any], *, namespace: str, domain: Domain | None = None) -> Query:
    """Return the query of a JSON document. Raises QueryInvalid with the reason."""
    rest = {key: value for key, value in document.items() if key not in {"question", "options"}}
    if _LONE_SURROGATE.search(json.dumps(rest, ensure_ascii=False)):
        raise QueryInvalid("An id, answer or other key contains invalid Unicode.")
    return make_query(
        document.get("question"),
        document.get("options"),
        answer=document.get("answer"),
        domain=document.get("domain") or domain,
        input_id=document.get("id"),
        namespace=namespace,
        metadata={key: value for key, value in document.items() if key not in _KNOWN},
    )


def json_object(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line. Raises QueryInvalid, also for NaN, infinite numbers, and a line that is too long."""
    if len(line) > LINE_LIMIT:
        raise QueryInvalid(f"The line is longer than {LINE_LIMIT:,} bytes.")
    try:
        document = json.loads(line.decode("utf-8"), parse_constant=_no_number, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise QueryInvalid(f"Not UTF-8 at byte {error.start}.") from error
    except (ValueError, RecursionError) as error:
        raise QueryInvalid(f"Not JSON: {error}.") from error
    if not isinstance(document, dict):
        raise QueryInvalid("Not a JSON object.")
    return document


def make_query(
    question: Any,
    options: Any = None,
    *,
    answer: Any = None,
    domain: Any = None,
    input_id: Any = None,
    namespace: str = DEFAULT_NAMESPACE,
    metadata: dict[str, Any] | None = None,
) -> Query:
    """Return a valid query. `answer` is an index, a letter or a text. Raises QueryInvalid with the reason."""
    text = _clean_text(question, "question")
    choices = _clean_options(options)
    if domain is not None and domain not in DOMAINS:
        raise QueryInvalid(f"The domain must be one of {', '.join(DOMAINS)}.")
    return Query(
        id=query_id(namespace, text, choices),
        namespace=namespace,
        text=text,
        options=choices,
        domain=cast("Domain", domain or "general"),
        input_id="" if input_id is None else str(input_id),
        gold=_gold(answer, choices),
        metadata=metadata or {},
    )


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text} is too large")
    return value


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _clean_text(value: Any, name: str) -> str:
    if value is None:
        raise QueryInvalid(f"There is no {name}.")
    if not isinstance(value, str):
        raise QueryInvalid(f"The {name} is not a text.")
    text = value.strip()
    if not text:
        raise QueryInvalid(f"The {name} is empty.")
    if len(text) > QUESTION_LIMIT:
        raise QueryInvalid(f"The {name} has {len(text):,} characters; the limit is {QUESTION_LIMIT:,}.")
    if surrogate := _LONE_SURROGATE.search(text):
        raise QueryInvalid(f"The {name} contains invalid Unicode: the lone surrogate {surrogate[0]!a}.")
    if _has_controls(text):
        raise QueryInvalid(f"The {name} contains control characters; it looks binary.")
    return text


def _clean_options(options: Any) -> tuple[str, ...]:
    if options is None:
        return ()
    if not isinstance(options, (list, tuple)):
        raise QueryInvalid("The options must be a list of texts, in order.")
    plain = [str(option) if isinstance(option, (int, float)) else option for option in options]
    choices = tuple(_clean_text(option, f"option {number}") for number, option in enumerate(plain, start=1))
    if len(choices) > len(LABELS):
        raise QueryInvalid(f"There are {len(choices)} options; the limit is {len(LABELS)}.")
    if len(choices) == 1:
        raise QueryInvalid("There is one option; pass none or at least two.")
    seen: dict[str, int] = {}
    for number, choice in enumerate(choices, start=1):
        first = seen.setdefault(canonical_text(choice), number)
        if first != number:
            raise QueryInvalid(f"Options {first} and {number} are the same.")
    return choices


def _gold(answer: Any, options: tuple[str, ...]) -> int | str | tuple[str, ...] | None:
    if answer is None:
        return None
    if isinstance(answer, bool):
        answer = str(answer).lower()
    if isinstance(answer, (list, tuple)):
        return tuple(str(entry) for entry in answer)
    if not options:
        return str(answer)
    wanted = canonical_text(str(answer))
    texts = [canonical_text(option) for option in options]
    if not isinstance(answer, int) and wanted in texts:
        return texts.index(wanted)
    if _INDEX.fullmatch(wanted):  # an int, or the cell of a CSV file
        if not 0 <= int(wanted) < len(options):
            raise QueryInvalid(f"The answer {wanted} is not an index into {len(options)} options; the first is 0.")
        return int(wanted)
    letter = str(answer).strip().strip(string.punctuation).upper()
    if len(letter) == 1 and letter in LABELS[: len(options)]:
        return LABELS.index(letter)
    raise QueryInvalid(f"The answer {answer!r} is not an index (the first is 0), a letter, or the text of an option.")


def read_queries(path: Path, *, namespace: str = DEFAULT_NAMESPACE, domain: Domain | None = None) -> Iterator[InputLine]:
    """Yield the lines of a JSONL or CSV file as queries, in order, without blank lines. The path - is standard input.

    `domain` is that of lines without one. Raises InputError if the file cannot be read, or is neither JSONL nor CSV.
    """
    with nullcontext(sys.stdin.buffer) if path == STANDARD else opened(path, "Pass a JSONL or CSV file.") as file:
        yield from queries_in(file, path, namespace=namespace, domain=domain)


def queries_in(file: BinaryIO, path: Path, *, namespace: str, domain: Domain | None = None) -> Iterator[InputLine]:
    """Yield the lines of an open file with the name `path` as `read_queries` does."""
    bounded = bounded_lines(file, LINE_LIMIT)
    first, second = next(bounded, b""), next(bounded, b"")
    head = first.removeprefix(b"\xef\xbb\xbf").strip()
    _check_form(path, head, second.strip())
    rest = itertools.chain([second], bounded)
    lines = _rows(path, first, rest) if _is_header(head) else itertools.chain([first], rest)
    yield from parse_lines(lines, namespace=namespace, domain=domain)


def _check_form(path: Path, head: bytes, second: bytes) -> None:
    """Raise InputError if the whole file has the wrong form, instead of reporting each of its lines."""
    if not head.startswith(b"{") and (_is_binary(head) or (_is_binary(second) and not _is_header(head))):
        raise InputError(f"{path} is not a text file in UTF-8.", hint="Pass a JSONL or CSV file.")
    if head.startswith(b"["):
        raise InputError(f"{path} is a JSON array, not one object per line.", hint=f"jq -c '.[]' {path} > questions.jsonl")
    if path.suffix.lower() in {".csv", ".tsv"} and not _is_header(head):
        raise InputError(
            f"{path} has no column `question`.", hint="The first line must name the columns: id, question, options, answer."
        )
    if b"\r" in head and _is_header(head):
        raise InputError(f"{path} ends its lines with carriage returns only.", hint="Save it with line feeds.")
    if head == b"{" and second.startswith(b'"'):
        raise InputError(f"{path} has JSON objects over several lines.", hint=f"jq -c . {path} > questions.jsonl")


def _is_binary(line: bytes) -> bool:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason != "unexpected end of data"  # a character that the line limit cuts
    return _has_controls(text)


def _has_controls(text: str) -> bool:
    return any(unicodedata.category(character) == "Cc" and character not in _TEXT_CONTROLS for character in text)


def _is_header(head: bytes) -> bool:
    return not head.startswith(b"{") and "question" in (name.strip().lower() for name in _cells(head))


def _cells(line: bytes) -> list[str]:
    text = line.decode("utf-8", "replace").splitlines() or [""]  # old Mac files end lines with a carriage return
    return next(csv.reader(text[:1], delimiter=_delimiter(line)), [])


def _delimiter(head: bytes) -> str:
    return max(",;\t", key=head.decode("utf-8", "replace").count)


def _rows(path: Path, first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    """Yield a blank line for the header, and each row of a CSV file as a JSON line, so that line numbers are kept.

    Options are in a column `options`, as a JSON list or separated by `|`, or in columns `A`, `B`, ... or `option1`, ...
    """
    names = [name.strip().lower() for name in _cells(first.removeprefix(b"\xef\xbb\xbf"))]
    try:
        text = (line.decode("utf-8") for line in rest)
        yield b"\n"
        for row in csv.reader(text, delimiter=_delimiter(first), strict=True):
            yield json.dumps(_document(dict(zip(names, row, strict=False))), ensure_ascii=False).encode() if row else b"\n"
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} is not a CSV file in UTF-8: {error}.", hint="Save it as CSV in UTF-8.") from error


def _document(row: dict[str, str]) -> dict[str, Any]:
    """Return the JSON document of a row; empty cells are omitted."""
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
