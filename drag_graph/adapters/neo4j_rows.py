"""Subgraphs and answers as the lists and maps that the statements in cypher/neo4j take and return, and back.

The order of the fields here is the order of the positions there.
"""

import json
import re
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from pydantic import ValidationError

from drag_graph.adapters.checked_rows import CheckedRows
from drag_graph.errors import StoreUnfit
from drag_graph.model import Answer, Entity, Evidence, Line, SimpleEdge, Subgraph, TeacherCall, Triple
from drag_graph.steps.audit import proof_of
from drag_graph.stores.shared.aggregation import aggregation_of

Row = Sequence[Any]

QUERY = ("id", "text", "options", "domain", "complexity", "input_id", "metadata")
SUBGRAPH = ("settings_hash", "status", "graph", "blind", "embedding", "created_at", "expires_at", "aggregation")
CALL = (
    "id",
    "stage",
    "model",
    "prompt_version",
    "request_sha256",
    "response_sha256",
    "tokens_in",
    "tokens_out",
    "cost_usd",
    "latency_ms",
    "created_at",
    "follows",
)
EVIDENCE = (
    *("id", "text", "framing", "position", "cosine", "llm_score", "score", "rank", "kept", "reason", "created_at"),
    *("chunk_id", "start", "end"),
)
ENTITY = ("id", "name", "type", "variants")
TRIPLE = ("id", "predicate", "predicate_key", "confidence", "evidence_id", "call_ids", "rank", "opposes")
EDGE = ("id", "statement", "predicates", "confidence", "support", "triple_ids", "evidence_ids", "contradicts", "rank")
ENDS = ("subject_id", "subject", "object_id", "object")

_EVIDENCE_ROWS = CheckedRows(Evidence, (*EVIDENCE, "call_ids"))
_ENTITY_ROWS = CheckedRows(Entity, ENTITY)
_TRIPLE_ROWS = CheckedRows(Triple, (*TRIPLE, *ENDS))
_EDGE_ROWS = CheckedRows(SimpleEdge, (*EDGE, *ENDS))
_CALL_ROWS = CheckedRows(TeacherCall, CALL)
_values_of_call, _values_of_evidence, _values_of_triple = attrgetter(*CALL), attrgetter(*EVIDENCE), attrgetter(*TRIPLE)
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_ANSWER_JSON = frozenset({"lines", "line_json", "snapshot", "edge_ids", "evidence_ids"})


def query_properties(subgraph: Subgraph) -> dict[str, Any]:
    """Return the properties of the query's node. The right answer is not among them; no vector is no property."""
    query = subgraph.query
    return {
        **{name: getattr(query, name) for name in QUERY},
        "namespace": query.namespace,
        "options": list(query.options),
        "metadata": _json(query.metadata),
        "settings_hash": subgraph.settings_hash,
        "status": subgraph.status,
        "graph": "evidence_only",
        "sizes": [len(subgraph.calls), len(subgraph.evidence), len(subgraph.entities), len(subgraph.triples)],
        "call_ids": [call.id for call in subgraph.calls],
        "blind": subgraph.blind,
        "embedding": list(subgraph.embedding) or None,
        "created_at": subgraph.created_at,
        "expires_at": subgraph.expires_at,
        "linked": False,
    }


def subgraph_row(subgraph: Subgraph, *, new: bool) -> list[Any]:
    """Return what `save_subgraphs` takes for one subgraph; where it is not `new`, its query's node is there already."""
    calls = {item.id: position for position, item in enumerate(subgraph.calls)}
    entities = {item.id: position for position, item in enumerate(subgraph.entities)}
    return [
        query_properties(subgraph) if new else None,
        subgraph.query.id,
        [_values_of_call(item) for item in subgraph.calls],
        [[*_values_of_evidence(item), [calls[id_] for id_ in item.call_ids]] for item in subgraph.evidence],
        [[item.id, item.name, item.type, list(item.variants)] for item in subgraph.entities],
        [[*_values_of_triple(item), entities[item.subject_id], entities[item.object_id]] for item in subgraph.triples],
    ]


