"""What the gate would send of each question, for `privacy check`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from drag_graph.inputs import InputLine
from drag_graph.model import Query
from drag_graph.privacy.privacy_gate import PrivacyGate


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
