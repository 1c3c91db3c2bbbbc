"""`privacy scan`: what a store, a ledger or exported files hold that the gate would have taken out."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from drag_graph.errors import InputError
from drag_graph.privacy.privacy_gate import PrivacyGate

FROM_THE_USER = frozenset({"question", "options", "metadata", "input_id", "gold", "source"})
"""Fields whose texts are looked at for names, too; `text` is one of them where options stand beside it."""


def scan(gate: PrivacyGate, documents: Iterable[tuple[str, str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield what is found in documents, each with its place and its name there; never the text itself."""
    for place, name, document in documents:
        told = [item for item in _texts(document) if item[1].strip()]
        for users in (True, False):
            texts = [(field, text) for field, text, from_user in told if from_user is users]
            found = gate.found_in([text for _, text in texts], from_user=users) if texts else []
            for (field, _), items in zip(texts, found, strict=True):
                for item in items:
                    span = {"start": item.start, "end": item.end, "type": item.type, "detector": item.detector}
                    yield {"place": place, "name": name, "field": field, **span}


def file_documents(path: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield the lines of a file by their numbers: JSON, or a text. Raises InputError."""
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, start=1):
                yield str(path), f"line {number}", parsed(line)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", hint="Give exported files.") from error


def parsed(text: Any) -> Any:
    """Return the document of a JSON text; anything else as it is."""
    try:
        return json.loads(text)
    except (ValueError, TypeError):
        return text


def _texts(value: Any, field: str = "", *, from_user: bool = False) -> Iterator[tuple[str, str, bool]]:
    if isinstance(value, str):
        inner = parsed(value) if value[:1] in {"{", "["} else value
        if inner is value or isinstance(inner, str):
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
