"""The audit: from an answer back to its lines, edges, evidence and teacher calls (docs/reference/json.md).

A snapshot is taken when the answer is given and stored with it, so that a later refresh never falsifies an audit. A line that
another site has released has that site's information under `elsewhere` (`drag_graph.sites.site_asker`).
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import combinations, product, starmap
from typing import Any

from drag_graph.ask.dated_passages import COMPARED, LONGEST
from drag_graph.errors import StoreUnfit
from drag_graph.graph.aggregate import not_shown
from drag_graph.graph.number_conflicts import conflicting
from drag_graph.graph.rejected_claims import without_rejected
from drag_graph.model import Line, SimpleEdge, Subgraph, TeacherCall, Triple
from drag_graph.ports.correction_store import RejectedClaims, claim_of

NO_FILTER: Mapping[str, Any] = {"filter": "none"}


def snapshot(
    question: str,
    lines: Sequence[Line],
    subgraphs: Sequence[Subgraph],
    *,
    line_order: str = "best-first",
    privacy: Mapping[str, Any] = NO_FILTER,
) -> dict[str, Any]:
    """Return everything that the audit of an answer needs, as a JSON document (docs/reference/json.md).

    `lines` are best first; `line_order` is the order in the prompt; `privacy` are the gate's facts on the question. Raises
    StoreUnfit for a line without edge or evidence (promise 4): such an answer must not be given.
    """
    by_query = {subgraph.source_id: subgraph for subgraph in subgraphs}
    return {
        "question": question,
        "line_order": line_order,
        "lines": [_line(line, by_query) for line in lines],
        "calls": [_call(call) for subgraph in subgraphs for call in subgraph.calls],
        "documents": [_document(subgraph) for subgraph in subgraphs if subgraph.document],
        "privacy": dict(privacy),
    }


def _line(line: Line, subgraphs: Mapping[str, Subgraph]) -> dict[str, Any]:
    head: dict[str, Any] = {"n": line.n, "kind": line.kind, "text": line.text, "ref": line.ref, "source_id": line.source_id}
    with _proven(f"line {line.n}"):
        provenance = _Provenance(subgraphs[line.source_id])
        if line.kind == "evidence":
            return {**head, "edge": None, "triples": [], **provenance.evidence(line.ref)}
        if line.kind == "span":
            return {**head, "edge": None, "triples": [], **provenance.span(line)}
        edge = {item.id: item for item in provenance.subgraph.usable_edges}[line.ref]
        return {**head, "edge": edge.model_dump(mode="json", exclude={"source_id"}), "triples": provenance.triples(edge)}


@contextmanager
def _proven(what: str) -> Iterator[None]:
    """Raise StoreUnfit if the block cannot find the origin of a line."""
    try:
        yield
    except KeyError as error:
        raise StoreUnfit(f"The store has no provenance for {what}.", hint="Run `drag-graph db verify`.") from error


def unshown(edge: Mapping[str, Any], subgraph: Subgraph, rejected: RejectedClaims) -> list[dict[str, Any]]:
    """Return the triples between an edge's entities that are not shown, each with the reason as `why`."""
    provenance = _Provenance(subgraph)
    kept = {item.id: item.kept for item in subgraph.evidence}
    ends = (edge["subject_id"], edge["object_id"])
    wrong = [item for item in subgraph.triples if item in rejected and item.id not in edge["triple_ids"]]
    left = without_rejected(subgraph, rejected, is_whole=True)
    with _proven("a triple"):
        return [
            {**provenance.triple(item), "why": _REJECTED if item in wrong else _PRUNED if kept[item.evidence_id] else _UNRANKED}
            for item in (*not_shown(left), *wrong)
            if (item.subject_id, item.object_id) == ends and item.evidence_id in kept
        ]


def contradicting(line: Mapping[str, Any], subgraph: Subgraph) -> list[dict[str, Any]]:
    """Return the edges that contradict a line's edge, or an edge that was read from the line, each with its triples."""
    provenance = _Provenance(subgraph)
    behind = {line["ref"], *(passage["id"] for passage in line.get("passages", ()))}
    own = [edge for edge in subgraph.usable_edges if not behind.isdisjoint((edge.id, *edge.evidence_ids))]
    against = {id_ for edge in own for id_ in edge.contradicts} - {edge.id for edge in own}
    with _proven("a contradiction"):
        return [
            {"edge": edge.model_dump(mode="json", exclude={"source_id"}), "triples": provenance.triples(edge)}
            for edge in subgraph.usable_edges
            if edge.id in against
        ]


