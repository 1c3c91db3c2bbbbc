"""Conversion between the model and rows of properties, for all engines (no I/O).

A row is a dictionary of an object's properties under the names of the model's fields. `metadata`, `snapshot` and the lines of
an answer, which an engine cannot keep as properties, are kept as JSON.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, cast

from pydantic import ValidationError

from drag_graph.errors import StoreUnfit
from drag_graph.graph.proof import own_refs
from drag_graph.model import Aggregation, Answer, Document, Merge, Query, Strategy, Subgraph
from drag_graph.ports.graph_store import LinkedEdge
from drag_graph.stores.shared.transaction import Row


def aggregation_text(aggregation: Aggregation) -> str:
    """Return the stored text."""
    return f"{aggregation.strategy} {aggregation.merge} {aggregation.threshold} {aggregation.top_k}"


def aggregation_of(text: str | None) -> Aggregation | None:
    """Return the aggregation of a stored text; None if it is damaged."""
    try:
        strategy, merge, threshold, top_k = (text or "").split()
        return Aggregation(
            strategy=cast("Strategy", strategy), merge=cast("Merge", merge), threshold=float(threshold), top_k=int(top_k)
        )
    except (ValidationError, ValueError):
        return None


QUERY = ("id", "namespace", "text", "options", "domain", "complexity", "input_id")
DOCUMENT = tuple(Document.model_fields)
ADDED: dict[str, Any] = {"date": "", "tags": (), "input_id": ""}
"""Fields that a document of an earlier version does not have."""
OWN = ("settings_hash", "status", "graph", "blind", "created_at", "expires_at")
ORDERS = {"calls": "id", "chunks": "position", "evidence": "position", "entities": "name", "triples": "rank", "edges": "rank"}
"""The parts of a subgraph, and what each is ordered by, and then by its id: by Python, as engines order text by other rules."""

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_NO_FIELDS = frozenset({"lines", "line_json", "snapshot", "edge_ids", "evidence_ids", "answered", "used"})


def source_row(subgraph: Subgraph) -> Row:
    """Return the properties of the source's node, without a query's right answer and the graph's kind (set by aggregation)."""
    source = subgraph.source
    names = QUERY if isinstance(source, Query) else DOCUMENT
    row = {name: getattr(source, name) for name in names} | {name: getattr(subgraph, name) for name in OWN if name != "graph"}
    if isinstance(source, Query):
        row |= {"options": list(source.options), "metadata": as_json(source.metadata)}
    else:
        row["tags"] = list(source.tags)
    return {**row, "embedding": list(subgraph.embedding), "call_ids": [call.id for call in subgraph.calls], "linked": False}


def subgraph_of(namespace: str, head: Mapping[str, Any], parts: Mapping[str, Iterable[Row]]) -> Subgraph:
    """Return the subgraph of a source's row (`source_row`) and the rows of its parts, each in the order that `read` promises.

    Raises StoreUnfit if the model does not allow them.
    """
    own = {"source_id": head["id"]}
    try:
        source = {name: head[name] for name in (QUERY if head.get("text") is not None else DOCUMENT) if name != "namespace"}
        source |= {name: source[name] or default for name, default in ADDED.items() if "name" in source}
        if "text" in source:
            source["metadata"] = json.loads(head["metadata"])
        return Subgraph.model_validate(
            {
                **{name: head[name] for name in OWN},
                "source": {**source, "namespace": namespace},
                "embedding": head["embedding"] or (),
                "aggregation": aggregation_of(head["aggregation"]),
                **{part: _sorted(ORDERS[part], own, rows) for part, rows in parts.items()},
            }
        )
    except (ValidationError, ValueError, TypeError, KeyError) as error:
        raise damaged(f"source {head['id']}") from error


def answer_row(answer: Answer) -> Row:
    """Return the properties of an answer's node."""
    return {
        **answer.model_dump(exclude={"lines", "snapshot"}, mode="json"),
        "lines": [line.text for line in answer.lines],
        "line_json": as_json([line.model_dump() for line in answer.lines]),
        "edge_ids": own_refs(answer, "edge"),
        "evidence_ids": own_refs(answer, "evidence"),
        "snapshot": as_json(answer.snapshot),
    }


def answer_of(namespace: str, row: Mapping[str, Any]) -> Answer:
    """Return the answer of a row; without its snapshot where the row has none. Raises StoreUnfit as `subgraph_of` does."""
    try:
        values = {name: value for name, value in row.items() if name not in _NO_FIELDS}
        snapshot = json.loads(row.get("snapshot") or "{}")
        return Answer(**{**values, "namespace": namespace}, lines=json.loads(row["line_json"]), snapshot=snapshot)
    except (ValidationError, ValueError, TypeError, KeyError) as error:
        raise damaged(f"answer {row.get('id')}") from error


def linked_edge_of(row: Mapping[str, Any]) -> LinkedEdge:
    """Return the edge of a row of `linked_edges`."""
    return LinkedEdge(**{**row, "predicates": tuple(row["predicates"]), "contradicts": tuple(row["contradicts"])})


def evidence_again(answers: Iterable[Row], evidence_ids: Collection[str]) -> list[Row]:
    """Return the links from stored answers to those of `evidence_ids` in their context."""
    return [
        {"answer_id": answer["id"], "id": id_}
        for answer in answers
        for id_ in dict.fromkeys(
            ref
            for line in json.loads(answer["line_json"])
            if line["kind"] != "edge"
            for ref in line.get("evidence_ids") or [line["ref"]]
        )
        if id_ in evidence_ids
    ]


def as_json(document: Any) -> str:
    """Return readable JSON. It is escaped only if it contains a lone surrogate, which UTF-8 cannot encode."""
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text if text.isascii() or not _HALF_CHARACTER.search(text) else json.dumps(document, sort_keys=True)


def damaged(what: str) -> StoreUnfit:
    """Return the error for stored data that was changed or lost."""
    hint = "Run `drag-graph db verify`: it lists everything that is damaged, and how to fix it."
    return StoreUnfit(f"{what} in the store is damaged: it is not as drag-graph wrote it.", hint=hint)


def _sorted(name: str, own: Row, rows: Iterable[Row]) -> Sequence[Row]:
    ordered = sorted(rows, key=lambda row: (row[name], row["id"]))
    for row in ordered:
        row.update(own)
    return ordered
