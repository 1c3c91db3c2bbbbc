"""Subgraphs without the claims that a person marked wrong (docs/how-to/correct-refresh-erase.md). Pure functions."""

from collections import Counter
from collections.abc import Iterable

from drag_graph.graph.aggregate import claims_of, edge_of
from drag_graph.model import Aggregation, SimpleEdge, Subgraph, Triple
from drag_graph.ports.correction_store import RejectedClaims, claim_of
from drag_graph.ports.graph_search import Fact


def without_rejected(subgraph: Subgraph, rejected: RejectedClaims, *, is_whole: bool) -> Subgraph:
    """Return a subgraph without the triples of rejected claims. Edges without another claim are removed.

    If the subgraph `is_whole`, evidence of a query is removed if all of its claims are rejected. In a part of a subgraph, the
    other claims of the evidence are unknown. A passage of a document stays, because it contains more than its triples.
    """
    if subgraph.source_id not in rejected.source_ids:
        return subgraph
    triples = tuple(item for item in subgraph.triples if item not in rejected)
    if len(triples) == len(subgraph.triples):
        return subgraph
    edges = [edge for item in subgraph.edges for edge in _remaining(item, subgraph, triples)]
    there = {edge.id for edge in edges}
    disputes = (tuple(id_ for id_ in edge.contradicts if id_ in there) for edge in edges)
    hidden = rejected_evidence(subgraph.triples, rejected) if is_whole else frozenset()
    return subgraph.model_copy(
        update={
            "triples": triples,
            "edges": tuple(edge.model_copy(update={"contradicts": own}) for edge, own in zip(edges, disputes, strict=True)),
            "evidence": tuple(
                item.model_copy(update={"kept": False, "reason": "its claims are marked wrong"})
                if item.id in hidden and not item.chunk_id
                else item
                for item in subgraph.evidence
            ),
        }
    )


def rejected_evidence(items: Iterable[Triple | Fact], rejected: RejectedClaims) -> frozenset[str]:
    """Return the ids of evidence whose claims are all rejected; `items` are all triples of some evidence."""
    every, wrong = Counter[str](), Counter[str]()
    for item in items:
        every[item.evidence_id] += 1
        wrong[item.evidence_id] += item in rejected
    return frozenset(id_ for id_, number in every.items() if number == wrong[id_])


def claims_of_edges(subgraph: Subgraph, edges: Iterable[SimpleEdge]) -> dict[str, list[str]]:
    """Return the ids of the claims of each edge, by its id, in the order of the triples."""
    places = {item.id: place for place, item in enumerate(subgraph.triples)}
    behind = {edge.id: sorted(places[id_] for id_ in edge.triple_ids if id_ in places) for edge in edges}
    return {id_: list(dict.fromkeys(claim_of(subgraph.triples[place]) for place in own)) for id_, own in behind.items()}


def _remaining(edge: SimpleEdge, subgraph: Subgraph, triples: Iterable[Triple]) -> list[SimpleEdge]:
    behind = set(edge.triple_ids)
    own = [item for item in triples if item.id in behind]
    if len(own) == len(behind) or not own:
        return [edge] if own else []
    aggregation = (subgraph.aggregation or Aggregation()).model_copy(update={"statements": {}})
    claims = claims_of(own, subgraph.evidence, subgraph.calls, aggregation.merge)
    left = edge_of(edge.source_id, claims, [id_ for id_ in edge.contradicts if id_ != edge.id], aggregation)
    return [left.model_copy(update={"id": edge.id, "rank": edge.rank})]
