"""From what a model wrote to a validated reply (docs/design.md, sections 7 and 8). No I/O.

The text is read strictly first (as it is, without reasoning tags, out of code fences, out of prose), then by `json-repair`,
last as the records, lines and lists that models write instead of JSON (`reply_formats`, `reply_lists`).
Nothing is guessed about meaning: NaN is no number, a key with two values makes its object unusable, an unclosed document
counts as cut off rather than as a shorter one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import tee
from typing import Any, TypeVar, cast

from drag_graph.ports.models import TeacherRequest
from drag_graph.ports.replies import (
    Ambiguous,
    EvidenceReply,
    LooseTriple,
    LooseTriplesReply,
    Reply,
    ScoresReply,
    StatementsReply,
    TripleItem,
    TriplesReply,
)
from drag_graph.teachers.replies.formats import Holding, triple_entries
from drag_graph.teachers.replies.json import (
    LIKE_JSON,
    loads,
    looks_cut_off,
    repaired_documents,
    strict_documents,
    without_reasoning,
)
from drag_graph.teachers.replies.lists import listed_evidence

R = TypeVar("R", bound=Reply)

LONGEST_REPLY = 2_000_000
_LONGEST_REFUSAL = 800
_DEEPEST = 3
_RELATIONS = ("relationships", "relations", "edges")
_OVERLAP = 400
_JSON_TEXT = re.compile(r'[{\[]\s*"')
_REFUSAL = re.compile(
    r"\W*(?:i\s*(?:'|\u2019)?\s*(?:a?m\s+)?(?:very\s+|so\s+|truly\s+|really\s+)?(?:sorry|afraid|unable|not able)\b"
    r"|(?:sorry|apologies|unfortunately)\b|my apologies|i apologi[sz]e"
    r"|i\s+(?:can\s*not|can(?:'|\u2019)t|could\s+not|won(?:'|\u2019)t|will\s+not|must\s+decline|decline|refuse|do\s+not\s+feel)\b"
    r"|as\s+an?\s+(?:ai|language\s+model|large\s+language)|(?:this|your)\s+request\s+(?:violates|goes against))",
    re.IGNORECASE,
)


class Unreadable(ValueError):  # noqa: N818 - reads as what happened
    """The reply is not what was asked for. The message is one sentence that can be sent back to the model."""


class CutOff(Unreadable):
    """The reply stops in the middle."""


class Refused(Unreadable):
    """The reply declines to answer."""


def read(text: str, schema: type[R], *, finish_reason: str = "stop") -> R:
    """Return the reply of shape `schema` that is in `text`.

    Raises CutOff, Refused or Unreadable. Where one object of several is unusable, `discarded` of the reply says why. Triples
    in another form than was asked for are a LooseTriplesReply, of which `fit` makes a TriplesReply.
    """
    if len(text) > LONGEST_REPLY:
        raise Unreadable(f"the reply is longer than {LONGEST_REPLY} characters")
    try:
        found, reason = _first_fitting(strict_documents(text), schema)
        if found is not None:
            return found
        if finish_reason == "length" or looks_cut_off(text):
            raise CutOff("the reply stops in the middle")
        if finish_reason == "content_filter" or is_refusal(text):
            raise Refused("the reply declines to answer")
        mended, again = tee(repaired_documents(text))  # repair is slow: once is enough
        repaired, repaired_reason = _first_fitting(mended, schema)
        if repaired is None:
            repaired = cast("R | None", _in_another_form(text, schema, again))
    except RecursionError as error:
        raise Unreadable("the reply is nested too deeply") from error
    if repaired is not None:
        return repaired
    raise Unreadable(reason or repaired_reason or "there is no JSON in the reply")


def is_refusal(text: str) -> bool:
    """Return whether `text` is short, holds no JSON and begins as models do when they decline."""
    body = without_reasoning(text).strip()
    return bool(body) and len(body) <= _LONGEST_REFUSAL and not LIKE_JSON.search(body) and bool(_REFUSAL.match(body))


def join(partial: str, continuation: str) -> str:
    """Return a reply that was cut off with its continuation: what the model repeats of the end is not repeated."""
    continuation = without_reasoning(continuation)
    opened = re.match(r"\s*```[\w-]*[ \t]*\r?\n", continuation)
    if opened:
        continuation = continuation[opened.end() :]
    for size in range(min(_OVERLAP, len(partial), len(continuation)), 7, -1):
        if partial.endswith(continuation[:size]):
            return partial + continuation[size:]
    return partial + continuation


def fit(reply: R, request: TeacherRequest) -> R:
    """Return `reply` held against its request: at most `count` evidence, positions that exist, one score an evidence.

    Positions that can only be 1-based are shifted. A triple in another form that names no evidence gets those that hold both
    its ends. Whatever is dropped is named in `discarded`. Raises Unreadable when entries were asked for, or written in another
    form, and none is left.
    """
    items, discarded = list(getattr(reply, reply.list_name)), list(reply.discarded)
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
        if isinstance(reply, LooseTriplesReply):
            if not items:
                raise Unreadable("no triple names its evidence or has both its ends in one")
            reply = cast("R", TriplesReply(triples=()))
    if request.count and not items:
        raise Unreadable(f'the list "{reply.list_name}" has no usable entry; {request.count} were asked for')
    return reply.model_copy(update={reply.list_name: tuple(items), "discarded": tuple(discarded)})


def _positioned(items: list[Any], key: str, size: int, discarded: list[str]) -> list[Any]:
    shift = 1 if size and {getattr(item, key) for item in items} == set(range(1, size + 1)) else 0
    kept: dict[int, Any] = {}
    for item in items:
        position = getattr(item, key) - shift
        if size and not 0 <= position < size:
            discarded.append(f"{key} {position}: there is no such position in the request")
        elif position in kept:
            discarded.append(f"{key} {position}: given twice")
        else:
            kept[position] = item.model_copy(update={key: position})
    return list(kept.values())


def _supported(items: list[Any], texts: Sequence[str], discarded: list[str]) -> list[Any]:
    """Return the triples with the positions of their evidence that exist, without the triples that have none left."""
    size = len(texts)
    positions = {position for item in items for position in item.evidence}
    if not size and all(item.evidence for item in items):
        return items
    shift = 1 if positions and min(positions) >= 1 and max(positions) == size else 0
    holding = Holding(texts) if any(not item.evidence for item in items) else None
    kept = []
    for place, item in enumerate(items):
        if item.evidence or holding is None:
            existing = tuple(dict.fromkeys(position - shift for position in item.evidence if position - shift < size))
            reason = "it names no evidence of the request"
        else:
            existing = holding.positions(item.subject, item.object)
            reason = "it names no evidence, and none holds both its ends"
        if not existing:
            discarded.append(f"triples[{place}]: {reason}")
        elif isinstance(item, LooseTriple):
            kept.append(TripleItem(**{**item.model_dump(), "evidence": existing}))
        else:
            kept.append(item if existing == item.evidence else item.model_copy(update={"evidence": existing}))
    return kept


def _in_another_form(text: str, schema: type[Reply], mended: Iterator[Any]) -> Reply | None:
    """Return the triples or the evidence that were written as other JSON, as records, lines or a list; else None.

    `mended` are the documents that repair gives.
    """
    body = without_reasoning(text).strip()
    if _REFUSAL.match(body):
        return None
    if schema is EvidenceReply and not _JSON_TEXT.search(body):
        entries, discarded = listed_evidence(body)
        found = EvidenceReply.parse(entries)
        return found.model_copy(update={"discarded": (*found.discarded, *discarded)}) if found.evidence else None
    strict, repaired = list(strict_documents(text)), list(mended)
    if schema is not TriplesReply or any(isinstance(document, Ambiguous) for document in (*strict, *repaired)):
        return None
    for candidates in (_relations(strict), [triple_entries(body)], _relations(repaired)):
        loose, _ = _first_fitting(iter(candidates), LooseTriplesReply)
        if loose is not None and loose.triples:
            return loose
    return None


def _relations(found: list[Any]) -> Iterator[Any]:
    """Yield the documents, and the list of relations of one that has it beside a list of nodes."""
    for document in found:
        yield document
        for name in _RELATIONS if isinstance(document, Mapping) else ():
            value = document.get(name)
            listed = loads(value) if isinstance(value, str) else value
            if isinstance(listed, list):
                yield listed


def _first_fitting(candidates: Iterator[Any], schema: type[R]) -> tuple[R | None, str]:
    """Return the first candidate with usable entries, else an empty one, else None; and why the first did not fit."""
    empty, reason = None, ""
    for document in candidates:
        for shape in _shapes(document, schema.list_name):
            try:
                reply = schema.parse(shape)
            except ValueError as error:
                reason = reason or str(error)
                continue
            if getattr(reply, schema.list_name) or reply.discarded:
                return reply, ""
            empty = empty or reply
    return empty, reason


def _shapes(document: Any, name: str) -> Iterator[Any]:
    """Yield the forms in which models wrap the list `name`, starting with the document as it is."""
    yield document
    if isinstance(document, Mapping):
        inner = document.get(name)
        if isinstance(inner, str) and isinstance(decoded := loads(inner), list):
            yield {**document, name: decoded}
        yield from _nested(document, name, _DEEPEST)
        lists = [value for value in document.values() if isinstance(value, list)]
        if name not in document:
            yield lists[0] if len(lists) == 1 else [document]
    elif isinstance(document, list):
        yield from _nested(document, name, _DEEPEST)


def _nested(document: Any, name: str, depth: int) -> Iterator[Any]:
    inner = document.values() if isinstance(document, Mapping) else document if isinstance(document, list) else ()
    for value in inner:
        if isinstance(value, Mapping) and isinstance(value.get(name), list):
            yield value
        elif depth and isinstance(value, Mapping | list):
            yield from _nested(value, name, depth - 1)
