"""From several rankings to one weight a line (docs/adr/0017).

Reciprocal rank fusion after Cormack, Clarke and Buettcher, "Reciprocal rank fusion outperforms Condorcet and individual rank
learning methods", SIGIR 2009: an item at rank r of a list receives 1 / (k + r), with k = 60, and the sums over all lists decide
the order. Scores of different lists are never compared. A line has the rank of the best seed that leads to it, and each hop on
the way halves its share.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from drag_graph.ask.context_lines import Candidate
from drag_graph.graph.name_forms import entity_key, predicate_key
from drag_graph.identity import canonical_text
from drag_graph.model import SimpleEdge

K = 60
"""The constant of the paper; it says there that the choice hardly matters."""
DECAY = 0.5
"""Fraction of a seed's share that remains after each hop."""

ListName = Literal["query", "evidence", "concept", "similar concept", "line", "community", "adjacent"]


@dataclass(frozen=True, slots=True)
class Way:
    """A path from a list to a line: the rank of the seed in the list (1 is best), and the hops from the seed to the line."""

    list: ListName
    rank: int
    hop: int = 0


@dataclass(frozen=True, slots=True)
class Weighed:
    """A line and its weight.

    `ways` has the best way of each list, `fused` the sum of their shares, `confidence` that of an edge (None for evidence), and
    `support` the number of other lines with the same content. `weight` is `fused` times the confidence.
    """

    candidate: Candidate
    ways: tuple[Way, ...]
    confidence: float | None = None
    support: int = 0

    @property
    def fused(self) -> float:
        return sum(share(way) for way in self.ways)

    @property
    def weight(self) -> float:
        return self.fused * (1.0 if self.confidence is None else self.confidence)

    @property
    def hop(self) -> int:
        """Number of hops of the shortest way."""
        return min((way.hop for way in self.ways), default=0)


def fuse(lists: Iterable[Sequence[str]]) -> dict[str, float]:
    """Return the fused score of every id in the lists (best first). The first place of a repeated id counts."""
    scores: dict[str, float] = {}
    for ids in lists:
        for rank, id_ in enumerate(dict.fromkeys(ids), start=1):
            scores[id_] = scores.get(id_, 0.0) + 1.0 / (K + rank)
    return scores


def share(way: Way) -> float:
    """Return the share that a list contributes to a line."""
    return 1.0 / (K + way.rank) * DECAY**way.hop


def best_ways(ways: Iterable[Way]) -> tuple[Way, ...]:
    """Return the best way of each list, strongest first."""
    best: dict[str, Way] = {}
    for way in sorted(ways, key=lambda way: (-share(way), way.rank, way.list)):
        best.setdefault(way.list, way)
    return tuple(best.values())


def with_list(lines: Iterable[Weighed], name: ListName, ranking: Sequence[str]) -> list[Weighed]:
    """Add the ranks of another list to the lines; `ranking` has the refs of all lines."""
    ranks = {ref: rank for rank, ref in enumerate(ranking, start=1)}
    return [replace(line, ways=best_ways([*line.ways, Way(name, ranks[line.candidate.ref])])) for line in lines]


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
