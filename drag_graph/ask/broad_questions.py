"""Find lines for a broad question: edges of communities with similar summaries (DGRAG, section 3.3).

A question about what many things have in common is not similar to any single passage.
"""

from collections.abc import Sequence

from drag_graph.ask.context_lines import Weighed, candidate_lines
from drag_graph.ask.corrected_store import Readable
from drag_graph.graph.edge_strength import strongest
from drag_graph.model import Mode, Subgraph

ENOUGH = 4
"""If a search finds at least this number of lines, communities are not consulted."""
NEAREST_COMMUNITIES = 2
EDGES_PER_COMMUNITY = 8
"""Strongest edges first."""


def broad_lines(
    store: Readable, vector: Sequence[float], threshold: float, mode: Mode, line_format: str
) -> tuple[list[Weighed], list[Subgraph]]:
    """Return the strongest edges of the communities whose summaries are similar to `vector`, and the evidence of these edges.

    `threshold` is the minimum cosine of a summary. The second result has their whole subgraphs, for the audit.
    """
    near = [hit for hit in store.communities.nearest(vector, NEAREST_COMMUNITIES) if hit.score >= threshold]
    ranks: dict[str, int] = {}
    sources: set[str] = set()
    for rank, hit in enumerate(near, start=1):
        for edge in strongest(list(store.linked_edges(hit.id)), EDGES_PER_COMMUNITY):
            ranks.setdefault(edge.id, rank)
            sources.add(edge.source_id)
    graphs = store.read(sorted(sources)) if sources else []
    confidences = {}
    for graph in graphs:
        for simple in graph.usable_edges:
            if simple.id in ranks:
                confidences[simple.id] = simple.confidence
                for evidence in simple.evidence_ids:
                    ranks.setdefault(evidence, ranks[simple.id])
    return [
        Weighed(
            candidate,
            confidences.get(candidate.ref, 1.0) / ranks[candidate.ref],
            (("community", ranks[candidate.ref]),),
            confidences.get(candidate.ref),
        )
        for candidate in candidate_lines(graphs, mode, line_format)
        if candidate.ref in ranks
    ], list(graphs)
