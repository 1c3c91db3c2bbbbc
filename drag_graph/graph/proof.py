"""The evidence, triples and calls that an answer rests on. It is stored only while all of these are."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from drag_graph.model import Answer, SimpleEdge, Subgraph, Triple


def proven_part(part: Subgraph, evidence_ids: Collection[str]) -> Subgraph:
    """Return a part of a subgraph without the triples and edges whose triples, evidence or calls it lacks (promise 4).

    A simple graph keeps only the triples of its edges, a raw one all that are complete. Of the evidence, what triples are read
    from and `evidence_ids` remain, with their chunks.
    """
    evidence, calls = {item.id for item in part.evidence}, {call.id for call in part.calls}

    def is_complete(triple: Triple) -> bool:
        return triple.evidence_id in evidence and calls.issuperset(triple.call_ids)

    triples = {triple.id: triple for triple in part.triples if is_complete(triple)}
    edges: tuple[SimpleEdge, ...] = ()
    if part.graph != "multigraph":
        edges = tuple(edge for edge in part.edges if triples.keys() >= set(edge.triple_ids))
        behind = {id_ for edge in edges for id_ in edge.triple_ids}
        triples = {id_: triple for id_, triple in triples.items() if id_ in behind}
    needed = {*evidence_ids, *(triple.evidence_id for triple in triples.values())}
    kept = tuple(item for item in part.evidence if item.id in needed)
    chunk_ids = {item.chunk_id for item in kept}
    chunks = tuple(chunk for chunk in part.chunks if chunk.id in chunk_ids)
    return part.model_copy(update={"edges": edges, "triples": tuple(triples.values()), "evidence": kept, "chunks": chunks})


@dataclass(frozen=True, slots=True)
class Proof:
    """Ids of the evidence, triples and calls behind the context lines of an answer."""

    evidence_ids: frozenset[str]
    triple_ids: frozenset[str]
    call_ids: frozenset[str]


def proof_of(answer: Answer) -> Proof:
    """Return what the context lines of an answer rest on, from its snapshot.

    An edge rests on its triples, not on its own id, because every aggregation derives it again. Calls are included only if they
    merged sentences of such an edge; the others are covered by their evidence and triples.
    """
    evidence = set(own_refs(answer, "evidence"))
    triples, merged = set[str](), False
    for line in _objects(answer.snapshot.get("lines")):
        members = list(_objects(line.get("triples")))
        triples |= _ids(members)
        evidence |= _ids(triple.get("evidence") for triple in members) | _ids(line.get("passages", ()))
        merged |= len(members) > 1
    calls = (call for call in _objects(answer.snapshot.get("calls")) if call.get("stage") == "statements")
    return Proof(frozenset(evidence), frozenset(triples), frozenset(_ids(calls) if merged else ()))


def own_refs(answer: Answer, kind: Literal["evidence", "edge"]) -> list[str]:
    """Return the ids of the evidence or edges behind the lines of this store, in order and without repetitions.

    Ids of lines that other sites of a cloud released mean nothing in this store.
    """
    lines = [line for line in answer.lines if (line.kind == "edge") == (kind == "edge") and not line.site]
    return list(dict.fromkeys(id_ for line in lines for id_ in line.evidence_ids or (line.ref,)))


def _ids(items: Iterable[Any]) -> set[str]:
    return {item["id"] for item in _objects(items) if isinstance(item.get("id"), str)}


def _objects(items: Any) -> Iterator[dict[str, Any]]:
    """Yield the items that are objects; a snapshot may come from anywhere."""
    if isinstance(items, Iterable) and not isinstance(items, str):
        yield from (item for item in items if isinstance(item, dict))
