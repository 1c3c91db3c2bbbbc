"""Conversion of subgraphs and answers to the lists that the statements in cypher/neo4j take and return, and back.

The fields here are in the order of the positions there.
"""

from array import array
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from drag_graph.graph.proof import own_refs, proof_of
from drag_graph.graph.search_terms import hidden_terms
from drag_graph.model import Answer, Chunk, Subgraph
from drag_graph.stores.shared import shared_rows as rows
from drag_graph.stores.shared.shared_rows import as_json, source_row
from drag_graph.stores.shared.transaction import Row
from drag_graph.values import Value

CALL = (
    *("id", "stage", "model", "prompt_version", "request_sha256", "response_sha256"),
    *("tokens_in", "tokens_out", "cost_usd", "latency_ms", "created_at", "follows"),
)
EVIDENCE = (
    *("id", "text", "framing", "position", "cosine", "llm_score", "score", "rank", "kept", "reason", "created_at"),
    *("chunk_id", "start", "end"),
)
CHUNK = ("id", "position", "start", "end", "text", "page", "heading")
ENTITY = ("id", "name", "type", "variants")
TRIPLE = ("id", "predicate", "predicate_key", "confidence", "evidence_id", "call_ids", "rank", "opposes")
EDGE = ("id", "statement", "predicates", "confidence", "support", "triple_ids", "evidence_ids", "contradicts", "rank")
ENDS = ("subject_id", "subject", "object_id", "object")

PARTS: dict[str, tuple[str, ...]] = {
    "calls": CALL,
    "chunks": CHUNK,
    "evidence": (*EVIDENCE, "call_ids"),
    "entities": ENTITY,
    "triples": (*TRIPLE, *ENDS),
    "edges": (*EDGE, *ENDS),
}
"""The parts of a subgraph in a row of `read_subgraphs`, with what the items of each hold."""

_WRITTEN = sorted({*rows.QUERY, "metadata", *rows.DOCUMENT, *rows.OWN} - {"namespace", "graph"})


def subgraph_row(subgraph: Subgraph, *, new: bool) -> list[Any]:
    """Return the parameter of `save_subgraphs` for one subgraph. If it is not `new`, the node of its source already exists."""
    calls = {item.id: position for position, item in enumerate(subgraph.calls)}
    chunks = {item.id: position for position, item in enumerate(subgraph.chunks)}
    entities = {item.id: position for position, item in enumerate(subgraph.entities)}
    row, label = source_row(subgraph), "Query" if subgraph.document is None else "Document"
    terms = hidden_terms(subgraph.title) or None if subgraph.document is None else None
    sizes = [len(subgraph.calls), len(subgraph.evidence), len(subgraph.entities), len(subgraph.triples)]
    added = {"graph": "evidence_only", "sizes": sizes, "terms": terms, "head_sha256": _head_sha256(row)}
    return [
        # No vector is no property.
        {**row, "embedding": row["embedding"] or None, **added},
        subgraph.source_id,
        [_values(item, CALL) for item in subgraph.calls],
        [[*_values(item, EVIDENCE), hidden_terms(item.text) or None] for item in subgraph.evidence],
        [[item.id, item.name, item.type, list(item.variants)] for item in subgraph.entities],
        [[*_values(item, TRIPLE), entities[item.subject_id], entities[item.object_id]] for item in subgraph.triples],
        [[*_values(item, CHUNK), _context_terms(subgraph.title, item)] for item in subgraph.chunks],
        label if new else None,
        [[position, calls[id_]] for position, item in enumerate(subgraph.evidence) for id_ in item.call_ids],
        [[position, chunks[item.chunk_id]] for position, item in enumerate(subgraph.evidence) if item.chunk_id],
    ]


def _values(item: Value, names: Sequence[str]) -> list[Any]:
    return [getattr(item, name) for name in names]


def _context_terms(title: str, chunk: Chunk) -> str:
    """Return what a chunk is found by besides the words of its text: its title, its headings, and hidden terms of all."""
    context = [title, *chunk.heading]
    return "\n".join(filter(None, [*context, hidden_terms("\n".join([*context, chunk.text]))]))


def _head_sha256(head: Row) -> str:
    """Return the hash of all that is written to a source's node but the results of aggregation."""
    written = as_json({name: head.get(name) for name in _WRITTEN}).encode()
    return sha256(written + array("d", head["embedding"] or ()).tobytes()).hexdigest()


def is_whole(row: Row) -> bool:
    """Return whether a row of `read_subgraphs` shows a single state of the subgraph (docs/decisions/0002-ids-and-editions.md).

    A reader of Neo4j sees commits of others while it reads, even partly. So the revision must be the same before and after, and
    the parts must be complete and refer to each other. The properties of one node are committed one by one too, so the head
    must be the one that was written with them. Subgraphs of an earlier version have no revision, sizes or hash of the head.
    """
    (before, sizes, call_ids, head_sha256), after = row["stamp"], row["revision"]
    if before != after or sizes is None:
        return bool(before == after)
    ends = f" {row['head']['graph']} {row['head']['aggregation']}"
    if not before or (" " in before and not before.endswith(ends)):
        return False
    if head_sha256 and head_sha256 != _head_sha256(row["head"]):
        return False
    calls, evidence, triples, edges = row["calls"], row["evidence"], row["triples"], row["edges"]
    call, statement, edge = {item[0] for item in calls}, {item[0] for item in evidence}, {item[0] for item in triples}
    return (
        list(sizes) == [len(part) for part in (calls, evidence, row["entities"], triples, edges)]
        and call == set(call_ids)
        and all(call.issuperset(item[-1]) for item in evidence)
        and all(item[4] in statement and call.issuperset(item[5]) for item in triples)
        and all(edge.issuperset(item[5]) for item in edges)
    )


def without_unfinished(row: Row) -> Row:
    """Return a row of `search_subgraphs` without evidence whose calls or chunk are missing: it is being written or erased."""
    calls, chunks = {item[0] for item in row["calls"]}, {item[0] for item in row["chunks"]}
    place = EVIDENCE.index("chunk_id")
    evidence = [
        item for item in row["evidence"] if (item[place] in chunks if item[place] else item[-1]) and calls.issuperset(item[-1])
    ]
    return {**row, "evidence": evidence}


def subgraph_of(row: Row, namespace: str) -> Subgraph:
    """Return the subgraph of a row, which may lack parts. Raises StoreUnfit if the model does not allow it."""
    named = {part: [dict(zip(names, item, strict=True)) for item in row[part]] for part, names in PARTS.items() if part in row}
    return rows.subgraph_of(namespace, row["head"], named)


def answer_row(answer: Answer) -> list[Any]:
    """Return the parameter of `save_answers` for one answer.

    Properties, source ids, ids of its evidence lines, and ids of the evidence, triples and calls that must still be stored.
    """
    proof = proof_of(answer)
    needed = (sorted(ids) for ids in (proof.evidence_ids, proof.triple_ids, proof.call_ids))
    return [rows.answer_row(answer), list(answer.source_ids), own_refs(answer, "evidence"), *needed]
