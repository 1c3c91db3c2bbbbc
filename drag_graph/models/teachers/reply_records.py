"""Triples that a model wrote as records or calls although asked for JSON (docs/replies.md). No I/O.

    ("relationship"<|>A<|>B<|>description<|>8)##     delimiter records, as graph extraction prompts teach them
    predicate(subject, object)                        one a line

Such a triple names no evidence. What a line leaves open (three ends, a description without a verb between the ends) is not
guessed.
"""

import re
from collections.abc import Iterator
from typing import Any

_LONGEST_LINE = 2_000
_LONGEST_BETWEEN = 300
_RECORD = re.compile(r"""\(\s*["'\u201c]?relationship["'\u201d]?\s*<?\|>""", re.IGNORECASE)
_RECORD_END = re.compile(r"##|(?<=\))[ \t]*\n|\n[ \t]*\n|```|\(\s*[\"'\u201c]?entity", re.IGNORECASE)
_FIELD = re.compile(r"<?\|>")
_FIELDS = 3
_BULLET = re.compile(r"\A(?:[-*\u2022]|\(?\d{1,3}[.)]|\[\d{1,3}\])\s+")
_CALL = re.compile(r"(?:[\w ]{1,30}:\s+)?([^\W\d][\w'-]*(?: [\w'-]+){0,7})\((.+)\)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_MEMBER = re.compile(r'(?:"[^"]*"|\([^()]*\)|\d+(?:,\d{3})+(?!\d)|[^,])+')
"""What commas separate outside of quotes, parentheses and numbers (1,686)."""
_QUOTES = {'"': '"', "'": "'", "\u201c": "\u201d", "\u2018": "\u2019", "`": "`"}
_WORDS_BETWEEN = re.compile(r" (?P<words>(?!(?:the|an?) )[\w-]+(?: [\w-]+){0,7}?)(?: (?:the|an?))? ", re.IGNORECASE)
_OTHER_CLAUSE = re.compile(r"\b(?:and|or|but|that|which|who|whom|whose|where|when|while)\b|'s\b|\u2019s\b", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z])[A-Z](?![A-Z])")
RELATED = "is related to"
"""The predicate of a relationship record in whose description no words between its ends say how they are related."""


def triple_entries(body: str) -> list[Any]:
    """Return the triples written in `body`, for `TriplesReply.parse`: mappings, or what is unclear as a text."""
    entries = list(_records(body)) or list(_calls(body))
    _rescale([entry for entry in entries if isinstance(entry, dict) and "confidence" in entry])
    return entries


def _records(body: str) -> Iterator[Any]:
    for record in _RECORD.split(body)[1:]:
        piece = _RECORD_END.split(record, maxsplit=1)[0].strip()
        fields = [_bare(field) for field in _FIELD.split(piece.removesuffix(")"))]
        if len(fields) < _FIELDS or not piece.endswith(")"):
            yield "an incomplete record"
            continue
        subject, object_, description, *rest = fields
        entry: dict[str, Any] = {
            "subject": subject,
            "predicate": _said_between(subject, object_, description),
            "object": object_,
        }
        if rest and rest[-1]:
            entry["confidence"] = rest[-1]
        yield entry


def _rescale(entries: list[Any]) -> None:
    """Map strengths to confidences: as they are in [0, 1], a tenth where the reply rates from 1 to 10.

    It does where a number is above 1, or where all are whole numbers; what is no number is left for the validation to refuse.
    """
    given = [entry["confidence"] for entry in entries]
    numbers = [float(text) for text in given if _NUMBER.fullmatch(text)]
    tens = any(number > 1 for number in numbers) or not any("." in text for text in given)
    for entry in entries:
        if tens and _NUMBER.fullmatch(entry["confidence"]):
            entry["confidence"] = float(entry["confidence"]) / 10


def _said_between(subject: str, object_: str, description: str) -> str:
    """Return the few words that lead from the subject to the object at the beginning of the description, else `RELATED`."""
    text, first = (one.removeprefix("The ").removeprefix("the ") for one in (description, subject))
    rest = text[len(first) : len(first) + _LONGEST_BETWEEN] if first and text.startswith(first) else ""
    place = rest.find(f" {object_}") + 1
    found = _WORDS_BETWEEN.fullmatch(rest[:place])
    follows = rest[place + len(object_) : place + len(object_) + 1]
    if found is None or follows.isalnum() or _OTHER_CLAUSE.search(found["words"]):
        return RELATED
    # A capital before the object belongs to a longer name: "pays the Honest Chain" says nothing of a chain.
    return RELATED if found["words"].split()[-1][0].isupper() else found["words"]


def _calls(body: str) -> Iterator[Any]:
    for line in body.splitlines():
        if len(line) > _LONGEST_LINE:
            continue
        found = _CALL.fullmatch(_bare(_BULLET.sub("", line.strip()).rstrip(",;.")))
        ends = [_bare(end) for end in _MEMBER.findall(found[2])] if found else []
        if found and len(ends) == 2:  # noqa: PLR2004 - two ends
            predicate = _CAMEL.sub(lambda hump: f" {hump[0].lower()}", found[1])
            yield {"subject": ends[0], "predicate": predicate, "object": ends[1]}
        elif len(ends) > 2:  # noqa: PLR2004 - which commas belong to a name is not said
            yield line


def _bare(text: str) -> str:
    """Return a text without the spaces and quotes around it."""
    text = text.strip()
    while len(text) > 1 and _QUOTES.get(text[0]) == text[-1]:
        text = text[1:-1].strip()
    # A delimiter that lost a character leaves a quote on one side.
    return text[:-1].rstrip() if text.count('"') == 1 and text.endswith('"') else text
