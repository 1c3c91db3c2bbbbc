"""The strongest edges of a part of the graph."""

from collections import defaultdict
from collections.abc import Sequence

from drag_graph.ports.graph_store import LinkedEdge


def strongest(edges: Sequence[LinkedEdge], number: int) -> list[LinkedEdge]:
    """Return the `number` strongest edges: by their confidence times the confidences of all edges of their ends."""
    weights = confidence_of_things(edges)
    strength = {edge.id: edge.confidence * (weights[edge.source] + weights[edge.target]) for edge in edges}
    return sorted(edges, key=lambda edge: (-round(strength[edge.id], 6), edge.id))[:number]


def confidence_of_things(edges: Sequence[LinkedEdge]) -> dict[str, float]:
    """Return the sum of the confidences of each thing's edges."""
    weights: dict[str, float] = defaultdict(float)
    for edge in edges:
        weights[edge.source] += edge.confidence
        weights[edge.target] += edge.confidence
    return weights
