"""The whole graph at a glance: sizes, weak edges, contradictions, connected components (docs/graph.md).

Its nodes are *things*: a cluster of concepts, a concept without a cluster, or, before linking, an entity. A store returns the
simple edges between things (`GraphStore.linked_edges`); the rest is computed here.
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
    """Connected things, by id, the number of simple edges among them, and a name."""

    members: tuple[str, ...]
    edges: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class SharedThing:
    """A thing, the number of sources with an edge to it, and the number of these edges."""

    id: str
    sources: int
    edges: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """Sizes of the graph. `degrees` is the number of things by number of edges; only some contradictions are examples."""

    counts: Mapping[str, int]
    degrees: Mapping[str, int]
    weakest_edges: tuple[LinkedEdge, ...]
    contradictions: int
    examples: tuple[Mapping[str, Any], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the `graph stats --json` document."""
        return {
            "counts": dict(self.counts),
            "degrees": dict(self.degrees),
            "weakest_edges": [{name: getattr(edge, name) for name in _SHOWN} for edge in self.weakest_edges],
            "contradictions": {"number": self.contradictions, "examples": list(self.examples)},
        }


_SHOWN = ("id", "source_id", "statement", "confidence", "support", "contradicts")


def statistics(edges: Callable[[], Iterable[LinkedEdge]], counts: Mapping[str, int], limit: int = 10) -> Statistics:
    """Return sizes, degrees, the weakest edges and contradictions, up to `limit` of each.

    `edges` is called twice if there are contradictions, whose things need names.
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
    opposed = list(contradictions(claims))
    examples = nsmallest(limit, opposed, key=lambda item: (item["subject"], item["object"], item["predicates"]))
    ends = ("subject", "object")
    names = names_of(edges(), {item[end] for item in examples for end in ends}) if examples else {}
    return Statistics(
        counts=dict(counts),
        degrees={str(degree): number for degree, number in sorted(Counter(degrees.values()).items())},
        weakest_edges=tuple(nsmallest(limit, weakest, key=_weakness)),
        contradictions=len(opposed),
        examples=tuple({**item, **{end: names.get(item[end], item[end]) for end in ends}} for item in examples),
    )


def _weakness(edge: LinkedEdge) -> tuple[float, str]:
    return edge.confidence, edge.id


def contradictions(claims: Mapping[Pair, Mapping[str, Sequence[str]]]) -> Iterator[dict[str, Any]]:
    """Yield the pairs of predicates that exclude each other, the reason, and the ids of their edges.

    `claims` holds edge ids by pair of things and by predicate.
    """
    for (subject, object_), predicates in claims.items():
        for one, other in combinations(sorted(predicates), 2):
            if reason := predicates_contradict(one, other):
                ids = sorted({*predicates[one], *predicates[other]})
                yield {"subject": subject, "predicates": [one, other], "object": object_, "why": reason, "edge_ids": ids}


def shared_things(edges: Iterable[LinkedEdge], limit: int) -> list[SharedThing]:
    """Return up to `limit` things that at least two sources have edges to, most sources first, then by id."""
    number: Counter[str] = Counter()
    sources: dict[str, set[str]] = defaultdict(set)
    for edge in edges:
        for end in {edge.source, edge.target}:
            number[end] += 1
            sources[end].add(edge.source_id)
    things = (SharedThing(id_, len(ids), number[id_]) for id_, ids in sources.items() if len(ids) > 1)
    return nsmallest(limit, things, key=lambda item: (-item.sources, item.id))


def names_of(edges: Iterable[LinkedEdge], ids: Collection[str]) -> dict[str, str]:
    """Return the most frequent name of each of these things."""
    names: dict[str, Counter[str]] = {id_: Counter() for id_ in ids}
    for edge in edges:
        for id_, name in ((edge.source, edge.source_name), (edge.target, edge.target_name)):
            if id_ in names:
                names[id_][name] += 1
    return {id_: min(counts, key=lambda name: (-counts[name], name)) for id_, counts in names.items() if counts}


def links(edges: Iterable[LinkedEdge]) -> Iterator[Link]:
    """Yield ends and confidence of each edge, to group by."""
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
    groups = [Group(tuple(ids), inside[number]) for number, ids in members.items()]
    return sorted(groups, key=lambda group: (-len(group.members), group.members))
