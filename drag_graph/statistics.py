"""Looking at a whole graph: sizes, weak places, contradictions, what hangs together (docs/graph.md).

The model, the port that the stores implement, and the working out, without any I/O of its own. The graph that is looked at is
of *things*: a thing is a cluster of concepts, or a concept that no cluster has yet, or, where nothing was linked, an entity; it
goes by that one's id. Memory holds ids and predicates, no texts.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

from drag_graph.steps.guards import statements_differ

PAGE = 200
"""Queries that are looked at in one round trip."""
ROUNDS = 20
"""The most rounds of label propagation; real graphs settle within a handful."""


@dataclass(frozen=True, slots=True)
class Link:
    """A triple between two things."""

    source: str
    target: str
    predicate: str
    triple_id: str


@dataclass(frozen=True, slots=True)
class Connections:
    """What connects things in one query: its triples, its simple edges (source, target, confidence), and its idle evidence.

    `unused` holds (id, text) of evidence that was kept, but that no simple edge rests on and no stored answer was shown.
    """

    query_id: str
    triples: tuple[Link, ...]
    edges: tuple[tuple[str, str, float], ...]
    unused: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class WeakEdge:
    """A simple edge of low confidence."""

    id: str
    query_id: str
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
        """Return the things that are in most queries, most first, then by id; none where nothing was linked."""

    def connections(self, after: str, limit: int) -> list[Connections]:
        """Return what connects things in each of `limit` queries, by id, from the first id behind `after` on."""

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


def pages(store: StatisticsStore) -> Iterator[Connections]:
    """Yield what connects things in every query; streams."""
    after = ""
    while page := store.connections(after, PAGE):
        yield from page
        after = page[-1].query_id


def statistics(store: StatisticsStore, counts: Mapping[str, int], limit: int = 10) -> dict[str, Any]:
    """Return the document of `graph stats`: sizes, degrees, weak edges, contradictions, idle evidence; `limit` of each."""
    said: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(dict)
    unused, examples = 0, list[dict[str, str]]()
    for item in pages(store):
        for link in item.triples:
            said[link.source, link.target].setdefault(link.predicate, []).append(link.triple_id)
        unused += len(item.unused)
        room = max(0, limit - len(examples))
        examples += [{"id": id_, "query_id": item.query_id, "text": text} for id_, text in item.unused[:room]]
    found = list(contradictions(said))
    names = store.names(sorted({end for item in found[:limit] for end in (item.source, item.target)}))
    return {
        "counts": dict(counts),
        "degrees": {str(degree): number for degree, number in sorted(store.degrees().items())},
        "weakest_edges": [
            {
                "id": edge.id,
                "query_id": edge.query_id,
                "statement": edge.statement,
                "confidence": edge.confidence,
                "support": edge.support,
            }
            for edge in store.weakest(limit)
        ],
        "contradictions": {
            "number": len(found),
            "examples": [
                {
                    "subject": names.get(item.source, item.source),
                    "predicates": [item.first, item.second],
                    "object": names.get(item.target, item.target),
                    "why": item.why,
                    "triple_ids": list(item.triple_ids),
                }
                for item in found[:limit]
            ],
        },
        "unused_evidence": {"number": unused, "examples": examples},
    }


def contradictions(said: Mapping[tuple[str, str], Mapping[str, Sequence[str]]]) -> Iterator[Contradiction]:
    """Yield the pairs of predicates that exclude one another, of what is said (triple ids, by predicate) of ordered pairs."""
    for (source, target), predicates in sorted(said.items()):
        for first, second in combinations(sorted(predicates), 2):
            why = statements_differ(first.replace("_", " "), second.replace("_", " "))
            if why:
                ids = tuple(sorted((*predicates[first], *predicates[second])))
                yield Contradiction(source, target, first, second, ids, why)


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


def edges_of(store: StatisticsStore) -> Iterator[tuple[str, str, float]]:
    """Yield the simple edges between things; streams."""
    for item in pages(store):
        yield from item.edges


def _groups(label: Mapping[str, str], edges: Mapping[str, int]) -> list[Group]:
    """Return things by label; `edges` counts those that begin at a thing and stay in its group."""
    members: dict[str, list[str]] = defaultdict(list)
    for thing, name in label.items():
        members[name].append(thing)
    groups = [Group(tuple(sorted(items)), sum(edges.get(thing, 0) for thing in items)) for items in members.values()]
    return sorted(groups, key=lambda group: (-len(group.members), group.members))
