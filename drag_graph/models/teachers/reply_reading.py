"""Parse and validate the text of a reply (docs/decisions/0004-plans-and-replies.md). No I/O.

The text is parsed strictly first (without reasoning, code fences and prose), then by `json-repair`, then as the records and
calls that some models write instead of JSON. Nothing is guessed: NaN is not a number, a key with two values has none, and an
unclosed document is cut off, not a shorter one. Unusable entries are discarded with a reason, and the others are used.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from drag_graph.graph.grounding import Grounds
from drag_graph.models.reasoning import without_reasoning
from drag_graph.models.teachers.json_repair import LIKE_JSON, documents, looks_cut_off, repaired
from drag_graph.ports.model_roles import TeacherRequest
from drag_graph.ports.teacher_replies import EvidenceReply, Item, Reply, ScoresReply, StatementsReply, TriplesReply

R = TypeVar("R", bound=Reply)
Entry = TypeVar("Entry", bound=Item)

LONGEST_REPLY = 2_000_000
_LONGEST_REFUSAL = 800
_DEEPEST = 3
_OVERLAP = 400
_REFUSAL = re.compile(
    r"\W*(?:i\s*(?:'|\u2019)?\s*(?:a?m\s+)?(?:very\s+|so\s+|truly\s+|really\s+)?(?:sorry|afraid|unable|not able)\b"
    r"|(?:sorry|apologies|unfortunately)\b|my apologies|i apologi[sz]e"
    r"|i\s+(?:can\s*not|can(?:'|\u2019)t|could\s+not|won(?:'|\u2019)t|will\s+not|must\s+decline|decline|refuse|do\s+not\s+feel)\b"
    r"|as\s+an?\s+(?:ai|language\s+model|large\s+language)|(?:this|your)\s+request\s+(?:violates|goes against))",
    re.IGNORECASE,
)
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


class Unreadable(ValueError):  # noqa: N818 - reads as what happened
    """The reply is unusable. The message is a sentence that can be sent to the model."""


class CutOff(Unreadable):
    """The reply is incomplete."""


class Refused(Unreadable):
    """The reply declines to answer."""


def read(text: str, schema: type[R], *, finish_reason: str = "stop") -> R:
    """Return the reply of shape `schema` in `text`. `discarded` has the reasons for unusable objects.

    Raises CutOff, Refused or Unreadable.
    """
    if len(text) > LONGEST_REPLY:
        raise Unreadable(f"the reply is longer than {LONGEST_REPLY} characters")
    body = without_reasoning(text).strip()
    try:
        whole, broken = documents(body)
        reply, reason = _first_fitting(whole, schema)
        if reply is not None:
            return reply
        if finish_reason == "length" or looks_cut_off(broken) or (text.strip() and not body):
            raise CutOff("the reply stops in the middle")
        if finish_reason == "content_filter" or is_refusal(body):
            raise Refused("the reply declines to answer")
        records = triple_entries(body) if schema is TriplesReply and not _REFUSAL.match(body) else []
        reply, later = _first_fitting([*repaired(broken), *([records] if records else [])], schema)
    except RecursionError as error:
        raise Unreadable("the reply is nested too deeply") from error
    if reply is None:
        raise Unreadable(reason or later or "there is no JSON in the reply")
    return reply


def is_refusal(body: str) -> bool:
    """Return whether a reply without its reasoning is short, has no JSON and begins like a refusal."""
    return len(body) <= _LONGEST_REFUSAL and not LIKE_JSON.search(body) and bool(_REFUSAL.match(body))


def join(partial: str, continuation: str) -> str:
    """Join a reply that was cut off with its continuation, without the part that the model repeats."""
    continuation = without_reasoning(continuation)
    opened = re.match(r"\s*```[\w-]*[ \t]*\r?\n", continuation)
    if opened:
        continuation = continuation[opened.end() :]
    sizes = range(min(_OVERLAP, len(partial), len(continuation)), 7, -1)
    return partial + continuation[next((size for size in sizes if partial.endswith(continuation[:size])), 0) :]


def fit(reply: R, request: TeacherRequest) -> R:
    """Return `reply` without the entries that do not match its request: too many, unknown positions, two scores for one.

    Positions that can only be 1-based are shifted. A triple without evidence gets the evidence in which both its ends occur.
    `discarded` names the entries that were dropped. Raises Unreadable if no entry is left.
    """
    items, discarded = list(reply.items), list(reply.discarded)
    if isinstance(reply, EvidenceReply):
        if request.count and len(items) > request.count:
            discarded.append(f"evidence[{request.count}] and later: more than the {request.count} asked for")
            items = items[: request.count]
    elif isinstance(reply, ScoresReply):
        items = _positioned(items, "index", len(request.texts) or request.count, discarded)
    elif isinstance(reply, StatementsReply):
        items = _positioned(items, "pair", request.count, discarded)
    elif isinstance(reply, TriplesReply):
        items = _supported(items, request.texts, discarded)
    if not items and (request.count or discarded):
        reason = discarded[0] if discarded else f"{request.count} were asked for"
        raise Unreadable(f'the list "{reply.schema_name}" has no usable entry: {reason}')
    return reply.model_copy(update={reply.schema_name: tuple(items), "discarded": tuple(discarded)})


def _positioned(items: list[Any], key: str, size: int, discarded: list[str]) -> list[Any]:
    shift = 1 if size and {getattr(item, key) for item in items} == set(range(1, size + 1)) else 0
    by_position: dict[int, Any] = {}
    for item in items:
        position = getattr(item, key) - shift
        if size and not 0 <= position < size:
            discarded.append(f"{key} {position}: the request has no such position")
        elif position in by_position:
            discarded.append(f"{key} {position}: given twice")
        else:
            by_position[position] = item.model_copy(update={key: position})
    return list(by_position.values())


def _supported(items: list[Any], texts: Sequence[str], discarded: list[str]) -> list[Any]:
    """Return the triples with existing evidence only, without those that have none left."""
    size = len(texts)
    positions = {position for item in items for position in item.evidence}
    shift = 1 if positions and min(positions) >= 1 and max(positions) == size else 0
    grounds = [Grounds(text) for text in texts] if not all(item.evidence for item in items) else []
    supported = []
    for place, item in enumerate(items):
        if item.evidence:
            evidence = dict.fromkeys(position - shift for position in item.evidence if position - shift < size)
            reason = "it names no evidence of the request"
        else:
            evidence = dict.fromkeys(at for at, ground in enumerate(grounds) if not ground.problem(item.subject, item.object))
            reason = "it names no evidence, and none holds both its ends"
        if not evidence:
            discarded.append(f"triples[{place}]: {reason}")
        elif tuple(evidence) == item.evidence:
            supported.append(item)
        else:
            supported.append(item.model_copy(update={"evidence": tuple(evidence)}))
    return supported


def _first_fitting(candidates: Iterable[Any], schema: type[R]) -> tuple[R | None, str]:
    """Return the first candidate with usable entries, else an empty one, else None, with the reason why the first did not fit.

    Models wrap the list in other objects or rename it, so each list of objects within a candidate is tried.
    """
    empty, reason = None, ""
    for document in candidates:
        for shape in (document, *_lists_in(document, _DEEPEST)):
            try:
                reply = parse_reply(schema, shape)
            except ValueError as error:
                reason = reason or str(error)
                continue
            if reply.items:
                return reply, ""
            empty = empty or reply
    return empty, reason


def _lists_in(document: Any, depth: int) -> Iterator[list[Any]]:
    """Yield the lists of objects or lists within a JSON value, including lists inside strings."""
    for value in document.values() if isinstance(document, dict) else document if isinstance(document, list) else ():
        inner = next(iter(documents(value)[0]), None) if isinstance(value, str) else value
        if isinstance(inner, list) and inner and isinstance(inner[0], dict | list):
            yield inner
        if depth and isinstance(inner, dict | list):
            yield from _lists_in(inner, depth - 1)


def parse_reply(schema: type[R], document: Any) -> R:
    """Validate a JSON document; a bare list is accepted as the list of the shape. An empty list is a valid reply.

    Raises ValueError if the shape is wrong or no entry is usable; its message is for the model.
    """
    name = schema.schema_name
    entries = document.get(name) if isinstance(document, Mapping) else document
    if not isinstance(entries, list):
        raise ValueError(f'the reply must be a JSON object with a list "{name}"')  # noqa: TRY004
    usable, discarded = valid_entries(schema.item_type, name, entries)
    if discarded and not usable:
        raise ValueError(f"no usable entry; the first: {discarded[0]}")
    return schema.model_validate({name: list(usable.values()), "discarded": discarded})


def valid_entries(item_type: type[Entry], name: str, entries: Sequence[Any]) -> tuple[dict[int, Entry], list[str]]:
    """Return the valid entries of the list `name` by position, and a reason for each invalid one."""
    usable, discarded = dict[int, Entry](), []
    for position, entry in enumerate(entries):
        try:
            usable[position] = item_type.model_validate(entry)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            discarded.append(f"{name}[{position}]: {place and f'{place}: '}{first['msg']}")
    return usable, discarded


def triple_entries(body: str) -> list[Any]:
    """Return the triples that a model wrote as records or calls instead of JSON: mappings, or strings if they are ambiguous.

        ("relationship"<|>A<|>B<|>description<|>8)##     delimiter records, as graph extraction prompts teach them
        predicate(subject, object)                        one per line

    These triples have no evidence, and the confidence of a triple that states none. Ambiguous lines (three ends, a description
    without a verb between the ends) are not guessed.
    """
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
