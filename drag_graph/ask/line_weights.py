"""Weighed context lines, and which of them repeat others."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from drag_graph.ask.context_lines import Candidate
from drag_graph.graph.name_forms import entity_key, predicate_key
from drag_graph.identity import canonical_text
from drag_graph.model import SimpleEdge

ListName = Literal["query", "vector", "words", "graph", "community"]
"""What finds a line: a similar question, its vector, its words, the walk over the graph, or the summary of a community."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A line with its weight, and its rank (1 is best) in each list that found it.

    `confidence` is that of an edge (None for evidence), `support` the number of other lines with the same content.
    """

    candidate: Candidate
    weight: float
    ranks: tuple[tuple[ListName, int], ...] = ()
    confidence: float | None = None
    support: int = 0


def by_weight(lines: Iterable[Weighed]) -> list[Weighed]:
    """Return the lines by weight, ties by rank and text. Refs depend on paths, so they decide only between equal texts."""
    return sorted(lines, key=lambda line: (-line.weight, line.candidate.rank, line.candidate.text, line.candidate.ref))


def without_repetitions(lines: Iterable[Weighed], edges: Mapping[str, SimpleEdge]) -> tuple[list[Weighed], list[Candidate]]:
    """Return the distinct lines, heaviest first, and the repetitions.

    Two lines of one kind are the same if their words are; two edges also if their normalised ends and predicates are. The
    heaviest remains, and its support counts the others.
    """
    distinct: list[Weighed] = []
    places: dict[tuple[str, ...], int] = {}
    repeated: list[Candidate] = []
    for line in by_weight(lines):
        keys = _content_keys(line.candidate, edges.get(line.candidate.ref))
        place = next((places[key] for key in keys if key in places), None)
        if place is None:
            place = len(distinct)
            distinct.append(line)
        else:
            distinct[place] = replace(distinct[place], support=distinct[place].support + 1 + line.support)
            repeated.append(line.candidate)
        for key in keys:
            places.setdefault(key, place)
    return distinct, repeated


def _content_keys(candidate: Candidate, edge: SimpleEdge | None) -> list[tuple[str, ...]]:
    keys: list[tuple[str, ...]] = [(candidate.kind, canonical_text(candidate.plain).rstrip(".!"))]
    if edge is not None:
        predicates = sorted({predicate_key(predicate) for predicate in edge.predicates})
        keys.append(("triple", entity_key(edge.subject), *predicates, entity_key(edge.object)))
    return keys