def contradicting_passages(lines: Sequence[Mapping[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    """Return by number which passages of other documents contradict a line, each with the reason as `why`."""
    found: dict[int, list[dict[str, Any]]] = {}
    for one, two in combinations([line for line in lines if line["kind"] == "span"][:COMPARED], 2):
        pairs = product(*([text["text"] for text in line["passages"] if len(text["text"]) <= LONGEST] for line in (one, two)))
        if one["source_id"] != two["source_id"] and (why := next(filter(None, starmap(conflicting, pairs)), "")):
            for line, other in ((one, two), (two, one)):
                found.setdefault(line["n"], []).append({"line": other["n"], "why": why})
    return found


_REJECTED = "its claim is marked wrong"
_PRUNED = "its claim is below the threshold, or its edge is not among the best"
_UNRANKED = "ranking dropped its evidence"


class _Provenance:
    """The provenance of a subgraph's lines. The methods raise KeyError if something is missing."""

    def __init__(self, subgraph: Subgraph) -> None:
        self.subgraph = subgraph
        self._calls = {call.id: call for call in subgraph.calls}
        self._evidence = {item.id: item for item in subgraph.evidence}
        self._chunks = {chunk.id: chunk for chunk in subgraph.chunks}

    def triples(self, edge: SimpleEdge) -> list[dict[str, Any]]:
        """Return the triples of an edge, in the order of the subgraph."""
        places = {item.id: place for place, item in enumerate(self.subgraph.triples)}
        return [self.triple(self.subgraph.triples[place]) for place in sorted({places[id_] for id_ in edge.triple_ids})]

    def triple(self, triple: Triple) -> dict[str, Any]:
        """Return a triple with its evidence and the calls of both."""
        evidence = self.evidence(triple.evidence_id)
        return {
            **triple.model_dump(mode="json", include={"id", "subject", "predicate", "object", "confidence"}),
            "evidence": {**evidence["evidence"], "calls": evidence["calls"]},
            "calls": [_call(self._calls[id_]) for id_ in triple.call_ids],
            "claim_id": claim_of(triple),
        }

    def evidence(self, id_: str) -> dict[str, Any]:
        """Return evidence with its place in a document, and its calls."""
        evidence, document = self._evidence[id_], self.subgraph.document
        facts = evidence.model_dump(mode="json", include={"id", "text", "framing", "rank", "cosine", "llm_score", "score"})
        if document is not None and evidence.chunk_id:
            chunk = self._chunks.get(evidence.chunk_id)
            facts["document"] = {
                "id": document.id,
                "name": document.name,
                "start": evidence.start,
                "end": evidence.end,
                **({"page": chunk.page} if chunk and chunk.page else {}),
                **({"heading": list(chunk.heading)} if chunk and chunk.heading else {}),
                **({"date": document.date} if document.date else {}),
            }
            facts["chunk"] = chunk and chunk.model_dump(mode="json", include={"id", "position", "start", "end"})
        return {"evidence": facts, "calls": [_call(self._calls[id_]) for id_ in evidence.call_ids]}

    def span(self, line: Line) -> dict[str, Any]:
        """Return the best evidence of a span, with the place of the whole span, and all its passages."""
        best = self.evidence(line.ref)
        passages = [_excerpt(self.evidence(id_)["evidence"]) for id_ in line.evidence_ids]
        place = {"start": passages[0]["start"], "end": max(passage["end"] for passage in passages)}
        best["evidence"]["document"] = {**best["evidence"]["document"], **place}
        return {**best, "passages": passages}


def _excerpt(facts: dict[str, Any]) -> dict[str, Any]:
    place = facts["document"]
    return {"id": facts["id"], "text": facts["text"], "start": place["start"], "end": place["end"]}


def places_of(snapshot: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    """Return the document passages behind the lines of a snapshot, by line number."""
    return {line["n"]: place for line in snapshot.get("lines", ()) if (place := document_of(line))}


def document_of(line: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the document passage behind a line of a snapshot (of an edge, its best triple's), or None."""
    if "elsewhere" in line:
        place: dict[str, Any] | None = line["elsewhere"]["document"]
        return place
    evidence = line["evidence"] if "evidence" in line else line["triples"][0]["evidence"]
    found: dict[str, Any] | None = evidence.get("document")
    return found


def _document(subgraph: Subgraph) -> dict[str, Any]:
    """Return the version of a document: which file was read, its hash, and when it was modified and read."""
    facts = subgraph.source.model_dump(mode="json", include={"id", "name", "uri", "sha256", "modified_at"})
    return {**facts, "read_at": subgraph.created_at}


def _call(call: TeacherCall) -> dict[str, Any]:
    return call.model_dump(mode="json", exclude={"source_id", "response_sha256"})
