"""`privacy check`: what would be sent of each question, what was replaced by what, and what would be withheld."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from drag_graph.inputs import InputLine
from drag_graph.privacy.privacy_gate import Admission, PrivacyGate


def entries(gate: PrivacyGate, lines: Iterable[InputLine], *, why: bool = False) -> Iterator[dict[str, Any]]:
    """Yield what would become of each question; with `why`, `kept` has what a detector saw and left."""
    for line in lines:
        if line.query is not None:
            yield _entry(line.number, gate.pass_through(line.query), why=why)


def totals(found: Iterable[dict[str, Any]], rejected: int) -> dict[str, Any]:
    """Return how many queries there are, how many are changed and refused, and what was replaced, by type."""
    found = list(found)
    types = Counter(item["type"] for entry in found for item in entry["findings"])
    return {
        "queries": len(found),
        "changed": sum(bool(entry["findings"]) for entry in found),
        "refused": sum(entry["refused"] for entry in found),
        "rejected": rejected,
        "findings": dict(sorted(types.items())),
    }


def _entry(line: int, admission: Admission, *, why: bool) -> dict[str, Any]:
    given, asked = admission.given, admission.asked
    return {
        "line": line,
        "id": asked.id if asked else None,
        "input_id": given.input_id,
        "original": given.text,
        "outgoing": asked.text if asked else "",
        "options": list(given.options),
        "outgoing_options": list(asked.options) if asked else [],
        "findings": [asdict(item) for item in admission.findings],
        **({"kept": [asdict(item) for item in admission.kept]} if why else {}),
        "refused": asked is None,
        "why": admission.why,
    }
