"""The audit: from an answer back to its lines, edges, evidence and teacher calls (docs/design.md, sections 2 and 6).

A snapshot is taken when the answer is given and stored with it, so that a later refresh never falsifies an audit. A line that
another site has released has that site's information under `elsewhere` (`drag_graph.sites.site_asker`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from drag_graph.errors import StoreUnfit
from drag_graph.graph.aggregate import not_shown
from drag_graph.model import Evidence, Line, SimpleEdge, Subgraph, TeacherCall, Triple

NO_FILTER: Mapping[str, Any] = {"filter": "none"}


def snapshot(
    question: str,
    lines: Sequence[Line],
    subgraphs: Sequence[Subgraph],
    *,
    line_order: str = "best-first",
    privacy: Mapping[str, Any] = NO_FILTER,
) -> dict[str, Any]:
    """Return everything that the audit of an answer needs, as a JSON document (docs/design.md, section 6).

    `lines` are best first; `line_order` is the order in the prompt; `privacy` are the gate's facts on the question. Raises
    StoreUnfit for a line without edge or evidence (promise 4): such an answer must not be given.
    """
    by_query = {subgraph.source_id: subgraph for subgraph in subgraphs}
    return {
        "question": question,
        "line_order": line_order,
        "lines": [_line(line, by_query.get(line.source_id)) for line in lines],
        "calls": [_call(call) for subgraph in subgraphs for call in subgraph.calls],
        "privacy": dict(privacy),
    }


def _line(line: Line, subgraph: Subgraph | None) -> dict[str, Any]:
    head: dict[str, Any] = {"n": line.n, "kind": line.kind, "text": line.text, "ref": line.ref, "source_id": line.source_id}
    if subgraph is None:
        raise _unproven(line)
    calls = {call.id: call for call in subgraph.calls}
    evidence = {item.id: item for item in subgraph.evidence}
    if line.kind == "evidence":
        source = evidence.get(line.ref)
        if source is None:
            raise _unproven(line)
        made_by = _calls(source.call_ids, calls, line)
        return {**head, "edge": None, "triples": [], "evidence": _evidence(source, subgraph), "calls": made_by}
    edge = next((item for item in subgraph.usable_edges if item.id == line.ref), None)
    if edge is None:
        raise _unproven(line)
    wanted = set(edge.triple_ids)
    triples = [_triple(item, evidence, calls, line, subgraph) for item in subgraph.triples if item.id in wanted]
    if len(triples) != len(wanted):
        raise _unproven(line)
    return {**head, "edge": _edge(edge), "triples": triples}


def unshown(edge: Mapping[str, Any], subgraph: Subgraph) -> list[dict[str, Any]]:
    """Return the triples between an edge's entities that are in no edge, each with the reason as `why`."""
    calls = {call.id: call for call in subgraph.calls}
    evidence = {item.id: item for item in subgraph.evidence}
    ends = (edge["subject_id"], edge["object_id"])
    return [
        {**_triple(item, evidence, calls, None, subgraph), "why": _PRUNED if evidence[item.evidence_id].kept else _UNRANKED}
        for item in not_shown(subgraph)
        if (item.subject_id, item.object_id) == ends and item.evidence_id in evidence
    ]


_PRUNED = "its claim is below the threshold, or its edge is not among the best"
_UNRANKED = "ranking dropped its evidence"


def _unproven(line: Line | None) -> StoreUnfit:
    what = f"line {line.n}" if line else "a triple"
    return StoreUnfit(f"The store has no provenance for {what}.", hint="Run `drag-graph db verify`.")


def _edge(edge: SimpleEdge) -> dict[str, Any]:
    return edge.model_dump(mode="json", exclude={"source_id"})


def _triple(
    triple: Triple, evidence: dict[str, Evidence], calls: dict[str, TeacherCall], line: Line | None, subgraph: Subgraph
) -> dict[str, Any]:
    source = evidence.get(triple.evidence_id)
    if source is None:
        raise _unproven(line)
    fields = triple.model_dump(mode="json", include={"id", "subject", "predicate", "object", "confidence"})
    found = {**_evidence(source, subgraph), "calls": _calls(source.call_ids, calls, line)}
    return {**fields, "evidence": found, "calls": _calls(triple.call_ids, calls, line)}


def _calls(ids: Iterable[str], calls: dict[str, TeacherCall], line: Line | None) -> list[dict[str, Any]]:
    """Return the calls of these ids. Raises StoreUnfit if one is missing."""
    found = [calls.get(id_) for id_ in ids]
    if None in found:
        raise _unproven(line)
    return [_call(call) for call in found if call]


def _evidence(evidence: Evidence, subgraph: Subgraph) -> dict[str, Any]:
    found = evidence.model_dump(mode="json", include={"id", "text", "framing", "rank", "cosine", "llm_score", "score"})
    document = subgraph.document
    if document is not None and evidence.chunk_id:
        found["document"] = {"id": document.id, "name": document.name, "start": evidence.start, "end": evidence.end}
        chunk = next((chunk for chunk in subgraph.chunks if chunk.id == evidence.chunk_id), None)
        found["chunk"] = chunk and chunk.model_dump(mode="json", include={"id", "position", "start", "end"})
    return found


def document_of(line: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the document passage behind a line of a snapshot (of an edge, its best triple's), or None."""
    if "elsewhere" in line:
        place: dict[str, Any] | None = line["elsewhere"]["document"]
        return place
    evidence = line["evidence"] if "evidence" in line else line["triples"][0]["evidence"]
    found: dict[str, Any] | None = evidence.get("document")
    return found


def _call(call: TeacherCall) -> dict[str, Any]:
    return call.model_dump(mode="json", exclude={"source_id", "response_sha256"})
