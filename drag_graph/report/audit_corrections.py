"""Corrections in an audit document: that of the answer, and those of the claims behind its lines."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from drag_graph.model import Subgraph, Triple, sentence_of
from drag_graph.ports.correction_store import Correction, claim_of


def add_corrections(document: dict[str, Any], stored: Mapping[str, Subgraph], corrections: Iterable[Correction]) -> None:
    """Add `correction` to an audit, and `claims` to its lines and what contradicts them: id, text and `correction` of each.

    The claims of an edge are those of its triples, also of those that were not shown; the claims of evidence are those that
    were read from it. `stored` are the subgraphs by id.
    """
    by_target = {item.target_id: item.to_dict() for item in corrections}
    document["correction"] = by_target.get(document["answer_id"])
    for line in document["lines"]:
        if "elsewhere" not in line:
            for part in (line, *(other for other in line["contradicted_by"] if "edge" in other)):
                texts = dict(_claims(part, stored.get(line["source_id"])))
                part["claims"] = [{"id": id_, "text": text, "correction": by_target.get(id_)} for id_, text in texts.items()]


def correction_note(document: Mapping[str, Any] | None) -> str:
    """Return the JSON of a correction in prose; empty for None."""
    return str(Correction(**document)) if document else ""


def _claims(line: Mapping[str, Any], graph: Subgraph | None) -> Iterator[tuple[str, str]]:
    """Yield id and text of each claim. An answer of an earlier version has only the ids of its triples."""
    triples: Sequence[Triple] = graph.triples if graph else ()
    if line["edge"]:
        ids = {item.id: claim_of(item) for item in triples}
        for triple in (*line["triples"], *line.get("not_shown", ())):
            if id_ := triple.get("claim_id") or ids.get(triple["id"]):
                yield id_, sentence_of(triple["subject"], triple["predicate"], triple["object"])
        return
    evidence = {one["id"] for one in line.get("passages", (line["evidence"],))}
    for item in triples:
        if item.evidence_id in evidence:
            yield claim_of(item), sentence_of(item.subject, item.predicate, item.object)
