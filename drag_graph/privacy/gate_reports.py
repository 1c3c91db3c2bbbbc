"""What the gate would send (`privacy check`), has replaced (`privacy reveal`), and would have replaced (`privacy scan`)."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from drag_graph.files import opened
from drag_graph.identity import query_id
from drag_graph.inputs import InputLine
from drag_graph.model import Answer, Query
from drag_graph.privacy.disguise import Reidentification
from drag_graph.privacy.privacy_gate import PrivacyGate
from drag_graph.privacy.vault import Original, Vault

FROM_THE_USER = frozenset({"question", "options", "metadata", "input_id", "gold", "source"})
"""Fields that are searched for names as well; `text` is one of them if the same object has `options`."""


def preview(gate: PrivacyGate, lines: Iterable[InputLine], *, why: bool = False) -> Iterator[dict[str, Any]]:
    """Yield an entry per question; with `why`, its `kept` lists what a detector recognised and did not replace."""
    for line in lines:
        if line.query is not None:
            yield _entry(gate, line.number, line.query, why=why)


def preview_totals(entries: Sequence[Mapping[str, Any]], rejected: int) -> dict[str, Any]:
    """Return the numbers of queries, of changed, refused and rejected ones, and of findings by type."""
    types = Counter(item["type"] for entry in entries for item in entry["findings"])
    return {
        "queries": len(entries),
        "changed": sum(bool(entry["findings"]) for entry in entries),
        "refused": sum(entry["refused"] for entry in entries),
        "rejected": rejected,
        "findings": dict(sorted(types.items())),
    }


def _entry(gate: PrivacyGate, line: int, query: Query, *, why: bool) -> dict[str, Any]:
    admission = gate.pass_through(query)
    asked = admission.asked
    return {
        "line": line,
        "id": asked.id if asked else None,
        "input_id": query.input_id,
        "original": query.text,
        "outgoing": asked.text if asked else "",
        "options": list(query.options),
        "outgoing_options": list(asked.options) if asked else [],
        "findings": [asdict(item) for item in admission.findings],
        **({"kept": [asdict(item) for item in admission.kept]} if why else {}),
        "refused": asked is None,
        "why": admission.why,
    }


def revealed(answer: Answer, vault: Vault) -> list[dict[str, Any]]:
    """Return the answer as it reads for each original that was asked as its question. The same text counts once."""
    asked_id = query_id(answer.namespace, answer.question, answer.options)
    originals: dict[Any, Original] = {}
    for original in vault.originals(asked_id):
        text = (original.question, original.options)
        if original.findings and (text not in originals or not originals[text].own_id):
            originals[text] = original
    return [_revealed_as(answer, asked_id, original) for original in originals.values()]


def _revealed_as(answer: Answer, asked_id: str, original: Original) -> dict[str, Any]:
    reidentification = Reidentification(asked_id, original.question, original.options, original.findings, lambda text: text)
    restored = reidentification.restored_answer(answer)
    return {
        "own_id": original.own_id,
        "question": restored.question,
        "options": list(restored.options),
        "answer": restored.text,
        "lines": [{"n": line.n, "text": line.text} for line in restored.lines],
        "generalised": reidentification.generalised(),
    }


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
