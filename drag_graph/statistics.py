"""Looking at a whole graph: sizes, weak places, contradictions, what hangs together (docs/graph.md).

The model, the port that the stores implement, and the working out, without any I/O of its own. The graph that is looked at is
of *things*: a thing is a cluster of concepts, or a concept that no cluster has yet, or, where nothing was linked, an entity; it
goes by that one's id. What a store yields it streams: `statistics` holds what it prints, the groups hold ids.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Protocol, TypeVar

from drag_graph.steps.guards import statements_differ

Item = TypeVar("Item")

ROUNDS = 20
"""The most rounds of label propagation; real graphs settle within a handful."""


@dataclass(frozen=True, slots=True)
class Said:
    """An ordered pair of things, and the triples that are said of it, by predicate."""

    source: str
    target: str
    triple_ids: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class UnusedEvidence:
    """Evidence that was kept, but that no simple edge rests on and no stored answer was shown."""

    id: str
    source_id: str
    text: str


@dataclass(frozen=True, slots=True)
class WeakEdge:
    """A simple edge of low confidence."""

    id: str
    source_id: str
    statement: str
    confidence: float
    support: int


@dataclass(frozen=True, slots=True)
class SharedThing:
    """A thing (a cluster of concepts, or a concept by itself) and in how many queries how many entities are it."""

    id: str
    name: str
    queries: int
    entities: int


class StatisticsStore(Protocol):
    """Looking at one namespace: `GraphStore.statistics`. Raises StoreError as a GraphStore does."""

    def degrees(self) -> dict[int, int]:
        """Return how many entities have how many simple edges, by that number."""

    def weakest(self, limit: int) -> list[WeakEdge]:
        """Return the simple edges of the lowest confidence, lowest first."""

    def shared(self, limit: int) -> list[SharedThing]:
        """Return the things that are in most queries, most first, then by id; those that are in two at least."""

    def edges(self) -> Iterator[tuple[str, str, float]]:
        """Yield the simple edges between things (source, target, confidence). Streams; what is broken is left out."""

    def said(self) -> Iterator[Said]:
        """Yield the ordered pairs of things of which more than one predicate is said. Streams; what is broken is left out.

        Each comes once; only of a concept that has no cluster yet (`link` has not come to its end) it may come once a query.
        """

    def unused(self, limit: int) -> tuple[int, list[UnusedEvidence]]:
        """Return how much evidence is unused, and the first of it, by query and id."""

    def broken(self) -> int:
        """Return how many triples and simple edges lack what the figures are made of (somebody tampered): they are left out."""

    def names(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the names of things."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two predicates that cannot both hold of an ordered pair, and the triples that say so; `why` in words."""

    source: str
    target: str
    first: str
    second: str
    triple_ids: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Group:
    """Things that hang together, by id, and how many simple edges are between them."""

    members: tuple[str, ...]
    edges: int


def statistics(store: StatisticsStore, counts: Mapping[str, int], limit: int = 10) -> dict[str, Any]:
    """Return the document of `graph stats`: sizes, degrees, weak edges, contradictions, idle evidence; `limit` of each."""
    opposed, shown = first(
        contradictions(store.said()), limit, lambda item: (item.source, item.target, item.first, item.second)
    )
    unused, examples = store.unused(limit)
    names = store.names(sorted({end for item in shown for end in (item.source, item.target)}))
    return {
        "counts": dict(counts),
        "degrees": {str(degree): number for degree, number in sorted(store.degrees().items())},
        "weakest_edges": [asdict(edge) for edge in store.weakest(limit)],
        "contradictions": {
            "number": opposed,
            "examples": [
                {
                    "subject": names.get(item.source, item.source),
                    "predicates": [item.first, item.second],
                    "object": names.get(item.target, item.target),
                    "why": item.why,
                    "triple_ids": list(item.triple_ids),
                }
                for item in shown
            ],
        },
        "unused_evidence": {"number": unused, "examples": [asdict(item) for item in examples]},
        "broken": store.broken(),
    }


def first(items: Iterable[Item], limit: int, key: Callable[[Item], Any]) -> tuple[int, list[Item]]:
    """Return how many items there are, and the first by `key`; holds twice as many as these at most."""
    number, best = 0, list[Item]()
    for item in items:
        number += 1
        best.append(item)
        if len(best) >= 2 * limit:
            best = sorted(best, key=key)[:limit]
    return number, sorted(best, key=key)[:limit]


def contradictions(said: Iterable[Said]) -> Iterator[Contradiction]:
    """Yield the pairs of predicates that exclude one another."""
    for pair in said:
        for one, other in combinations(sorted(pair.triple_ids), 2):
            why = statements_differ(one.replace("_", " "), other.replace("_", " "))
            if why:
                ids = tuple(sorted((*pair.triple_ids[one], *pair.triple_ids[other])))
                yield Contradiction(pair.source, pair.target, one, other, ids, why)


def components(edges: Iterable[tuple[str, str, float]]) -> list[Group]:
    """Return the connected components, largest first, then by their first id."""
    parent: dict[str, str] = {}
    ends: Counter[str] = Counter()

    def root(thing: str) -> str:
        parent.setdefault(thing, thing)
        while parent[thing] != thing:
            parent[thing] = parent[parent[thing]]
            thing = parent[thing]
        return thing

    for source, target, _ in edges:
        first, second = sorted((root(source), root(target)))
        parent[second] = first
        ends[source] += 1
    return _groups({thing: root(thing) for thing in list(parent)}, ends)


def communities(edges: Iterable[tuple[str, str, float]]) -> list[Group]:
    """Return communities by label propagation, weighed by confidence, in an order that makes it repeatable; largest first.

    A thing takes the label that weighs most among its neighbours, the smaller one of two that weigh the same, its own first.
    Raghavan, Albert and Kumara, Physical Review E 76, 036106 (2007), but in the order of ids instead of a random one.
    """
    near: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    ends: list[tuple[str, str]] = []
    for source, target, confidence in edges:
        near[source][target] += confidence
        near[target][source] += confidence
        ends.append((source, target))
    label = {thing: thing for thing in near}
    for _ in range(ROUNDS):
        changed = False
        for thing in sorted(near):
            weights: dict[str, float] = defaultdict(float)
            for neighbour, weight in near[thing].items():
                if neighbour != thing:
                    weights[label[neighbour]] += weight
            best = max(weights.values(), default=0.0)
            if best > weights.get(label[thing], 0.0):
                label[thing] = min(name for name, weight in weights.items() if weight == best)
                changed = True
        if not changed:
            break
    inside = Counter(source for source, target in ends if label[source] == label[target])
    return _groups(label, inside)


def _groups(label: Mapping[str, str], edges: Mapping[str, int]) -> list[Group]:
    """Return things by label; `edges` counts those that begin at a thing and stay in its group."""
    members: dict[str, list[str]] = defaultdict(list)
    for thing, name in label.items():
        members[name].append(thing)
    groups = [Group(tuple(sorted(items)), sum(edges.get(thing, 0) for thing in items)) for items in members.values()]
    return sorted(groups, key=lambda group: (-len(group.members), group.members))
