"""The model as rows for the embedded engine, and rows as the model and as records (no I/O).

A row holds an object's properties under the names of the model's fields (design, section 3). Texts that are not properties of
their own (`metadata`, `snapshot`, the lines of an answer) are kept as JSON.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import Any

from pydantic import ValidationError

from drag_graph.errors import StoreUnfit
from drag_graph.model import Aggregation, Answer, Subgraph
from drag_graph.steps.aggregate import Claim, Part, edges_of
from drag_graph.stores.shared.aggregation import aggregation_of

Row = dict[str, Any]

QUERY_FIELDS = ("id", "namespace", "text", "options", "domain", "complexity", "input_id")
ORDERS = {"evidence": "position", "entities": "name", "triples": "rank", "edges": "rank", "calls": "id"}
"""What each part of a subgraph is ordered by, and then by its id."""
SUBGRAPH_FIELDS = ("settings_hash", "status", "graph", "blind", "created_at", "expires_at")


def query_row(subgraph: Subgraph) -> Row:
    """Return the properties of a query's node. The right answer is not among them; the graph's kind is set by aggregating."""
    query = subgraph.query
    return {
        **query.model_dump(include=set(QUERY_FIELDS), mode="json"),
        **subgraph.model_dump(include=set(SUBGRAPH_FIELDS) - {"graph"}),
        "metadata": as_json(query.metadata),
        "embedding": list(subgraph.embedding),
        "call_ids": [call.id for call in subgraph.calls],
    }


def subgraph_rows(subgraphs: Iterable[Subgraph]) -> dict[str, list[Row]]:
    """Return the rows of all that hangs on these queries, by the name of the statement that writes them, in its order."""
    rows: dict[str, list[Row]] = {
        "save_subgraphs_calls": [],
        "save_subgraphs_evidence": [],
        "save_subgraphs_evidence_calls": [],
        "save_subgraphs_entities": [],
        "save_subgraphs_triples": [],
    }
    for subgraph in subgraphs:
        rows["save_subgraphs_calls"] += [call.model_dump() for call in subgraph.calls]
        rows["save_subgraphs_evidence"] += [item.model_dump(exclude={"call_ids"}) for item in subgraph.evidence]
        rows["save_subgraphs_evidence_calls"] += [
            {"evidence_id": item.id, "id": id_} for item in subgraph.evidence for id_ in item.call_ids
        ]
        rows["save_subgraphs_entities"] += [item.model_dump(mode="json") for item in subgraph.entities]
        rows["save_subgraphs_triples"] += [
            item.model_dump(mode="json", exclude={"subject", "object"}) for item in subgraph.triples
        ]
    return rows


def edge_rows(source_id: str, merged: Sequence[Row], aggregation: Aggregation) -> tuple[list[Row], str]:
    """Return the rows of a source's simple edges and the kind of its graph, of the claims that `aggregate` merged."""
    edges, kind = edges_of(source_id, map(_claim, merged), aggregation)
    return [edge.model_dump(mode="json", exclude={"subject", "object"}) for edge in edges], kind


def _claim(row: Row) -> Claim:
    """Return a claim of a row, whose lists hold a list a teacher, and in it a list an evidence."""
    parts = {part["id"]: Part(**part) for said in row["triples"] for part in chain.from_iterable(said)}
    return Claim(
        **{name: row[name] for name in ("subject_id", "subject", "object_id", "object", "key")},
        confidence=min(1.0, max(0.0, row["confidence"])),
        opposes=frozenset(key for said in row["opposes"] for keys in chain.from_iterable(said) for key in keys or ()),
        parts=tuple(sorted(parts.values(), key=lambda part: (part.rank, part.id))),
    )


def answer_row(answer: Answer) -> Row:
    """Return the properties of an answer's node."""
    return {
        **answer.model_dump(exclude={"lines", "snapshot", "namespace"}, mode="json"),
        "lines": [line.text for line in answer.lines],
        "line_json": as_json([line.model_dump() for line in answer.lines]),
        "edge_ids": [line.ref for line in answer.lines if line.kind == "edge"],
        "snapshot": as_json(answer.snapshot),
    }


