"""Arrow tables of whole subgraphs, for COPY into the embedded engine (no I/O)."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from drag_graph.adapters import ladybug_rows as rows
from drag_graph.erasing import aggregation_text
from drag_graph.model import Aggregation, Subgraph, Triple
from drag_graph.steps.aggregate import TOLERANCE, edge_id, merge_confidence

_TEXT, _TEXTS, _FLOAT, _FLOATS, _WHOLE, _TRUTH = "string", "strings", "float", "floats", "int", "bool"
_Columns = tuple[tuple[str, str], ...]

_QUERY: _Columns = (
    *(("id", _TEXT), ("namespace", _TEXT), ("text", _TEXT), ("options", _TEXTS), ("domain", _TEXT), ("complexity", _FLOAT)),
    *(("input_id", _TEXT), ("metadata", _TEXT), ("settings_hash", _TEXT), ("status", _TEXT), ("graph", _TEXT)),
    *(("blind", _TRUTH), ("embedding", _FLOATS), ("created_at", _TEXT), ("expires_at", _TEXT), ("call_ids", _TEXTS)),
    ("aggregation", _TEXT),
)
_CALL: _Columns = (
    *(("id", _TEXT), ("source_id", _TEXT), ("stage", _TEXT), ("model", _TEXT), ("prompt_version", _TEXT)),
    *(("request_sha256", _TEXT), ("response_sha256", _TEXT), ("tokens_in", _WHOLE), ("tokens_out", _WHOLE)),
    *(("cost_usd", _FLOAT), ("latency_ms", _WHOLE), ("created_at", _TEXT)),
)
_EVIDENCE: _Columns = (
    *(("id", _TEXT), ("source_id", _TEXT), ("text", _TEXT), ("framing", _TEXT), ("position", _WHOLE), ("cosine", _FLOAT)),
    *(("llm_score", _FLOAT), ("score", _FLOAT), ("rank", _WHOLE), ("kept", _TRUTH), ("reason", _TEXT), ("created_at", _TEXT)),
)
_ENTITY: _Columns = (("id", _TEXT), ("source_id", _TEXT), ("name", _TEXT), ("type", _TEXT), ("variants", _TEXTS))
_TRIPLE: _Columns = (
    *(("subject_id", _TEXT), ("object_id", _TEXT), ("id", _TEXT), ("source_id", _TEXT), ("predicate", _TEXT)),
    *(("predicate_key", _TEXT), ("confidence", _FLOAT), ("evidence_id", _TEXT), ("call_id", _TEXT), ("rank", _WHOLE)),
)
_EDGE: _Columns = (
    *(("subject_id", _TEXT), ("object_id", _TEXT), ("id", _TEXT), ("source_id", _TEXT), ("statement", _TEXT)),
    *(("predicates", _TEXTS), ("confidence", _FLOAT), ("support", _WHOLE), ("triple_ids", _TEXTS), ("evidence_ids", _TEXTS)),
    ("rank", _WHOLE),
)
_OF_QUERY: _Columns = (("source_id", _TEXT), ("id", _TEXT))
_OF_CALL: _Columns = (("id", _TEXT), ("call_id", _TEXT))


def tables_of(subgraphs: Sequence[Subgraph], namespace: str, aggregation: Aggregation) -> dict[str, Any] | None:
    """Return the arrow tables of subgraphs, aggregated, by the statement that copies each, in the order to run them.

    Return None without `pyarrow` (the extra `bulk`), and for values that arrow does not hold.
    """
    try:
        import pyarrow as pa
    except ImportError:
        return None
    kept = aggregation_text(aggregation)
    queries: list[rows.Row] = []
    edges: list[rows.Row] = []
    for subgraph in subgraphs:
        made, kind = rows.edge_rows(subgraph.query.id, _merged(subgraph, aggregation), aggregation)
        edges += made
        queries.append({**rows.query_row(subgraph), "graph": kind, "aggregation": kept})
    # The models' own dictionaries: asking a model for an attribute takes five times as long.
    evidence = [vars(item) for subgraph in subgraphs for item in subgraph.evidence]
    entities = [vars(item) for subgraph in subgraphs for item in subgraph.entities]
    triples = [vars(item) for subgraph in subgraphs for item in subgraph.triples]
    calls = [vars(item) for subgraph in subgraphs for item in subgraph.calls]
    parts: dict[str, tuple[_Columns, list[rows.Row]]] = {
        "save_subgraphs_queries_copy": (_QUERY, queries),
        "save_subgraphs_calls_copy": (_CALL, calls),
        "save_subgraphs_evidence_copy": (_EVIDENCE, evidence),
        "save_subgraphs_entities_copy": (_ENTITY, entities),
        "save_subgraphs_evidence_links_copy": (_OF_QUERY, evidence),
        "save_subgraphs_calls_links_copy": (_OF_CALL, evidence),
        "save_subgraphs_entities_links_copy": (_OF_QUERY, entities),
        "save_subgraphs_triples_copy": (_TRIPLE, triples),
        "save_subgraphs_edges_copy": (_EDGE, edges),
    }
    try:
        return {name: _table(pa, *part, namespace) for name, part in parts.items() if part[1]}
    except (pa.ArrowException, UnicodeError, OverflowError):
        return None


def _merged(subgraph: Subgraph, aggregation: Aggregation) -> list[rows.Row]:
    """Return what the statements `aggregate_pair` and `aggregate_predicate` return of a stored query."""
    kept = {item.id for item in subgraph.evidence if item.kept}
    groups: dict[str, list[Triple]] = {}
    # In this order floats are summed to the same bits as by the engines.
    for triple in sorted(subgraph.triples, key=lambda item: (item.rank, item.id)):
        if triple.evidence_id in kept:
            groups.setdefault(edge_id(triple, aggregation.strategy), []).append(triple)
    merged = []
    for id_, group in groups.items():
        first, confidence = group[0], merge_confidence([item.confidence for item in group], aggregation.merge)
        merged.append(
            {
                "id": id_,
                "subject_id": first.subject_id,
                "subject": first.subject,
                "object_id": first.object_id,
                "object": first.object,
                "confidence": confidence,
                "support": len(group),
                "strong": confidence >= aggregation.threshold - TOLERANCE,
                "triples": [vars(item) for item in group],
            }
        )
    return merged


def _table(pa: Any, columns: _Columns, items: Sequence[rows.Row], namespace: str) -> Any:
    types = {
        _TEXT: pa.string(),
        _TEXTS: pa.list_(pa.string()),
        _FLOAT: pa.float64(),
        _FLOATS: pa.list_(pa.float64()),
        _WHOLE: pa.int64(),
        _TRUTH: pa.bool_(),
    }
    # Column by column: a tuple for each row would be one more object for the garbage collector to go through.
    made = {name: pa.array(list(map(itemgetter(name), items)), types[kind]) for name, kind in columns}
    # The ends of an edge come first; the namespace is the last column of every table that has not named it.
    return pa.table(made if "namespace" in made else {**made, "namespace": pa.array([namespace] * len(items))})