def is_whole(row: Row) -> bool:
    """Return whether all of a row of `read_subgraphs` is of one state of the subgraph (docs/adr/0010).

    Neo4j shows a reader what others commit while it reads, and parts of what they are committing. So the revision must be one
    before and after, and the parts as many as were written, and refer to each other. What an earlier version wrote has neither.
    """
    _, calls, evidence, entities, triples, edges, (before, sizes, call_ids), after = row
    if before != after or sizes is None:
        return bool(before == after)
    call, statement, edge = {item[0] for item in calls}, {item[0] for item in evidence}, {item[0] for item in triples}
    return (
        list(sizes) == [len(part) for part in (calls, evidence, entities, triples, edges)]
        and call == set(call_ids)
        and all(call.issuperset(item[-1]) for item in evidence)
        and all(item[4] in statement and call.issuperset(item[5]) for item in triples)
        and all(edge.issuperset(item[5]) for item in edges)
    )


def subgraph_of(row: Row, namespace: str) -> Subgraph:
    """Return the subgraph of a row of `read_subgraphs`, every tuple in the order that the port promises.

    Python sorts: engines order text by other rules. Raises StoreUnfit when the row is not what the model allows.
    """
    head, calls, evidence, entities, triples, edges, *_ = row
    source_id = head[0]

    try:
        own = dict(zip((*QUERY, *SUBGRAPH), head, strict=True))
        own["metadata"] = json.loads(own["metadata"])
        own["query"] = {"namespace": namespace, **{name: own.pop(name) for name in QUERY}}
        own["embedding"] = own["embedding"] or ()
        own["aggregation"] = aggregation_of(own["aggregation"])
        own["evidence"] = sorted(_EVIDENCE_ROWS.of(evidence, source_id), key=lambda item: (item.position, item.id))
        own["entities"] = sorted(_ENTITY_ROWS.of(entities, source_id), key=lambda item: (item.name, item.id))
        own["triples"] = sorted(_TRIPLE_ROWS.of(triples, source_id), key=lambda item: (item.rank, item.id))
        own["edges"] = sorted(_EDGE_ROWS.of(edges, source_id), key=lambda item: (item.rank, item.id))
        own["calls"] = sorted(_CALL_ROWS.of(calls, source_id), key=lambda item: item.id)
        return Subgraph.model_validate(own)
    except (ValidationError, ValueError, TypeError) as error:
        raise _damaged(f"query {source_id}") from error


def answer_row(answer: Answer) -> list[Any]:
    """Return what `save_answers` takes for one answer.

    Properties, query ids, ids of shown evidence; and the ids of the evidence, triples and calls that must be there still.
    """
    proof = proof_of(answer)
    evidence_ids = list(dict.fromkeys(line.ref for line in answer.lines if line.kind == "evidence"))
    properties = {
        **answer.model_dump(exclude={"lines", "snapshot"}),
        "options": list(answer.options),
        "source_ids": list(answer.source_ids),
        "lines": [line.text for line in answer.lines],
        "line_json": _json([line.model_dump() for line in answer.lines]),
        "edge_ids": [line.ref for line in answer.lines if line.kind == "edge"],
        "evidence_ids": evidence_ids,
        "snapshot": _json(answer.snapshot),
    }
    needed = (sorted(ids) for ids in (proof.evidence_ids, proof.triple_ids, proof.call_ids))
    return [properties, list(answer.source_ids), evidence_ids, *needed]


def answer_of(properties: Mapping[str, Any]) -> Answer:
    """Return the answer of a node's properties. Raises StoreUnfit when they are not what the model allows."""
    try:
        lines = tuple(Line(**line) for line in json.loads(properties["line_json"]))
        snapshot = json.loads(properties["snapshot"])
        rest = {name: value for name, value in properties.items() if name not in _ANSWER_JSON}
        return Answer(**rest, lines=lines, snapshot=snapshot)
    except (ValidationError, ValueError, TypeError, KeyError) as error:
        raise _damaged(f"answer {properties.get('id')}") from error


def _json(document: Any) -> str:
    """Return JSON that people can read in Neo4j Browser; escaped only where it holds half a character, which has no UTF-8."""
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text if text.isascii() or not _HALF_CHARACTER.search(text) else json.dumps(document, sort_keys=True)


def _damaged(what: str) -> StoreUnfit:
    return StoreUnfit(f"{what} in the store is not as drag-graph wrote it", hint="Run `drag-graph db verify`.")
