"""Find the JSON in the text of a model: strictly first, then by `json-repair`. No I/O."""

import json
import re
from collections.abc import Callable
from typing import Any

LIKE_JSON = re.compile(r"""\{\s*(?:["'}\u201c]|[A-Za-z_]\w*\s*:)|\[\s*["'\[{\]\u201c]""")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_OPENING, _CLOSING = re.compile(r"[{\[]"), re.compile(r"[}\]]")
_NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")


def printable(text: str) -> str:
    """Return a text without control characters and halves of surrogate pairs."""
    return _NOT_TEXT.sub("\ufffd", text)


def clean(value: Any, fix: Callable[[str], str] = printable) -> Any:
    """Return a JSON value with `fix` applied to its strings."""
    if isinstance(value, str):
        return fix(value)
    if isinstance(value, list):
        return [clean(entry, fix) for entry in value]
    if isinstance(value, dict):
        return {key: clean(entry, fix) for key, entry in value.items()}
    return value


def documents(body: str) -> tuple[list[Any], str]:
    """Return the valid JSON objects and lists in `body`, and the text from the first invalid one on.

    If there are several, their list comes last, because some models write one object per line.
    """
    values, position = list[Any](), 0
    while (start := LIKE_JSON.search(body, position)) is not None:
        try:
            document, position = _DECODER.raw_decode(body, start.start())
        except ValueError:
            return values, body[start.start() :]
        values.append(clean(document))
    return [*values, values] if len(values) > 1 else values, ""


def repaired(broken: str) -> list[Any]:
    """Return the object or list that `json-repair` finds in a text that begins like JSON, as a list of at most one."""
    import json_repair

    document = json_repair.loads(broken[: _last_closed(broken)] or broken, skip_json_loads=True) if broken else None
    return [clean(document)] if isinstance(document, dict | list) and document else []


def looks_cut_off(broken: str) -> bool:
    """Return whether JSON stops in the middle of an entry. Missing closing brackets alone can be repaired."""
    broken = broken.rstrip().removesuffix("```").rstrip()
    outside = _STRING.sub("", broken)
    unclosed = '"' in outside or len(_OPENING.findall(outside)) > len(_CLOSING.findall(outside))
    return unclosed and not broken.endswith(("}", "]")) and "\n\n" not in broken[_last_closed(broken) :]


def _last_closed(text: str) -> int:
    """Return the position after the last closing bracket, 0 without one."""
    return max(text.rfind("}"), text.rfind("]")) + 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object. A key with two different values becomes None."""
    document: dict[str, Any] = {}
    for key, value in pairs:
        document[key] = value if document.get(key, value) == value else None
    return document


_DECODER = json.JSONDecoder(object_pairs_hook=_object, strict=False)
