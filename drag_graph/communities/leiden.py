"""Which things belong together: the Leiden algorithm on modularity, small communities merged (docs/adr/0039-communities.md).

The graph is that of `GraphStore.linked_edges`: of things, each edge weighed by its confidence. No I/O.
"""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from drag_graph.identity import sha256_of
from drag_graph.ports.linked_edges import LinkedEdge

_SEED = 0
_GAIN = 1e-9
"""Of modularity: what is less is the last bits of a float."""
_DIGITS = 6
"""Of a confidence, in what a hash is made of: engines differ in the last bits of a float."""


@dataclass(frozen=True, slots=True)
class GraphPart:
    """Things that belong together: their entities, and how many things, edges among them and sources of these there are.

    `content` is the hash of the entities and of what the edges among them say.
    """

    entities: frozenset[str]
    things: frozenset[str]
    edges: int
    sources: int
    content: str


@dataclass(slots=True)
class WholeGraph:
    """The edges of a namespace as a partition needs them, without their texts; `add` takes them one by one."""

    entities: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """By thing."""
    rows: list[tuple[str, str, float, str, str]] = field(default_factory=list)
    """Of each edge: its ends, its confidence, its source, and the hash of what it says."""

    @classmethod
    def of(cls, edges: Iterable[LinkedEdge]) -> "WholeGraph":
        """Return the graph of these edges, in whatever order they come."""
        graph = cls()
        for edge in edges:
            graph.entities[edge.source].add(edge.source_entity)
            graph.entities[edge.target].add(edge.target_entity)
            said = sha256_of([edge.id, edge.statement, round(edge.confidence, _DIGITS), edge.support])
            graph.rows.append((edge.source, edge.target, edge.confidence, edge.source_id, said))
        graph.rows.sort()
        return graph


def partition(graph: WholeGraph, *, resolution: float, min_size: int) -> list[GraphPart]:
    """Return the communities, largest first; the same for the same graph.

    Those of fewer than `min_size` things are merged into others (see `_merged`).
    """
    things = sorted(graph.entities)
    place = {thing: number for number, thing in enumerate(things)}
    ends = [(place[source], place[target]) for source, target, *_ in graph.rows]
    part = _leiden(len(things), ends, [row[2] for row in graph.rows], resolution)
    part = _merged(part, ends, graph.rows, min_size)
    members: dict[int, list[int]] = defaultdict(list)
    for number, one in enumerate(part):
        members[one].append(number)
    inside: dict[int, list[int]] = defaultdict(list)
    for number, (source, target) in enumerate(ends):
        if part[source] == part[target]:
            inside[part[source]].append(number)
    made = [_part(graph, [things[one] for one in those], inside[number]) for number, those in members.items()]
    return sorted(made, key=lambda item: (-len(item.things), min(item.things)))


def _part(graph: WholeGraph, things: Sequence[str], edges: Sequence[int]) -> GraphPart:
    entities = frozenset(entity for thing in things for entity in graph.entities[thing])
    rows = [graph.rows[number] for number in edges]
    content = sha256_of([sorted(entities), sorted(row[4] for row in rows)])
    return GraphPart(entities, frozenset(things), len(rows), len({row[3] for row in rows}), content)


def _leiden(size: int, ends: Sequence[tuple[int, int]], weights: Sequence[float], resolution: float) -> list[int]:
    """Return the number of each vertex's community.

    igraph's own way to go on until nothing changes has no end where two partitions are equally good.
    """
    import igraph

    if not size:
        return []
    graph = igraph.Graph(n=size, edges=ends, edge_attrs={"weight": weights}).simplify(combine_edges="sum")
    part, quality = list(range(size)), -math.inf
    igraph.set_random_number_generator(random.Random(_SEED))  # noqa: S311 - repeatable, not secret
    try:
        while True:
            found = graph.community_leiden(
                "modularity", weights="weight", resolution=resolution, initial_membership=part, n_iterations=1
            )
            if found.quality > quality + _GAIN:
                part, quality = list(found.membership), found.quality
            else:  # also where there is no edge between two, and so no number
                return part
    finally:
        igraph.set_random_number_generator(random)


def _merged(
    part: Sequence[int], ends: Sequence[tuple[int, int]], rows: Sequence[tuple[str, str, float, str, str]], min_size: int
) -> list[int]:
    """Return the partition with each community of fewer than `min_size` things in a neighbour, the smallest first.

    The neighbour is the one with most edges between the two; where there is none, as in a document that says a few unconnected
    things, the one with most edges of the same sources. What has neither stays.
    """
    sizes = Counter(part)
    between: dict[int, Counter[int]] = defaultdict(Counter)
    said_by: dict[int, Counter[str]] = defaultdict(Counter)
    said_of: dict[str, Counter[int]] = defaultdict(Counter)
    for (source, target), (*_, source_id, _) in zip(ends, rows, strict=True):
        one, other = part[source], part[target]
        if one != other:
            between[one][other] += 1
            between[other][one] += 1
        for community in (one, other):
            said_by[community][source_id] += 1
            said_of[source_id][community] += 1
    into: dict[int, int] = {}
    waiting = [(size, community) for community, size in sizes.items() if size < min_size]
    heapify(waiting)
    while waiting:
        size, small = heappop(waiting)
        if small in into or size != sizes[small]:
            continue  # it was merged, or has grown: then it is in the heap again if it is still small
        chosen = _first(between[small]) if between[small] else _first(_related(small, said_by[small], said_of))
        if chosen is None:
            continue
        into[small] = chosen
        sizes[chosen] += size
        _move(small, chosen, between)
        for source_id, number in said_by.pop(small).items():
            said_by[chosen][source_id] += number
            said_of[source_id][chosen] += said_of[source_id].pop(small)
        if sizes[chosen] < min_size:
            heappush(waiting, (sizes[chosen], chosen))
    return [_last(community, into) for community in part]


def _related(small: int, said_by: Mapping[str, int], said_of: Mapping[str, Counter[int]]) -> Counter[int]:
    """Return how many edges of the sources of `small` each other community has."""
    found: Counter[int] = Counter()
    for source_id in said_by:
        found.update({other: number for other, number in said_of[source_id].items() if other != small})
    return found


def _first(numbers: Mapping[int, int]) -> int | None:
    return min(numbers, key=lambda community: (-numbers[community], community), default=None)


def _move(small: int, chosen: int, between: dict[int, Counter[int]]) -> None:
    """Give the edges of `small` to `chosen`."""
    for other, number in between.pop(small).items():
        del between[other][small]
        if other != chosen:
            between[other][chosen] += number
            between[chosen][other] += number


def _last(community: int, into: Mapping[int, int]) -> int:
    while community in into:
        community = into[community]
    return community
