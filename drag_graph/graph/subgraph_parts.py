"""Parts of subgraphs that a search returns."""

from collections.abc import Collection

from drag_graph.model import SimpleEdge, Subgraph, Triple


def proven_part(part: Subgraph, evidence_ids: Collection[str]) -> Subgraph:
    """Return a part of a subgraph with this evidence and with the edges whose triples, evidence and calls it has (promise 4).

    Of everything else, only what these need remains. A raw graph keeps its complete triples, a simple one those of its edges.
    """
    stored, calls = {item.id for item in part.evidence}, {call.id for call in part.calls}

    def is_complete(triple: Triple) -> bool:
        return triple.evidence_id in stored and calls.issuperset(triple.call_ids)

    triples = {triple.id: triple for triple in part.triples if is_complete(triple)}
    edges: tuple[SimpleEdge, ...] = ()
    if part.graph != "multigraph":
        edges = tuple(edge for edge in part.edges if triples.keys() >= set(edge.triple_ids))
        behind = {id_ for edge in edges for id_ in edge.triple_ids}
        triples = {id_: triple for id_, triple in triples.items() if id_ in behind}
    needed = {*evidence_ids, *(triple.evidence_id for triple in triples.values())}
    evidence = tuple(item for item in part.evidence if item.id in needed)
    chunk_ids = {item.chunk_id for item in evidence}
    return part.model_copy(
        update={
            "edges": edges,
            "triples": tuple(triples.values()),
            "evidence": evidence,
            "chunks": tuple(chunk for chunk in part.chunks if chunk.id in chunk_ids),
        }
    )
