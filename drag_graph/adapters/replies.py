"""From what a model wrote to a validated reply (design, sections 7 and 8). No I/O.

The text is read strictly first (as it is, without reasoning tags, out of code fences, out of prose), then by `json-repair`.
Nothing is guessed about meaning: NaN is no number, a key with two values makes its object unusable, an unclosed document
counts as cut off rather than as a shorter one.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from drag_graph.ports import TeacherRequest
from drag_graph.wire import Ambiguous, EvidenceReply, Reply, ScoresReply, StatementsReply, TriplesReply

R = TypeVar("R", bound=Reply)

LONGEST_REPLY = 2_000_000
_LONGEST_REFUSAL = 800
_DEEPEST = 3
_OVERLAP = 400
_REASONING = re.compile(r"<(think|thinking|reasoning|reflection)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_REASONING_END = re.compile(r"\A.*</(?:think|thinking|reasoning|reflection)>", re.DOTALL | re.IGNORECASE)
_REASONING_OPEN = re.compile(r"<(?:think|thinking|reasoning|reflection)>.*\Z", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```[\w-]*[ \t]*\r?\n?(.*?)(?:```|\Z)", re.DOTALL)
_LIKE_JSON = re.compile(r"""\{\s*(?:["'}\u201c]|[A-Za-z_]\w*["']?\s*:)|\[\s*(?:["'\[{\]\u201c]|-?\d)""")
_MARK = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|["{}\[\]]', re.DOTALL)
_QUOTE, _OPENING, _CLOSING = '"', ("{", "["), ("}", "]")
_KEY = re.compile(r"\s*:")
_NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")
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

    Raises CutOff, Refused or Unreadable. Where one object of several is unusable, `discarded` of the reply says why.
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
        repaired, repaired_reason = _first_fitting(repaired_documents(text), schema)
    except RecursionError as error:
        raise Unreadable("the reply is nested too deeply") from error
    if repaired is not None:
        return repaired
    raise Unreadable(reason or repaired_reason or "there is no JSON in the reply")


def clean(value: Any) -> Any:
    """Return a JSON value whose strings hold neither control characters nor halves of surrogate pairs."""
    if isinstance(value, str):
        return _NOT_TEXT.sub("\ufffd", value)
    if isinstance(value, list):
        return [clean(entry) for entry in value]
    if isinstance(value, dict):
        return {key: clean(entry) for key, entry in value.items()}
    return value


def documents(text: str) -> Iterator[Any]:
    """Yield every JSON object or list that can be read out of `text`, the most trustworthy reading first."""
    yield from strict_documents(text)
    yield from repaired_documents(text)


def strict_documents(text: str) -> Iterator[Any]:
    """Yield the JSON objects and lists that are in `text` without any repair."""
    for part in dict.fromkeys((text, *_parts(text))):
        whole = _loads(part)
        if isinstance(whole, str):  # JSON that was encoded twice
            whole = _loads(whole)
        if isinstance(whole, Mapping | list | Ambiguous):
            yield whole
    for part in _parts(text):
        found = list(_embedded(part))
        if len(found) > 1 and all(isinstance(document, Mapping) for document in found):
            yield found  # one object a line
        yield from found


def repaired_documents(text: str) -> Iterator[Any]:
    """Yield what `json-repair` makes of the parts of `text` that look like JSON; objects with doubled keys are refused."""
    import json_repair

    for part in _parts(text):
        start = _LIKE_JSON.search(part)
        if start is None or _is_fragment(part[: start.start()][-80:], ""):
            continue
        rest = part[start.start() :]
        for piece in dict.fromkeys((rest[: _end(rest)], rest[: max(rest.rfind("}"), rest.rfind("]")) + 1], rest)):
            if not piece:
                continue
            doubled = _doubled_key(piece)
            if doubled is not None:
                yield Ambiguous(doubled)
                return
            try:
                document = json_repair.loads(piece, skip_json_loads=True)
            except ValueError:
                continue
            if isinstance(document, Mapping | list) and document:
                yield clean(document)


def looks_cut_off(text: str) -> bool:
    """Return whether the JSON in `text` stops in the middle of an entry. Missing closing brackets alone can be mended."""
    body = _without_reasoning(text).rstrip().removesuffix("```").rstrip()
    start = _LIKE_JSON.search(body)
    if start is None:
        return bool(_REASONING_OPEN.search(text)) and not _REASONING_END.search(text)
    rest = body[start.start() :]
    if rest[-1] in "}]" or _end(rest) < len(rest):
        return False
    tail = rest[max(rest.rfind("}"), rest.rfind("]")) + 1 :]
    return _unclosed(rest) and "\n\n" not in tail


def is_refusal(text: str) -> bool:
    """Return whether `text` is short, holds no JSON and begins as models do when they decline."""
    body = _without_reasoning(text).strip()
    return bool(body) and len(body) <= _LONGEST_REFUSAL and not _LIKE_JSON.search(body) and bool(_REFUSAL.match(body))


def join(partial: str, continuation: str) -> str:
    """Return a reply that was cut off with its continuation: what the model repeats of the end is not repeated."""
    continuation = _without_reasoning(continuation)
    opened = re.match(r"\s*```[\w-]*[ \t]*\r?\n", continuation)
    if opened:
        continuation = continuation[opened.end() :]
    for size in range(min(_OVERLAP, len(partial), len(continuation)), 7, -1):
        if partial.endswith(continuation[:size]):
            return partial + continuation[size:]
    return partial + continuation


def fit(reply: R, request: TeacherRequest) -> R:
    """Return `reply` held against its request: at most `count` evidence, positions that exist, one score an evidence.

    Positions that can only be 1-based are shifted. Whatever is dropped is named in `discarded`. Raises Unreadable when
    entries were asked for and none is left.
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
        items = _supported(items, len(request.texts), discarded)
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


def _supported(items: list[Any], size: int, discarded: list[str]) -> list[Any]:
    """Return the triples with the positions of their evidence that exist, without the triples that have none left."""
    if not size:
        return items
    positions = {position for item in items for position in item.evidence}
    shift = 1 if positions and min(positions) >= 1 and max(positions) == size else 0
    kept = []
    for place, item in enumerate(items):
        existing = tuple(dict.fromkeys(position - shift for position in item.evidence if position - shift < size))
        if existing:
            kept.append(item.model_copy(update={"evidence": existing}))
        else:
            discarded.append(f"triples[{place}]: it names no evidence of the request")
    return kept


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
        if isinstance(inner, str) and isinstance(decoded := _loads(inner), list):
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


def _without_reasoning(text: str) -> str:
    """Return `text` without what a reasoning model thought aloud; a tag within the JSON itself is left alone."""
    opened, begun = _REASONING_OPEN.search(text), _LIKE_JSON.search(text)
    if opened and begun and begun.start() < opened.start():
        return text
    text = _REASONING.sub("", text)
    text = _REASONING_END.sub("", text)  # the opening tag is sometimes in the prompt's template
    return _REASONING_OPEN.sub("", text)


def _parts(text: str) -> Iterator[str]:
    """Yield what can hold the JSON: the text without reasoning, then what is in code fences; each once."""
    body = _without_reasoning(text).strip().removeprefix("\ufeff").strip()
    yield from dict.fromkeys(part for part in (body, *(block.strip() for block in _FENCE.findall(body))) if part)


def _embedded(text: str) -> Iterator[Any]:
    """Yield the whole JSON objects and lists in prose; stops at the first that begins like JSON and cannot be read."""
    position = 0
    while (start := _LIKE_JSON.search(text, position)) is not None:
        end = _end(text, start.start())
        document = _loads(text[start.start() : end])
        if document is None:
            if _is_prose(text[start.start() : end]):
                position = start.end()
                continue
            return
        if _is_fragment(text[max(0, start.start() - 80) : start.start()], text[end : end + 80]):
            return
        yield document
        position = end


def _is_fragment(before: str, after: str) -> bool:
    """Return whether a whole object stands in the middle of a list whose beginning or end is missing."""
    return before.rstrip().endswith((",", "[", "{")) or after.lstrip().startswith((",", "]", "}"))


def _is_prose(piece: str) -> bool:
    """Return whether brackets hold plain words, as in "[1, see there]" or "{a}"."""
    return len(piece) < 80 and '"' not in piece and ":" not in piece  # noqa: PLR2004 - the length of a remark


def _loads(text: str) -> Any:
    """Return the JSON value of `text`, or None when it is none."""
    try:
        value = json.loads(text, object_pairs_hook=_pairs, parse_constant=_no_number, parse_float=_finite, strict=False)
    except ValueError:
        return None
    return clean(value)


def _pairs(pairs: list[tuple[str, Any]]) -> Any:
    document: dict[str, Any] = {}
    for key, value in pairs:
        if key in document and document[key] != value:
            return Ambiguous(key)
        document[key] = value
    return document


def _no_number(name: str) -> None:
    del name


def _finite(text: str) -> float | None:
    value = float(text)
    return value if abs(value) != float("inf") else None


def _tokens(text: str, start: int = 0) -> Iterator[tuple[int, str]]:
    """Yield (position after it, mark) from `start` on for brackets, `"..."` strings and `"` (a string that never ends)."""
    for match in _MARK.finditer(text, start):
        yield match.end(), match[0]
        if match[0] == _QUOTE:
            return


def _end(text: str, start: int = 0) -> int:
    """Return where the bracket at `start` is closed, or the length of `text`."""
    depth = 0
    for position, mark in _tokens(text, start):
        depth += (mark in _OPENING) - (mark in _CLOSING)
        if depth <= 0 and mark in _CLOSING:
            return position
    return len(text)


def _unclosed(text: str) -> bool:
    depth = 0
    for _, mark in _tokens(text):
        if mark == _QUOTE:
            return True
        depth += (mark in _OPENING) - (mark in _CLOSING)
    return depth > 0


def _doubled_key(text: str) -> str | None:
    """Return a quoted key that occurs twice in one object of `text`, which need not be valid JSON; or None."""
    levels: list[set[str]] = [set()]
    for position, mark in _tokens(text):
        if mark in _OPENING:
            levels.append(set())
        elif mark in _CLOSING:
            if len(levels) > 1:
                levels.pop()
        elif len(mark) > 1 and _KEY.match(text, position):
            if len(mark) > 2 and mark in levels[-1]:  # noqa: PLR2004 - `""x""` is a quoting habit, no key
                return mark[1:-1]
            levels[-1].add(mark)
    return None
