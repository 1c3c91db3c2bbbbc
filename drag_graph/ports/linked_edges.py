"""The edges of the whole graph: simple edges between things."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LinkedEdge:
    """A simple edge between things. A thing is a cluster of concepts, a concept without a cluster, or an unlinked entity.

    `source` and `target` are ids of things; names and ids of entities are those of the edge's own ends.
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
