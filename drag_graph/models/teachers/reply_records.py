"""Parse triples that a model wrote as records or calls instead of JSON (docs/decisions/0004-plans-and-replies.md). No I/O.

    ("relationship"<|>A<|>B<|>description<|>8)##     delimiter records, as graph extraction prompts teach them
    predicate(subject, object)                        one per line

These triples have no evidence, and the confidence of a triple that states none. Ambiguous lines (three ends, a description
without a verb between the ends) are not guessed.
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
_MEMBER = re.compile(r'(?:"[^"]*"|\([^()]*\)|\d+(?:,\d{3})+(?!\d)|[^,])+')
"""Members between commas, except in quotes, parentheses and numbers (1,686)."""
_QUOTES = {'"': '"', "'": "'", "\u201c": "\u201d", "\u2018": "\u2019", "`": "`"}
_WORDS_BETWEEN = re.compile(r" (?P<words>(?!(?:the|an?) )[\w-]+(?: [\w-]+){0,7}?)(?: (?:the|an?))? ", re.IGNORECASE)
_OTHER_CLAUSE = re.compile(r"\b(?:and|or|but|that|which|who|whom|whose|where|when|while)\b|'s\b|\u2019s\b", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z])[A-Z](?![A-Z])")
RELATED = "is related to"
"""Predicate of a relationship record whose description has no words between its ends."""


def triple_entries(body: str) -> list[Any]:
    """Return the triples in `body` for `parse_reply`: mappings, or strings if they are ambiguous."""
    return list(_records(body)) or list(_calls(body))


def _records(body: str) -> Iterator[Any]:
    for record in _RECORD.split(body)[1:]:
        piece = _RECORD_END.split(record, maxsplit=1)[0].strip()
        fields = [_bare(field) for field in _FIELD.split(piece.removesuffix(")"))]
        if len(fields) < _FIELDS or not piece.endswith(")"):
            yield "an incomplete record"
            continue
        subject, object_, description = fields[:_FIELDS]
        yield {"subject": subject, "predicate": _words_between(subject, object_, description), "object": object_}


def _words_between(subject: str, object_: str, description: str) -> str:
    """Return the few words between subject and object at the beginning of the description, else `RELATED`."""
    text, first = (one.removeprefix("The ").removeprefix("the ") for one in (description, subject))
    rest = text[len(first) : len(first) + _LONGEST_BETWEEN] if first and text.startswith(first) else ""
    place = rest.find(f" {object_}") + 1
    match = _WORDS_BETWEEN.fullmatch(rest[:place])
    follows = rest[place + len(object_) : place + len(object_) + 1]
    if match is None or follows.isalnum() or _OTHER_CLAUSE.search(match["words"]):
        return RELATED
    # A capital before the object belongs to a longer name: "pays the Honest Chain" is not about a chain.
    return RELATED if match["words"].split()[-1][0].isupper() else match["words"]


def _calls(body: str) -> Iterator[Any]:
    for line in body.splitlines():
        if len(line) > _LONGEST_LINE:
            continue
        match = _CALL.fullmatch(_bare(_BULLET.sub("", line.strip()).rstrip(",;.")))
        ends = [_bare(end) for end in _MEMBER.findall(match[2])] if match else []
        if match and len(ends) == 2:  # noqa: PLR2004 - two ends
            predicate = _CAMEL.sub(lambda hump: f" {hump[0].lower()}", match[1])
            yield {"subject": ends[0], "predicate": predicate, "object": ends[1]}
        elif len(ends) > 2:  # noqa: PLR2004 - a comma may belong to a name
            yield line


def _bare(text: str) -> str:
    """Return a text without the spaces and quotes around it."""
    text = text.strip()
    while len(text) > 1 and _QUOTES.get(text[0]) == text[-1]:
        text = text[1:-1].strip()
    # A delimiter that lost a character leaves a quote on one side.
    return text[:-1].rstrip() if text.count('"') == 1 and text.endswith('"') else text
