"""Parts of subgraphs that a search returns."""

from collections.abc import Collection

from drag_graph.model import SimpleEdge, Subgraph, Triple


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
