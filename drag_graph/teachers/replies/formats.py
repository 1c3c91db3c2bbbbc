"""Triples and evidence that a model wrote as records, lines or lists although asked for JSON. No I/O.

Read last, when the reply holds no usable JSON. Triples:

    ("relationship"<|>A<|>B<|>description<|>8)##     delimiter records, as graph extraction prompts teach them
    predicate(subject, object)                        one a line, as are the next two
    (subject, predicate, object)
    subject | predicate | object                      also as a table with a header

Such a triple names no evidence: `Holding` finds those whose words hold both its ends, and without one it is discarded. What a
line leaves open (three ends, a description without a verb between the ends) is not guessed. Evidence: numbered or bulleted
lists of statements.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

_LONGEST_LINE = 2_000
_LONGEST_BETWEEN = 300
_LONGEST_END = 500
_LONGEST_CELL = 150
_RECORD = re.compile(r"""\(\s*["'\u201c]?(entity|relationship)["'\u201d]?\s*<?\|>""", re.IGNORECASE)
_RECORD_END = re.compile(r"##|<\|COMPLETE\|>|(?<=\))[ \t]*\n|\n[ \t]*\n|```", re.IGNORECASE)
_FIELD = re.compile(r"<?\|>")
_BULLET = re.compile(r"(?:[-*\u2022]|\(?\d{1,3}[.)]|\[\d{1,3}\])\s+")
_LABEL = re.compile(r"[\w ]{1,30}:\s+")
_CALL = re.compile(r"([^\W\d][\w'-]*(?: [\w'-]+){0,7})\((.+)\)")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_RULE = re.compile(r"[\s|:-]+")
_QUOTES = {'"': '"', "'": "'", "\u201c": "\u201d", "\u2018": "\u2019", "`": "`"}
_WORDS_BETWEEN = re.compile(r" (?P<words>(?!(?:the|an?) )[\w-]+(?: [\w-]+){0,7}?)(?: (?:the|an?))? ", re.IGNORECASE)
_OTHER_CLAUSE = re.compile(r"\b(?:and|or|but|that|which|who|whom|whose|where|when|while)\b|'s\b|\u2019s\b", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z])[A-Z](?![A-Z])")
_COLUMNS = {
    "subject": "subject", "head": "subject", "source": "subject", "predicate": "predicate", "relation": "predicate",
    "relationship": "predicate", "object": "object", "tail": "object", "target": "object", "confidence": "confidence",
}  # fmt: skip
_WORD = re.compile(r"\w+")
_REMARK = re.compile(r"(?<=\S) \([^()]*\)\Z")
_ARTICLE = re.compile(r"(?:the|an?) (?=.)")
_SPACELESS = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]")
RELATED = "is related to"
"""The predicate of a relationship record in whose description no words between its ends say how they are related."""


def triple_entries(body: str) -> list[Any]:
    """Return the triples written in `body`, for `LooseTriplesReply.parse`: mappings, or what they were read from if unclear."""
    entries = list(_records(body)) or list(_lines(body))
    _rescale([entry for entry in entries if isinstance(entry, dict) and "confidence" in entry])
    return entries


def _records(body: str) -> Iterator[Any]:
    """Yield the relationship records; the entity records give the types of their ends."""
    found: list[list[str]] = []
    kinds: dict[str, str] = {}
    starts = list(_RECORD.finditer(body))
    bounds = [*(start.start() for start in starts), len(body)]
    for start, bound in zip(starts, bounds[1:], strict=True):
        piece = body[start.end() : bound]
        ended = _RECORD_END.search(piece)
        piece = (piece[: ended.start()] if ended else piece).strip()
        whole = piece.endswith(")")
        fields = [_bare(field) for field in _FIELD.split(piece.removesuffix(")"))]
        if start[1].lower() == "entity":
            kinds.setdefault(fields[0], fields[1] if len(fields) > 1 else "")
        else:
            found.append(fields if whole else [])
    for fields in found:
        if len(fields) < 3:  # noqa: PLR2004 - two ends and what relates them
            yield "an incomplete record"
            continue
        subject, object_, description, *rest = fields
        entry = {"subject": subject, "predicate": _said_between(subject, object_, description), "object": object_}
        if rest and rest[-1]:
            entry["confidence"] = rest[-1]
        for key, end in (("subject_type", subject), ("object_type", object_)):
            if kinds.get(end):
                entry[key] = kinds[end]
        yield entry


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


def _lines(body: str) -> Iterator[Any]:
    columns: list[str] = []
    for raw in body.splitlines():
        if len(raw) > _LONGEST_LINE:
            continue
        line = raw.strip()
        if "|" in line:
            cells = [_bare(cell) for cell in _unmarked(line).strip("|").split("|")]
            header = [_COLUMNS.get(cell.lower(), "") for cell in cells]
            if {"subject", "predicate", "object"} <= set(header):
                columns = header
            elif not _RULE.fullmatch(line):
                yield from _row(cells, columns)
            continue
        columns = []
        line = _bare(_unmarked(line).rstrip(",;."))
        yield from _tuple(line) if line.startswith("(") and line.endswith(")") else _call(line)


