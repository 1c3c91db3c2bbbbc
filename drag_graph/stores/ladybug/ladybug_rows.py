"""Rows of subgraphs and answers for the statements of the embedded engine (no I/O)."""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from drag_graph.graph.aggregate import Claim, Part, edges_of
from drag_graph.graph.proof import own_refs
from drag_graph.model import Aggregation, Answer, Subgraph
from drag_graph.stores.shared.shared_rows import answer_row, source_row
from drag_graph.stores.shared.transaction import Row

HEADS = ("save_subgraphs_queries", "save_subgraphs_documents")
"""Statements that create the nodes of sources."""


def subgraph_rows(subgraphs: Collection[Subgraph]) -> dict[str, Iterable[Row]]:
    """Return the rows of sources and their parts, by statement, in writing order. They stream: a long document has many."""
    rows: dict[str, Iterable[Row]] = {
        "queries": (_marked(source_row(graph), "options") for graph in subgraphs if graph.document is None),
        "documents": (_marked(source_row(graph), "tags") for graph in subgraphs if graph.document is not None),
        "calls": (call.model_dump() for graph in subgraphs for call in graph.calls),
        "chunks": (_marked(item.model_dump(mode="json"), "heading") for graph in subgraphs for item in graph.chunks),
        "evidence": (item.model_dump(mode="json", exclude={"call_ids"}) for graph in subgraphs for item in graph.evidence),
        "evidence_calls": (
            {"evidence_id": item.id, "id": id_} for graph in subgraphs for item in graph.evidence for id_ in item.call_ids
        ),
        "evidence_chunks": (
            {"evidence_id": item.id, "id": item.chunk_id} for graph in subgraphs for item in graph.evidence if item.chunk_id
        ),
        "entities": (_marked(item.model_dump(mode="json"), "variants") for graph in subgraphs for item in graph.entities),
        "triples": (
            _marked(item.model_dump(mode="json", exclude={"subject", "object"}), "opposes")
            for graph in subgraphs
            for item in graph.triples
        ),
    }
    return {f"save_subgraphs_{part}": items for part, items in rows.items()}


def edge_rows(source_id: str, merged: Iterable[Row], aggregation: Aggregation) -> tuple[Iterator[Row], str]:
    """Return the rows of a source's simple edges and the kind of its graph, from the claims that `aggregate` merged."""
    edges, kind = edges_of(source_id, map(_claim, merged), aggregation)
    return (_marked(edge.model_dump(mode="json", exclude={"subject", "object"}), "contradicts") for edge in edges), kind


def _claim(row: Row) -> Claim:
    """Return the claim of a row. Its lists are nested: per teacher, and per evidence."""
    parts = {part["id"]: Part(**part) for groups in row["triples"] for part in chain.from_iterable(groups)}
    return Claim(
        **{name: row[name] for name in ("subject_id", "subject", "object_id", "object", "key")},
        confidence=min(1.0, max(0.0, row["confidence"])),
        opposes=frozenset(key for groups in row["opposes"] for keys in chain.from_iterable(groups) for key in keys or ()),
        parts=tuple(sorted(parts.values(), key=lambda part: (part.rank, part.id))),
    )


def answer_rows(answers: Iterable[Answer]) -> list[Row]:
    """Return the rows of the nodes of answers."""
    return [_marked(answer_row(answer), "options", "source_ids", "lines", "edge_ids") for answer in answers]


def answer_links(answers: Iterable[Answer]) -> dict[str, list[Row]]:
    """Return the links of answers to sources and evidence, by statement."""
    sources = [{"answer_id": answer.id, "id": id_} for answer in answers for id_ in dict.fromkeys(answer.source_ids)]
    evidence = [{"answer_id": answer.id, "id": id_} for answer in answers for id_ in own_refs(answer, "evidence")]
    return {"save_answers_sources": sources, "save_answers_evidence": evidence}


def _marked(row: Row, *names: str) -> Row:
    """Put a blank before each list of these names, which the statement removes.

    The engine infers types from the values. For rows with empty lists only, that takes longer than all the rest.
    """
    return {**row, **{name: ["", *row[name]] for name in names}}
