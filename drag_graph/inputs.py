"""Input lines to queries (docs/design.md, section 6): `{"id"?, "question", "options"?, "answer"?, "domain"?}` a line.

A bad line is reported with its number and the reason, and the others go on. Input is streamed: a file of any length is held one
line at a time.
"""

import json
import math
import re
import string
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from drag_graph.errors import QueryInvalid
from drag_graph.identity import canonical_text, query_id
from drag_graph.model import DEFAULT_NAMESPACE, DOMAINS, LABELS, Domain, Query

QUESTION_LIMIT = 20_000
"""Characters of a question or option; longer ones are refused, since no teacher or student could be shown them."""
LINE_LIMIT = 4_000_000
"""Bytes of an input line."""
_KNOWN = {"id", "question", "options", "answer", "domain"}
_TEXT_CONTROLS = {"\t", "\n", "\r", "\f", "\v"}
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_BINARY = {"Cc", "Cs"}
"""Unicode categories that no question has: control characters and lone surrogates."""


@dataclass(frozen=True, slots=True)
class InputLine:
    """One line of the input: its number from 1, and either the query or why there is none.

    `edition` is when the stored subgraph was made that is to be replaced, whatever its settings; empty but for a refresh.
    `withheld` is why the privacy gate lets nothing of the question leave; the query then has nothing of its text. `own_id` is
    the line's own id where the gate has taken it from the query.
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
