"""What the whole graph is made of: simple edges between things."""

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
