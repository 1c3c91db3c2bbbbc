"""Input lines to queries (docs/design.md, section 6): `{"id"?, "question", "options"?, "answer"?, "domain"?}` a line.

A bad line is reported with its number and the reason, and the others go on. Input is streamed: a file of any length is held one
line at a time.
"""

import csv
import itertools
import json
import math
import re
import string
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

from drag_graph.errors import InputError, QueryInvalid
from drag_graph.identity import canonical_text, query_id
from drag_graph.model import DEFAULT_NAMESPACE, DOMAINS, LABELS, Domain, Query

QUESTION_LIMIT = 20_000
"""Characters of a question or option; longer ones are refused, since no teacher or student could be shown them."""
LINE_LIMIT = 4_000_000
"""Bytes of an input line."""
_KNOWN = {"id", "question", "options", "answer", "domain"}
_TEXT_CONTROLS = {"\t", "\n", "\r", "\f", "\v"}
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
STANDARD = Path("-")
_OPTION = re.compile(r"[a-j]|(?:option|choice)[ _]?(?:[a-j]|\d+)")
_BINARY = {"Cc", "Cs"}
"""Unicode categories that no question has: control characters and lone surrogates."""


@dataclass(frozen=True, slots=True)
class InputLine:
    """One line of the input: its number from 1, and either the query or why there is none.

    `edition` is when the stored subgraph was made that is to be replaced, whatever its settings; empty but for a refresh.
    `withheld` is why the privacy gate lets nothing of the question leave; the query then has nothing of its text. `own_id` is
    the line's own id where the gate has taken it from the query. `remark` is a sentence that the query's result repeats.
    """

    number: int
    query: Query | None = None
    problem: str = ""
    edition: str = ""
    withheld: str = ""
    own_id: str = field(default="", repr=False)
    remark: str = ""


def parse_lines(lines: Iterable[bytes], *, namespace: str, domain: Domain | None = None) -> Iterator[InputLine]:
    """Yield an InputLine for each non-blank line."""
    for number, line in enumerate(lines, start=1):
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")  # noqa: PLW2901 - a byte order mark is no content
        if not line.strip():
            continue
        try:
            yield InputLine(number, query=parse_line(line, namespace=namespace, domain=domain))
        except QueryInvalid as error:
            yield InputLine(number, problem=str(error))


def parse_line(line: bytes, *, namespace: str, domain: Domain | None = None) -> Query:
    """Return the query of one JSON line. Raises QueryInvalid with the reason."""
    if len(line) > LINE_LIMIT:
        raise QueryInvalid(f"the line is longer than {LINE_LIMIT:,} bytes")
    document = json_object(line)
    rest = {key: value for key, value in document.items() if key not in {"question", "options"}}
    if _LONE_SURROGATE.search(json.dumps(rest, ensure_ascii=False)):
        raise QueryInvalid("an id, answer or other key holds broken Unicode")
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
    """Return the JSON object of a line. Raises QueryInvalid with the reason, also for NaN and numbers that are infinite."""
    try:
        document = json.loads(line.decode("utf-8"), parse_constant=_no_number, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise QueryInvalid(f"not UTF-8 at byte {error.start}") from error
    except (ValueError, RecursionError) as error:
        raise QueryInvalid(f"not JSON: {error}") from error
    if not isinstance(document, dict):
        raise QueryInvalid("not a JSON object")
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
    """Return a valid query, or raise QueryInvalid that says what is wrong. `answer` is an index, a letter or a text."""
    text = _clean_text(question, "question")
    choices = _clean_options(options)
    if domain is not None and domain not in DOMAINS:
        raise QueryInvalid(f"domain must be one of {', '.join(DOMAINS)}")
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
        raise ValueError(f"{text} is too large a number")
    return value


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _clean_text(value: Any, name: str) -> str:
    if value is None:
        raise QueryInvalid(f"no {name}")
    if not isinstance(value, str):
        raise QueryInvalid(f"the {name} is not a text")
    text = value.strip()
    if not text:
        raise QueryInvalid(f"the {name} is empty")
    if len(text) > QUESTION_LIMIT:
        raise QueryInvalid(f"the {name} has {len(text):,} characters, more than {QUESTION_LIMIT:,}")
    if any(unicodedata.category(character) in _BINARY and character not in _TEXT_CONTROLS for character in text):
        raise QueryInvalid(f"the {name} holds control characters or broken Unicode: it looks binary")
    return text


def _clean_options(options: Any) -> tuple[str, ...]:
    if options is None:
        return ()
    if isinstance(options, dict):
        raise QueryInvalid("options must be a list of texts, in order")
    if not isinstance(options, (list, tuple)):
        raise QueryInvalid("options must be a list")
    plain = [str(option) if isinstance(option, (int, float)) else option for option in options]
    choices = tuple(_clean_text(option, f"option {number}") for number, option in enumerate(plain, start=1))
    if len(choices) > len(LABELS):
        raise QueryInvalid(f"{len(choices)} options; at most {len(LABELS)} can be labelled")
    if len(choices) == 1:
        raise QueryInvalid("one option is no choice; give none or at least two")
    seen: dict[str, int] = {}
    for number, choice in enumerate(choices, start=1):
        first = seen.setdefault(canonical_text(choice), number)
        if first != number:
            raise QueryInvalid(f"options {first} and {number} are the same")
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
    if isinstance(answer, int):
        if not 0 <= answer < len(options):
            raise QueryInvalid(f"answer {answer} is not an index into {len(options)} options (the first is 0)")
        return answer
    wanted = canonical_text(str(answer))
    for index, option in enumerate(options):
        if canonical_text(option) == wanted:
            return index
    letter = str(answer).strip().strip(string.punctuation).upper()
    if len(letter) == 1 and letter in LABELS[: len(options)]:
        return LABELS.index(letter)
    raise QueryInvalid("the answer is neither an index, nor a letter, nor the text of an option")


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