def answer_links(answers: Iterable[Answer]) -> dict[str, list[Row]]:
    """Return which queries and which evidence answers are linked to, by the name of the statement that links them."""
    rows: dict[str, list[Row]] = {"save_answers_queries": [], "save_answers_evidence": []}
    for answer in answers:
        shown = [line.ref for line in answer.lines if line.kind == "evidence"]
        rows["save_answers_queries"] += [{"answer_id": answer.id, "id": id_} for id_ in _distinct(answer.source_ids)]
        rows["save_answers_evidence"] += [{"answer_id": answer.id, "id": id_} for id_ in _distinct(shown)]
    return rows


def evidence_links(answers: Iterable[Row], evidence_ids: Collection[str]) -> list[Row]:
    """Return the links from stored answers to those of `evidence_ids` that they were shown."""
    return [
        {"answer_id": answer["id"], "id": id_}
        for answer in answers
        for id_ in _distinct(line["ref"] for line in json.loads(answer["line_json"]) if line["kind"] == "evidence")
        if id_ in evidence_ids
    ]


def subgraph_of(namespace: str, head: Row, parts: dict[str, list[Row]]) -> Subgraph:
    """Return the stored subgraph, in order: evidence by position, entities by name, triples and edges by rank, calls by id."""
    own = {"source_id": head["id"]}
    query = {name: head[name] for name in QUERY_FIELDS if name != "namespace"}
    made = {name: head[name] for name in SUBGRAPH_FIELDS}
    try:
        # In one pass: seventy objects that are made and checked one by one take a third longer.
        return Subgraph.model_validate(
            {
                **made,
                "query": {**query, "namespace": namespace, "metadata": json.loads(head["metadata"])},
                "embedding": head["embedding"],
                "aggregation": aggregation_of(head["aggregation"]),
                **{part: [{**own, **row} for row in _by(ORDERS[part], rows)] for part, rows in parts.items()},
            }
        )
    except (ValidationError, ValueError, TypeError) as error:
        hint = "Run `drag-graph db verify`."
        raise StoreUnfit(f"query {head['id']} is damaged: what it holds cannot be read", hint=hint) from error


def answer_of(namespace: str, row: Row) -> Answer:
    """Return the stored answer; without its snapshot where the row has none."""
    values = {name: value for name, value in row.items() if name not in ("line_json", "snapshot")}
    snapshot = json.loads(row.get("snapshot", "{}"))
    return Answer(**{**values, "namespace": namespace}, lines=json.loads(row["line_json"]), snapshot=snapshot)


def node_record(label: str, row: Row) -> Row:
    """Return a node as a record (`GraphStore.records`)."""
    properties = dict(row)
    if label == "Query":
        properties["metadata"] = json.loads(row["metadata"])
    if label == "Answer":
        answer = answer_of(row["namespace"], row)
        properties = answer.model_dump(mode="json")
        properties["edge_ids"] = [line.ref for line in answer.lines if line.kind == "edge"]
    return {"kind": "node", "label": label, "id": row["id"], "properties": _present(properties)}


def edge_record(type_: str, row: Row) -> Row:
    """Return a relationship with properties of its own as a record."""
    properties = {name: value for name, value in row.items() if name not in ("source", "target")}
    return _edge(type_, row["id"], row, _present(properties))


def link_record(namespace: str, row: Row) -> Row:
    """Return a relationship that only links as a record; its id is made of its type and ends."""
    return _edge(row["type"], f"{row['source']}-{row['type']}-{row['target']}", row, {"namespace": namespace})


def _edge(type_: str, id_: str, row: Row, properties: Row) -> Row:
    ends = {"source": row["source"], "target": row["target"]}
    return {"kind": "edge", "type": type_, "id": id_, **ends, "properties": properties}


def as_json(value: Any) -> str:
    """Return a JSON document in canonical form; surrogates and NUL are escaped, so that any engine can keep it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _by(name: str, items: Iterable[Row]) -> list[Row]:
    return sorted(items, key=lambda row: (row[name], row["id"]))


def _distinct(items: Iterable[str]) -> list[str]:
    return items if isinstance(items, list) and len(items) == 1 else list(dict.fromkeys(items))


def _present(properties: Row) -> Row:
    return {name: value for name, value in properties.items() if value is not None}
