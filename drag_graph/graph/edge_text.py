"""Ways to write an edge, and back: `[subject] --predicate--> [object] (statement)`, and JSON adjacency."""

import json
import re
from collections.abc import Sequence

from drag_graph.graph.aggregate import joined_statement

_SPACE = re.compile(r"\s+")


_ARROW = re.compile(r"\[(?P<subject>[^\[\]]*)\] --(?P<predicate>.*?)--> \[(?P<object>[^\[\]]*)\](?: \((?P<statement>.*)\))?")


_BRACKETS = str.maketrans("[]", "()")


DISPUTED = " (disputed)"
"""Behind a line whose edge contradicts another one of its subgraph, shown or not, or contradicts itself."""


def arrow(subject: str, predicate: str, object_: str, statement: str = "") -> str:
    """Return `[subject] --predicate--> [object] (statement)`; without parentheses if there is no statement.

    Square brackets in names become round ones, and arrow heads in the predicate are taken out, so that `parse_arrow` gets back
    what was put in.
    """
    words = one_line(predicate.replace("-->", " ")).strip("- ") or "-"
    ends = [one_line(end).translate(_BRACKETS) for end in (subject, object_)]
    text = f"[{ends[0]}] --{words}--> [{ends[1]}]"
    return f"{text} ({one_line(statement)})" if statement.strip() else text


def parse_arrow(text: str) -> tuple[str, str, str, str] | None:
    """Return (subject, predicate, object, statement) of a line in arrow format, or None for any other text."""
    match = _ARROW.fullmatch(text.removesuffix(DISPUTED))
    return (match["subject"], match["predicate"], match["object"], match["statement"] or "") if match else None


def adjacency(subject: str, predicates: Sequence[str], object_: str) -> str:
    """Return an edge as JSON, the way adjacency lists are written: `{"subject": {"predicate": "object"}}`."""
    ends = dict.fromkeys(map(one_line, predicates), one_line(object_))
    return json.dumps({one_line(subject): ends}, ensure_ascii=False)


def parse_adjacency(text: str) -> tuple[str, list[str], str] | None:
    """Return (subject, predicates, object) of a line as JSON adjacency, or None for any other text."""
    try:
        [(subject, ends)] = json.loads(text.removesuffix(DISPUTED)).items()
        [object_] = set(ends.values())
    except (ValueError, AttributeError, TypeError):
        return None
    return (subject, list(ends), object_) if isinstance(object_, str) else None


def plain_words(text: str) -> str:
    """Return a line without decoration: of the arrow format its statement, else one clause a predicate."""
    if (parts := parse_adjacency(text)) is not None:
        return joined_statement(*parts)
    parsed = parse_arrow(text)
    if parsed is None:
        return text.removesuffix(DISPUTED)
    subject, predicate, object_, statement = parsed
    return statement or joined_statement(subject, predicate.split(" / "), object_)


def one_line(text: str) -> str:
    """Return the text as one physical line, with single spaces."""
    return _SPACE.sub(" ", text).strip()
