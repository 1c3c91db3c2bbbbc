"""Nodes and edges as the records that `GraphStore.records` yields: the same for every store, so exports can be compared."""

from collections.abc import Collection, Iterator
from typing import Any

from drag_graph.graph.proof import own_refs
from drag_graph.model import Answer, Document, Subgraph
from drag_graph.values import Value

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


def same_as_record(row: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a judgement on two concepts; that it was undone is content, when is a time."""
    properties = {name: value for name, value in row.items() if name not in {"source", "target"}}
    return edge("SAME_AS", row["id"], row["source"], row["target"], {**properties, "undone": bool(row["undone_at"])})


def _properties(value: Value, namespace: str) -> dict[str, Any]:
    return {"namespace": namespace, **value.model_dump(mode="json", exclude=set(_ENDS))}
