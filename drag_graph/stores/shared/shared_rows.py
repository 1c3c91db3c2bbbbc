"""Conversion between the model and rows of properties, and to the records of an export, for all engines (no I/O).

A row is a dictionary of an object's properties under the names of the model's fields. `metadata`, `snapshot` and the lines of
an answer, which an engine cannot keep as properties, are kept as JSON. The records of `GraphStore.records` are the same for
every store, so exports can be compared.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from pydantic import ValidationError

from drag_graph.errors import StoreUnfit
from drag_graph.graph.proof import own_refs
from drag_graph.model import Aggregation, Answer, Document, Merge, Query, Strategy, Subgraph
from drag_graph.ports.concept_store import SameAs
from drag_graph.ports.graph_store import LinkedEdge
from drag_graph.stores.shared.transaction import Row
from drag_graph.values import Value


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
    return sorted(({**row, **own} for row in rows), key=lambda row: (row[name], row["id"]))


_OF_THE_SOURCE = frozenset({"settings_hash", "status", "graph", "blind", "embedding", "created_at", "expires_at"})
_ENDS = frozenset({"subject_id", "subject", "object_id", "object"})


def subgraph_records(subgraph: Subgraph) -> Iterator[dict[str, Any]]:
    """Yield the nodes and edges of one source's subgraph, without its answers."""
    source, namespace = subgraph.source, subgraph.source.namespace
    own = subgraph.model_dump(mode="json", include=set(_OF_THE_SOURCE))
    if isinstance(source, Document):
        yield node("Document", source.id, {**source.model_dump(mode="json"), **own})
    else:
        # Metadata is JSON already, and pydantic would change keys with half a character in them.
        head = {**source.model_dump(mode="json", exclude={"gold", "metadata"}), "metadata": source.metadata}
        yield node("Query", source.id, {**head, **own})
    for chunk in subgraph.chunks:
        yield node("Chunk", chunk.id, _properties(chunk, namespace))
        yield link("HAS_CHUNK", source.id, chunk.id, namespace)
    for call in subgraph.calls:
        yield node("TeacherCall", call.id, _properties(call, namespace))
    for evidence in subgraph.evidence:
        yield node("Evidence", evidence.id, _properties(evidence, namespace))
        yield link("HAS_EVIDENCE", source.id, evidence.id, namespace)
        yield from (link("GENERATED_BY", evidence.id, call_id, namespace) for call_id in evidence.call_ids)
        if evidence.chunk_id:
            yield link("FROM_CHUNK", evidence.id, evidence.chunk_id, namespace)
    for entity in subgraph.entities:
        yield node("Entity", entity.id, _properties(entity, namespace))
        yield link("MENTIONS", source.id, entity.id, namespace)
    for triple in subgraph.triples:
        yield edge("TRIPLE", triple.id, triple.subject_id, triple.object_id, _properties(triple, namespace))
    for simple in subgraph.edges:
        yield edge("RELATED", simple.id, simple.subject_id, simple.object_id, _properties(simple, namespace))


def answer_records(answer: Answer, source_ids: Collection[str], evidence_ids: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield an answer and its links to these queries and this evidence, which are stored."""
    yield node("Answer", answer.id, {**answer.model_dump(mode="json"), "edge_ids": own_refs(answer, "edge")})
    for source_id in source_ids:
        yield link("ANSWERS", answer.id, source_id, answer.namespace)
    for evidence_id in evidence_ids:
        yield link("USED", answer.id, evidence_id, answer.namespace)


def node(label: str, id_: str, properties: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a node."""
    return {"kind": "node", "label": label, "id": id_, "properties": properties}


def edge(type_: str, id_: str, source: str, target: str, properties: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a relationship with an id of its own."""
    return {"kind": "edge", "type": type_, "id": id_, "source": source, "target": target, "properties": properties}


def link(type_: str, source: str, target: str, namespace: str) -> dict[str, Any]:
    """Return the record of a relationship that only its ends identify."""
    return edge(type_, f"{source}-{type_}-{target}", source, target, {"namespace": namespace})


def same_as_record(item: SameAs, namespace: str) -> dict[str, Any]:
    """Return the record of a judgement on two concepts; that it was undone is content, when is a time."""
    own = {name: getattr(item, name) for name in ("id", "method", "score", "created_at", "undone_at")}
    properties = {"namespace": namespace, **own, "undone": bool(item.undone_at)}
    return edge("SAME_AS", item.id, item.left, item.right, properties)


def _properties(value: Value, namespace: str) -> dict[str, Any]:
    return {"namespace": namespace, **value.model_dump(mode="json", exclude=set(_ENDS))}
