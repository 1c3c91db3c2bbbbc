"""Subgraphs and answers as the rows that the statements of the embedded engine take (no I/O)."""

from collections.abc import Iterable, Sequence
from itertools import chain

from drag_graph.graph.aggregate import Claim, Part, edges_of
from drag_graph.model import Aggregation, Answer, Subgraph
from drag_graph.stores.shared.rows import shown_evidence
from drag_graph.stores.shared.transaction import Row

HEADS = {False: ("save_subgraphs_queries", "replace_queries"), True: ("save_subgraphs_documents", "replace_documents")}
"""By whether the source is a document: what makes its node, and what gives it new properties."""


def subgraph_rows(subgraphs: Iterable[Subgraph]) -> dict[str, list[Row]]:
    """Return the rows of all that hangs on these sources, by the name of the statement that writes them, in its order."""
    rows: dict[str, list[Row]] = {
        "save_subgraphs_calls": [],
        "save_subgraphs_documents_chunks": [],
        "save_subgraphs_evidence": [],
        "save_subgraphs_documents_evidence": [],
        "save_subgraphs_evidence_calls": [],
        "save_subgraphs_documents_links": [],
        "save_subgraphs_entities": [],
        "save_subgraphs_documents_entities": [],
        "save_subgraphs_triples": [],
        "save_subgraphs_triples_opposed": [],
    }
    for subgraph in subgraphs:
        kind = "_documents" if subgraph.document else ""
        rows["save_subgraphs_calls"] += [call.model_dump() for call in subgraph.calls]
        rows["save_subgraphs_documents_chunks"] += [item.model_dump() for item in subgraph.chunks]
        rows[f"save_subgraphs{kind}_evidence"] += [
            {**item.model_dump(mode="json", exclude={"call_ids"}), "first_call": next(iter(item.call_ids), "")}
            for item in subgraph.evidence
        ]
        for item in subgraph.evidence:
            rows["save_subgraphs_evidence_calls"] += [{"evidence_id": item.id, "id": id_} for id_ in item.call_ids[not kind :]]
            rows["save_subgraphs_documents_links"] += [{"evidence_id": item.id, "id": item.chunk_id}] if item.chunk_id else []
        rows[f"save_subgraphs{kind}_entities"] += [item.model_dump(mode="json") for item in subgraph.entities]
        for triple in subgraph.triples:
            name = "save_subgraphs_triples_opposed" if triple.opposes else "save_subgraphs_triples"
            rows[name].append(triple.model_dump(mode="json", exclude={"subject", "object"}))
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


def answer_links(answers: Iterable[Answer]) -> dict[str, list[Row]]:
    """Return which sources and which evidence answers are linked to, by the name of the statement that links them."""
    sources = [{"answer_id": answer.id, "id": id_} for answer in answers for id_ in dict.fromkeys(answer.source_ids)]
    shown = [{"answer_id": answer.id, "id": id_} for answer in answers for id_ in shown_evidence(answer)]
    return {"save_answers_queries": sources, "save_answers_documents": sources, "save_answers_evidence": shown}
