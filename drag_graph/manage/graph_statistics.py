"""Looking at a whole graph: sizes, weak edges, contradictions, what hangs together (docs/graph.md).

The graph that is looked at is of *things*: a thing is a cluster of concepts, or a concept that no cluster has yet, or, where
nothing was linked, an entity. A store gives the simple edges between them (`GraphStore.linked_edges`); the rest is worked
out here.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import combinations
from typing import Any

from drag_graph.graph.contradictions import predicates_contradict
from drag_graph.ports.linked_edges import LinkedEdge

Pair = tuple[str, str]
Link = tuple[str, str, float]
"""Source, target, weight."""


@dataclass(frozen=True, slots=True)
class Group:
    """Things that hang together, by id, how many simple edges they have among themselves, and what they are called."""

    members: tuple[str, ...]
    edges: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class SharedThing:
    """A thing, how many sources have an edge of it, and how many edges these are."""

    id: str
    sources: int
    edges: int


def statistics(edges: Callable[[], Iterable[LinkedEdge]], counts: Mapping[str, int], limit: int = 10) -> dict[str, Any]:
    """Return the document of `graph stats`: sizes, degrees, the weakest edges, contradictions; `limit` of each.

    `edges` is called twice, for the names of what contradicts.
    """
    degrees: Counter[str] = Counter()
    weakest: list[LinkedEdge] = []
    claims: dict[Pair, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for edge in edges():
        pair = (edge.source, edge.target)
        degrees.update(pair)
        for predicate in edge.predicates:
            claims[pair][predicate].append(edge.id)
        weakest.append(edge)
        if len(weakest) > 2 * limit:
            weakest = nsmallest(limit, weakest, key=_weakness)
    found = list(contradictions(claims))
    examples = nsmallest(limit, found, key=lambda item: (item["subject"], item["object"], item["predicates"]))
    ends = ("subject", "object")
    names = names_of(edges(), {item[end] for item in examples for end in ends}) if examples else {}
    examples = [{**item, **{end: names.get(item[end], item[end]) for end in ends}} for item in examples]
    return {
        "counts": dict(counts),
        "degrees": {str(degree): number for degree, number in sorted(Counter(degrees.values()).items())},
        "weakest_edges": [
            {name: getattr(edge, name) for name in ("id", "source_id", "statement", "confidence", "support", "contradicts")}
            for edge in nsmallest(limit, weakest, key=_weakness)
        ],
        "contradictions": {
            "number": len(found),
            "examples": [
                {**item, **{end: names.get(item[end], item[end]) for end in ("subject", "object")}} for item in examples
            ],
        },
    }


def _weakness(edge: LinkedEdge) -> tuple[float, str]:
    return edge.confidence, edge.id


def contradictions(claims: Mapping[Pair, Mapping[str, Sequence[str]]]) -> Iterator[dict[str, Any]]:
    """Yield the pairs of predicates that exclude one another, why, and the edges that say them; ends are ids of things.

    `claims` has the ids of edges by pair of things and predicate.
    """
    for (subject, object_), predicates in claims.items():
        for one, other in combinations(sorted(predicates), 2):
            if why := predicates_contradict(one, other):
                ids = sorted({*predicates[one], *predicates[other]})
                yield {"subject": subject, "predicates": [one, other], "object": object_, "why": why, "edge_ids": ids}


def shared(edges: Iterable[LinkedEdge], limit: int) -> list[SharedThing]:
    """Return the things that most sources have edges of, two at least, most first, then by id."""
    number: Counter[str] = Counter()
    sources: dict[str, set[str]] = defaultdict(set)
    for edge in edges:
        for end in {edge.source, edge.target}:
            number[end] += 1
            sources[end].add(edge.source_id)
    found = (SharedThing(id_, len(those), number[id_]) for id_, those in sources.items() if len(those) > 1)
    return nsmallest(limit, found, key=lambda item: (-item.sources, item.id))


def names_of(edges: Iterable[LinkedEdge], ids: Collection[str]) -> dict[str, str]:
    """Return what each of these things is called most often."""
    names: dict[str, Counter[str]] = {id_: Counter() for id_ in ids}
    for edge in edges:
        for id_, name in ((edge.source, edge.source_name), (edge.target, edge.target_name)):
            if id_ in names:
                names[id_][name] += 1
    return {id_: min(found, key=lambda name: (-found[name], name)) for id_, found in names.items() if found}


def links(edges: Iterable[LinkedEdge]) -> Iterator[Link]:
    """Yield what is grouped by: the ends and the confidence of each edge."""
    return ((edge.source, edge.target, edge.confidence) for edge in edges)


def components(edges: Iterable[Link]) -> list[Group]:
    """Return the connected components, largest first, then by their first id."""
    import igraph

    rows = sorted(edges)
    things = sorted({end for source, target, _ in rows for end in (source, target)})
    place = {thing: number for number, thing in enumerate(things)}
    ends = [(place[source], place[target]) for source, target, _ in rows]
    part = igraph.Graph(n=len(things), edges=ends).connected_components(mode="weak").membership
    inside = Counter(part[source] for source, target in ends if part[source] == part[target])
    members: dict[int, list[str]] = defaultdict(list)
    for thing, number in zip(things, part, strict=True):
        members[number].append(thing)
    groups = [Group(tuple(those), inside[number]) for number, those in members.items()]
    return sorted(groups, key=lambda group: (-len(group.members), group.members))