def _unmarked(line: str) -> str:
    """Return a line without its bullet or number and without emphasis."""
    return _BULLET.sub("", line.replace("**", ""), count=1) if _BULLET.match(line.replace("**", "")) else line.replace("**", "")


def _row(cells: list[str], columns: list[str]) -> Iterator[Any]:
    if columns:
        if len(cells) == len(columns):
            yield {key: cell for key, cell in zip(columns, cells, strict=True) if key and cell}
        else:
            yield "a row of another length than the table's header"
    elif all(len(cell) <= _LONGEST_CELL for cell in cells):  # else it is prose about a bar
        yield from _three(cells)


def _tuple(line: str) -> Iterator[Any]:
    members = _members(line[1:-1])
    if len(members) > 1:
        yield from list(_three(members)) or [line]


def _three(members: list[str]) -> Iterator[Any]:
    """Yield the triple of three members, or of four of which the last is a number: its confidence."""
    if len(members) == 4 and _NUMBER.fullmatch(members[3]):  # noqa: PLR2004
        yield {**dict(zip(("subject", "predicate", "object"), members, strict=False)), "confidence": members[3]}
    elif len(members) == 3 and all(members):  # noqa: PLR2004
        yield dict(zip(("subject", "predicate", "object"), members, strict=True))


def _call(line: str) -> Iterator[Any]:
    found = _CALL.fullmatch(line)
    if found is None:
        label = _LABEL.match(line)
        found = _CALL.fullmatch(line, label.end()) if label else None
    if found is None:
        return
    ends = _members(found[2])
    if len(ends) == 2:  # noqa: PLR2004
        yield {"subject": ends[0], "predicate": _CAMEL.sub(lambda hump: f" {hump[0].lower()}", found[1]), "object": ends[1]}
    elif len(ends) > 2:  # noqa: PLR2004 - which commas belong to a name is not said
        yield line


def _members(text: str) -> list[str]:
    """Return what commas separate, outside of parentheses, quotes and numbers (1,686)."""
    members, depth, quoted, begun = [], 0, False, 0
    for place, mark in enumerate(text):
        if mark == '"':
            quoted = not quoted
        elif not quoted:
            depth += (mark in "([") - (mark in ")]")
            within_number = text[place - 1 : place].isdigit() and re.match(r"\d{3}(?!\d)", text[place + 1 : place + 5])
            if mark == "," and depth == 0 and not within_number:
                members.append(text[begun:place])
                begun = place + 1
    return [_bare(member) for member in (*members, text[begun:])]


def _bare(text: str) -> str:
    """Return a text without the spaces and quotes around it."""
    text = text.strip()
    while len(text) > 1 and _QUOTES.get(text[0]) == text[-1]:
        text = text[1:-1].strip()
    # A delimiter that lost a character leaves a quote on one side.
    return text[:-1].rstrip() if text.count('"') == 1 and text.endswith('"') else text


def _rescale(entries: list[dict[str, Any]]) -> None:
    """Map strengths to confidences: as they are in [0, 1], a tenth where the reply rates from 1 to 10.

    It does where a number is above 1, or where all are whole numbers; what is no number is left for the validation to refuse.
    """
    given = [entry["confidence"] for entry in entries]
    numbers = [float(text) for text in given if _NUMBER.fullmatch(text)]
    tens = any(number > 1 for number in numbers) or not any("." in text for text in given)
    for entry in entries:
        if tens and _NUMBER.fullmatch(entry["confidence"]):
            entry["confidence"] = float(entry["confidence"]) / 10


class Holding:
    """Finds the evidence that holds both ends of a triple, word by word: without case, accents, marks, leading articles.

    An end with a remark in parentheses, "Train (band)", is also found without it.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [(_words(text), _joined(text)) for text in texts]

    def positions(self, subject: str, object_: str) -> tuple[int, ...]:
        """Return the 0-based positions of the texts in which both ends occur."""
        return tuple(place for place, text in enumerate(self._texts) if all(_occurs(end, *text) for end in (subject, object_)))


def _occurs(end: str, words: str, joined: str) -> bool:
    if len(end) > _LONGEST_END:
        return False
    return _stands_in(end, words, joined) or (end.endswith(")") and _stands_in(_REMARK.sub("", end), words, joined))


def _stands_in(end: str, words: str, joined: str) -> bool:
    if _SPACELESS.search(end):
        return _joined(end) in joined
    wanted = _ARTICLE.sub("", _words(end).strip(), count=1)
    return bool(wanted) and f" {wanted} " in words


def _plain(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.replace("_", " ")).casefold()
    return "".join(mark for mark in decomposed if not unicodedata.combining(mark))


def _words(text: str) -> str:
    return f" {' '.join(_WORD.findall(_plain(text)))} "


def _joined(text: str) -> str:
    return "".join(_WORD.findall(_plain(text)))
