"""From several rankings to one weight a line (docs/adr/0017).

Reciprocal rank fusion after Cormack, Clarke and Buettcher, "Reciprocal rank fusion outperforms Condorcet and individual rank
learning methods", SIGIR 2009: what stands at rank r of a list gets 1 / (k + r) from it, with k = 60, and the sum over the lists
orders. No list's scores are compared with another's. Here a line stands in a list at the rank of the best seed there that leads
to it, and each hop on the way halves what the list gives.
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
"""What a hop leaves of a seed's share."""

ListName = Literal["query", "evidence", "concept", "similar concept", "line", "community", "adjacent"]


@dataclass(frozen=True, slots=True)
class Way:
    """That a list leads to a line: the rank of the seed in it (1 is best), and the hops from the seed to the line."""

    list: ListName
    rank: int
    hop: int = 0


@dataclass(frozen=True, slots=True)
class Weighed:
    """A line with what it weighs. `ways` has the best way of each list, `support` counts the other lines that say the same.

    `fused` is the sum of the ways' shares, `confidence` that of an edge, or None for an evidence, which nothing was read from;
    `weight` is `fused` times the confidence.
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
        """The hops of the shortest way."""
        return min((way.hop for way in self.ways), default=0)


def reciprocal(rank: int, k: int = K) -> float:
    """Return 1 / (k + rank), for a rank from 1 on. Raises ValueError for a smaller one."""
    if rank < 1:
        raise ValueError(f"a rank is at least 1, not {rank}")
    return 1.0 / (k + rank)


def fuse(lists: Iterable[Sequence[str]], k: int = K) -> dict[str, float]:
    """Return the fused score of every id in the lists, which are best first; of a repeated id the first place counts."""
    scores: dict[str, float] = {}
    for ids in lists:
        for rank, id_ in enumerate(dict.fromkeys(ids), start=1):
            scores[id_] = scores.get(id_, 0.0) + reciprocal(rank, k)
    return scores


def share(way: Way) -> float:
    """Return what a list gives to a line."""
    return reciprocal(way.rank) * DECAY**way.hop


def best_ways(ways: Iterable[Way]) -> tuple[Way, ...]:
    """Return of each list the way that gives most, the strongest first."""
    best: dict[str, Way] = {}
    for way in sorted(ways, key=lambda way: (-share(way), way.rank, way.list)):
        best.setdefault(way.list, way)
    return tuple(best.values())


def with_list(lines: Iterable[Weighed], name: ListName, ranking: Sequence[str]) -> list[Weighed]:
    """Return the lines with one more list, a ranking of their refs."""
    ranks = {ref: rank for rank, ref in enumerate(dict.fromkeys(ranking), start=1)}
    return [
        replace(line, ways=best_ways([*line.ways, Way(name, ranks[line.candidate.ref])]))
        if line.candidate.ref in ranks
        else line
        for line in lines
    ]


def by_weight(lines: Iterable[Weighed]) -> list[Weighed]:
    """Return the lines by weight, ties by rank and text. Refs depend on paths, so they decide only between equal texts."""
    return sorted(lines, key=lambda line: (-line.weight, line.candidate.rank, line.candidate.text, line.candidate.ref))


def without_repetitions(
    lines: Iterable[Weighed], edges: Mapping[str, SimpleEdge]
) -> tuple[list[Weighed], list[tuple[Candidate, Candidate]]]:
    """Return the lines that each say something else, heaviest first, and the others with the line that says the same.

    Two edges say the same that have the same ends and predicates in their normal forms; two lines of one kind, whose words are
    the same. The heaviest stays and counts the others as its support.
    """
    kept: list[Weighed] = []
    places: dict[tuple[str, ...], int] = {}
    repeated: list[tuple[Candidate, Candidate]] = []
    for line in by_weight(lines):
        said = _said(line.candidate, edges.get(line.candidate.ref))
        place = next((places[key] for key in said if key in places), None)
        if place is None:
            place = len(kept)
            kept.append(line)
        else:
            kept[place] = replace(kept[place], support=kept[place].support + 1 + line.support)
            repeated.append((line.candidate, kept[place].candidate))
        for key in said:
            places.setdefault(key, place)
    return kept, repeated


def _said(candidate: Candidate, edge: SimpleEdge | None) -> list[tuple[str, ...]]:
    said: list[tuple[str, ...]] = [(candidate.kind, canonical_text(candidate.plain).rstrip(".!"))]
    if edge is not None:
        predicates = sorted({predicate_key(predicate) for predicate in edge.predicates})
        said.append(("triple", entity_key(edge.subject), *predicates, entity_key(edge.object)))
    return said
