"""Search stored and exported texts for what the gate would have replaced, for `privacy scan`."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from drag_graph.files import opened
from drag_graph.privacy.privacy_gate import PrivacyGate

FROM_THE_USER = frozenset({"question", "options", "metadata", "input_id", "gold", "source"})
"""Fields that are searched for names as well; `text` is one of them if the same object has `options`."""


def scan(gate: PrivacyGate, documents: Iterable[tuple[str, str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the findings in documents (place, name and content of each), without the texts."""
    for place, name, document in documents:
        texts = [item for item in _texts(document) if item[1].strip()]
        for from_user in (True, False):
            chosen = [(field, text) for field, text, is_users in texts if is_users is from_user]
            findings = gate.found_in([text for _, text in chosen], from_user=from_user) if chosen else []
            for (field, _), items in zip(chosen, findings, strict=True):
                for item in items:
                    span = {"start": item.start, "end": item.end, "type": item.type, "detector": item.detector}
                    yield {"place": place, "name": name, "field": field, **span}


def file_documents(path: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield the lines of a file as documents, parsed if they are JSON. Raises InputError."""
    with opened(path, "Pass exported files.") as lines:
        for number, line in enumerate(lines, start=1):
            yield str(path), f"line {number}", _parsed(line.decode(errors="replace"))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _texts(value: Any, field: str = "", *, from_user: bool = False) -> Iterator[tuple[str, str, bool]]:
    """Yield each text in a document with its field, and whether the user wrote it."""
    if isinstance(value, str):
        inner = _parsed(value) if value[:1] in {"{", "["} else value
        if isinstance(inner, str):
            yield field, value, from_user or not field
        else:
            yield from _texts(inner, field, from_user=from_user)
    elif isinstance(value, dict):
        for key, entry in value.items():
            users = from_user or key in FROM_THE_USER or (key == "text" and "options" in value)
            yield from _texts(entry, f"{field}.{key}".lstrip("."), from_user=users)
    elif isinstance(value, list):
        for place, entry in enumerate(value):
            yield from _texts(entry, f"{field}[{place}]", from_user=from_user)
