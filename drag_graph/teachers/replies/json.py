"""The JSON in what a model wrote: read strictly first, then by `json-repair` (docs/design.md, sections 7 and 8). No I/O."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from drag_graph.ports.replies import Ambiguous

_REASONING = re.compile(r"<(think|thinking|reasoning|reflection)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_REASONING_END = re.compile(r"\A.*</(?:think|thinking|reasoning|reflection)>", re.DOTALL | re.IGNORECASE)
_REASONING_OPEN = re.compile(r"<(?:think|thinking|reasoning|reflection)>.*\Z", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```[\w-]*[ \t]*\r?\n?(.*?)(?:```|\Z)", re.DOTALL)
LIKE_JSON = re.compile(r"""\{\s*(?:["'}\u201c]|[A-Za-z_]\w*["']?\s*:)|\[\s*(?:["'\[{\]\u201c]|-?\d)""")
_MARK = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|["{}\[\]]', re.DOTALL)
_QUOTE, _OPENING, _CLOSING = '"', ("{", "["), ("}", "]")
_KEY = re.compile(r"\s*:")
_ESCAPED = re.compile(r"\\[ubf]")
_NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")


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
    for part in _whole_first(text):
        whole = loads(part)
        if isinstance(whole, str):  # JSON that was encoded twice
            whole = loads(whole)
        if isinstance(whole, Mapping | list | Ambiguous):
            yield whole
    for part in _parts(text):
        found = list(_embedded(part))
        if len(found) > 1 and all(isinstance(document, Mapping) for document in found):
            yield found  # one object a line
        yield from found


def _whole_first(text: str) -> Iterator[str]:
    """Yield the text as it is, then its parts, which are found only when they are wanted."""
    yield text
    yield from (part for part in _parts(text) if part != text)


def repaired_documents(text: str) -> Iterator[Any]:
    """Yield what `json-repair` makes of the parts of `text` that look like JSON; objects with doubled keys are refused."""
    import json_repair

    for part in _parts(text):
        start = LIKE_JSON.search(part)
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
    body = without_reasoning(text).rstrip().removesuffix("```").rstrip()
    start = LIKE_JSON.search(body)
    if start is None:
        return bool(_REASONING_OPEN.search(text)) and not _REASONING_END.search(text)
    rest = body[start.start() :]
    if rest[-1] in "}]" or _end(rest) < len(rest):
        return False
    tail = rest[max(rest.rfind("}"), rest.rfind("]")) + 1 :]
    return _unclosed(rest) and "\n\n" not in tail


def without_reasoning(text: str) -> str:
    """Return `text` without what a reasoning model thought aloud; a tag within the JSON itself is left alone."""
    opened, begun = _REASONING_OPEN.search(text), LIKE_JSON.search(text)
    if opened and begun and begun.start() < opened.start():
        return text
    text = _REASONING.sub("", text)
    text = _REASONING_END.sub("", text)  # the opening tag is sometimes in the prompt's template
    return _REASONING_OPEN.sub("", text)


def _parts(text: str) -> Iterator[str]:
    """Yield what can hold the JSON: the text without reasoning, then what is in code fences; each once."""
    body = without_reasoning(text).strip().removeprefix("\ufeff").strip()
    yield from dict.fromkeys(part for part in (body, *(block.strip() for block in _FENCE.findall(body))) if part)


def _embedded(text: str) -> Iterator[Any]:
    """Yield the whole JSON objects and lists in prose; stops at the first that begins like JSON and cannot be read."""
    position = 0
    while (start := LIKE_JSON.search(text, position)) is not None:
        end = _end(text, start.start())
        document = loads(text[start.start() : end])
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
    before = before.rstrip()
    # After words alone a comma is prose; in JSON a quote or a bracket comes before it.
    words = any(mark.isalpha() for mark in before) and not any(mark in before for mark in "\"'{}[]")
    opened = before.endswith(("[", "{")) or (before.endswith(",") and not words)
    return opened or after.lstrip().startswith((",", "]", "}"))


def _is_prose(piece: str) -> bool:
    """Return whether brackets hold plain words, as in "[1, see there]" or "{a}"."""
    return len(piece) < 80 and '"' not in piece and ":" not in piece  # noqa: PLR2004 - the length of a remark


def loads(text: str) -> Any:
    """Return the JSON value of `text`, or None when it is none."""
    try:
        value = json.loads(text, object_pairs_hook=_pairs, parse_constant=_no_number, parse_float=_finite, strict=False)
    except ValueError:
        return None
    # Looking at the text once is cheaper than at each of its strings.
    return clean(value) if _ESCAPED.search(text) or _NOT_TEXT.search(text) else value


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
