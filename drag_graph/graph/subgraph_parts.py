"""Parts of subgraphs that a search returns."""

from drag_graph.model import SimpleEdge, Subgraph


def proven_part(part: Subgraph) -> Subgraph:
    """Return a part of a subgraph without the edges whose triples, evidence or calls it lacks (promise 4)."""
    return part.model_copy(update={"edges": tuple(edge for edge in part.edges if _is_proven(edge, part))})


def _is_proven(edge: SimpleEdge, part: Subgraph) -> bool:
    evidence, calls = {item.id for item in part.evidence}, {call.id for call in part.calls}
    triples = [triple for triple in part.triples if triple.id in edge.triple_ids]
    return len(triples) == len(edge.triple_ids) and all(
        triple.evidence_id in evidence and calls.issuperset(triple.call_ids) for triple in triples
    )
