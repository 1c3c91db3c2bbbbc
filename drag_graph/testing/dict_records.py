"""The nodes and edges of the design's section 3 as the records that `GraphStore.records` yields, made from the model."""

from collections.abc import Collection, Iterator
from typing import Any

from drag_graph.model import Answer, Subgraph, Value

LABELS = ("Query", "Evidence", "Entity", "TeacherCall", "Chunk", "Document", "Concept", "Answer")
TYPES = (
    "HAS_EVIDENCE",
    "MENTIONS",
    "GENERATED_BY",
    "FROM_CHUNK",
    "PART_OF",
    "TRIPLE",
    "RELATED",
    "REFERS_TO",
    "ANSWERS",
    "USED",
)
_ENDS = frozenset({"subject_id", "subject", "object_id", "object"})


def subgraph_records(subgraph: Subgraph) -> Iterator[dict[str, Any]]:
    """Yield the nodes and edges of one query's subgraph, its answers left out."""
    query, namespace = subgraph.query, subgraph.query.namespace
    own = subgraph.model_dump(
        mode="json", include={"settings_hash", "status", "graph", "embedding", "created_at", "expires_at"}
    )
    yield _node("Query", query.id, {**query.model_dump(mode="json", exclude={"gold"}), **own})
    for call in subgraph.calls:
        yield _node("TeacherCall", call.id, _properties(call, namespace))
    for evidence in subgraph.evidence:
        yield _node("Evidence", evidence.id, _properties(evidence, namespace))
        yield _link("HAS_EVIDENCE", query.id, evidence.id, namespace)
        yield _link("GENERATED_BY", evidence.id, evidence.call_id, namespace)
    for entity in subgraph.entities:
        yield _node("Entity", entity.id, _properties(entity, namespace))
        yield _link("MENTIONS", query.id, entity.id, namespace)
    for triple in subgraph.triples:
        yield _edge("TRIPLE", triple.id, triple.subject_id, triple.object_id, _properties(triple, namespace))
    for edge in subgraph.edges:
        yield _edge("RELATED", edge.id, edge.subject_id, edge.object_id, _properties(edge, namespace))


def answer_records(answer: Answer, queries: Collection[str], evidence: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield an answer with its links to those of `queries` and `evidence` that are stored."""
    properties = answer.model_dump(mode="json")
    properties["edge_ids"] = [line.ref for line in answer.lines if line.kind == "edge"]
    yield _node("Answer", answer.id, properties)
    for query_id in answer.query_ids:
        if query_id in queries:
            yield _link("ANSWERS", answer.id, query_id, answer.namespace)
    for ref in dict.fromkeys(line.ref for line in answer.lines if line.kind == "evidence"):
        if ref in evidence:
            yield _link("USED", answer.id, ref, answer.namespace)


def _properties(value: Value, namespace: str) -> dict[str, Any]:
    return {"namespace": namespace, **value.model_dump(mode="json", exclude=set(_ENDS))}


def _node(label: str, id_: str, properties: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "node", "label": label, "id": id_, "properties": properties}


def _edge(type_: str, id_: str, source: str, target: str, properties: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "edge", "type": type_, "id": id_, "source": source, "target": target, "properties": properties}


def _link(type_: str, source: str, target: str, namespace: str) -> dict[str, Any]:
    return _edge(type_, f"{source}-{type_}-{target}", source, target, {"namespace": namespace})
