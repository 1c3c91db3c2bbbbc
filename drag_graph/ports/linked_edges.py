"""What the whole graph is made of: simple edges between things."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LinkedEdge:
    """A simple edge between things: an end is a cluster of concepts, else a concept, else (not linked) the entity itself.

    The names and the ids of entities are those of the entities at its ends.
    """

    id: str
    source_id: str
    source: str
    source_name: str
    target: str
    target_name: str
    statement: str
    predicates: tuple[str, ...]
    confidence: float
    support: int
    contradicts: tuple[str, ...] = ()
    source_entity: str = ""
    target_entity: str = ""


def strongest(edges: Sequence[LinkedEdge], number: int) -> list[LinkedEdge]:
    """Return the `number` strongest edges: by their confidence times the confidences of all edges of their ends."""
    weights = confidence_of_things(edges)
    strength = {edge.id: edge.confidence * (weights[edge.source] + weights[edge.target]) for edge in edges}
    return sorted(edges, key=lambda edge: (-round(strength[edge.id], 6), edge.id))[:number]


def confidence_of_things(edges: Sequence[LinkedEdge]) -> Counter[str]:
    """Return the sum of the confidences of each thing's edges."""
    weights: Counter[str] = Counter()
    for edge in edges:
        for end in (edge.source, edge.target):
            weights[end] += edge.confidence  # type: ignore[assignment]  # a sum of floats
    return weights
