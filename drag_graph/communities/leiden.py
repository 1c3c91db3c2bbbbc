"""Partition the graph of things: the Leiden algorithm on modularity, then merging of small communities.

The new communities inherit the ids of stored ones by the majority of their members.

Edges come from `GraphStore.linked_edges` and weigh as much as their confidence. No I/O.
"""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count
from operator import attrgetter

from drag_graph.identity import content_id, sha256_of
from drag_graph.ports.community_store import Community, CommunityChanges
from drag_graph.ports.graph_store import LinkedEdge

_SEED = 0
_GAIN = 1e-9
"""Smallest gain of modularity that counts; anything below is rounding."""
_DIGITS = 6
"""Digits of a confidence in a hash; engines differ in the last bits of a float."""


@dataclass(frozen=True, slots=True)
class GraphPart:
    """A community: its entities and things, and the number of edges between them and of the sources of those edges.

    `content` is the hash of the entities and of the statements of the edges between them.
    """

    entities: frozenset[str]
    things: frozenset[str]
    edges: int
    sources: int
    content: str


@dataclass(slots=True)
class WholeGraph:
    """The edges of a namespace, reduced to what a partition needs."""

    entities: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Entities by thing."""
    rows: list[tuple[str, str, float, str, str]] = field(default_factory=list)
    """For each edge: its ends, its confidence, its source, and the hash of its statement."""

    @classmethod
    def of(cls, edges: Iterable[LinkedEdge]) -> "WholeGraph":
        """Return the graph of the edges; their order does not matter."""
        graph = cls()
        for edge in edges:
            graph.entities[edge.source].add(edge.source_entity)
            graph.entities[edge.target].add(edge.target_entity)
            content = sha256_of([edge.id, edge.statement, round(edge.confidence, _DIGITS), edge.support])
            graph.rows.append((edge.source, edge.target, edge.confidence, edge.source_id, content))
        graph.rows.sort()
        return graph


def partition(graph: WholeGraph, *, resolution: float, min_size: int) -> list[GraphPart]:
    """Return the communities, largest first. The result is deterministic.

    Communities with fewer than `min_size` things are merged into others (see `_merged`).
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
    parts = [_part(graph, [things[number] for number in own], inside[name]) for name, own in members.items()]
    return sorted(parts, key=lambda item: (-len(item.things), min(item.things)))


def _part(graph: WholeGraph, things: Sequence[str], edges: Sequence[int]) -> GraphPart:
    entities = frozenset(entity for thing in things for entity in graph.entities[thing])
    rows = [graph.rows[number] for number in edges]
    content = sha256_of([sorted(entities), sorted(row[4] for row in rows)])
    return GraphPart(entities, frozenset(things), len(rows), len({row[3] for row in rows}), content)


def _leiden(size: int, ends: Sequence[tuple[int, int]], weights: Sequence[float], resolution: float) -> list[int]:
    """Return the community number of each vertex.

    igraph's own loop until nothing changes does not end if two partitions are equally good.
    """
    import igraph

    if not size:
        return []
    graph = igraph.Graph(n=size, edges=ends, edge_attrs={"weight": weights}).simplify(combine_edges="sum")
    part, quality = list(range(size)), -math.inf
    igraph.set_random_number_generator(random.Random(_SEED))  # noqa: S311 - repeatable, not secret
    try:
        while True:
            next_ = graph.community_leiden(
                "modularity", weights="weight", resolution=resolution, initial_membership=part, n_iterations=1
            )
            if next_.quality > quality + _GAIN:
                part, quality = list(next_.membership), next_.quality
            else:  # also if the graph has no edge, and the quality is not a number
                return part
    finally:
        igraph.set_random_number_generator(random)


def _merged(
    part: Sequence[int], ends: Sequence[tuple[int, int]], rows: Sequence[tuple[str, str, float, str, str]], min_size: int
) -> list[int]:
    """Merge each community of fewer than `min_size` things into a neighbour, the smallest first.

    The neighbour has the most edges to the community. A community without neighbours joins the one with most edges from the
    same sources, as in a document with unconnected statements. A community without either stays.
    """
    sizes = Counter(part)
    between: dict[int, Counter[int]] = defaultdict(Counter)
    sources_of: dict[int, Counter[str]] = defaultdict(Counter)
    communities_of: dict[str, Counter[int]] = defaultdict(Counter)
    for (source, target), (*_, source_id, _) in zip(ends, rows, strict=True):
        one, other = part[source], part[target]
        if one != other:
            between[one][other] += 1
            between[other][one] += 1
        for community in (one, other):
            sources_of[community][source_id] += 1
            communities_of[source_id][community] += 1
    into: dict[int, int] = {}
    waiting = [(size, community) for community, size in sizes.items() if size < min_size]
    heapify(waiting)
    while waiting:
        size, small = heappop(waiting)
        if small in into or size != sizes[small]:
            continue  # merged already, or grown: then the heap has it again if it is still small
        neighbour = _first(between[small]) if between[small] else _first(_related(small, sources_of[small], communities_of))
        if neighbour is None:
            continue
        into[small] = neighbour
        sizes[neighbour] += size
        _move(small, neighbour, between)
        for source_id, number in sources_of.pop(small).items():
            sources_of[neighbour][source_id] += number
            communities_of[source_id][neighbour] += communities_of[source_id].pop(small)
        if sizes[neighbour] < min_size:
            heappush(waiting, (sizes[neighbour], neighbour))
    return [_last(community, into) for community in part]


def _related(small: int, sources_of: Mapping[str, int], communities_of: Mapping[str, Counter[int]]) -> Counter[int]:
    """Return, for every other community, how many of its edges come from the sources of `small`."""
    related: Counter[int] = Counter()
    for source_id in sources_of:
        related.update({other: number for other, number in communities_of[source_id].items() if other != small})
    return related


def _first(numbers: Mapping[int, int]) -> int | None:
    return min(numbers, key=lambda community: (-numbers[community], community), default=None)


def _move(small: int, chosen: int, between: dict[int, Counter[int]]) -> None:
    """Move the edges of `small` to `chosen`."""
    for other, number in between.pop(small).items():
        del between[other][small]
        if other != chosen:
            between[other][chosen] += number
            between[chosen][other] += number


def _last(community: int, into: Mapping[int, int]) -> int:
    while community in into:
        community = into[community]
    return community


def ids_of(parts: Sequence[GraphPart], stored: Iterable[Community], namespace: str) -> list[str]:
    """Return the id of each part.

    A part inherits the id of a stored community if it contains more than half of its entities. If several qualify, the one with
    most entities in the part wins, then the smallest id. Any other part gets the hash of its entities.
    """
    sizes: dict[str, int] = {}
    community_of: dict[str, str] = {}
    for item in stored:
        sizes[item.id] = len(item.entities)
        community_of.update(dict.fromkeys(item.entities, item.id))
    inherited: list[str | None] = []
    for part in parts:
        shared = Counter(community_of[entity] for entity in part.entities if entity in community_of)
        most = [id_ for id_, number in shared.items() if 2 * number > sizes[id_]]
        inherited.append(min(most, key=lambda id_: (-shared[id_], id_), default=None))
    used = {id_ for id_ in inherited if id_ is not None}
    return [id_ or _fresh(part, used, namespace) for id_, part in zip(inherited, parts, strict=True)]


def _fresh(part: GraphPart, used: set[str], namespace: str) -> str:
    """Return an unused id: another part may have inherited the id that belongs to these members."""
    entities = sorted(part.entities)
    ids = (content_id(namespace, "community", *entities, *([str(n)] if n else [])) for n in count())
    id_ = next(id_ for id_ in ids if id_ not in used)
    used.add(id_)
    return id_


_counts = attrgetter("member_hash", "things", "edges", "sources")


def changes_of(wanted: Sequence[Community], stored: Sequence[Community]) -> CommunityChanges:
    """Return the changes that turn the stored communities into the wanted ones."""
    before = {item.id: item for item in stored}
    was_in = {entity: item.id for item in stored for entity in item.entities}
    is_in = {entity: item.id for item in wanted for entity in item.entities}
    return CommunityChanges(
        communities=[item for item in wanted if item.id not in before or _counts(item) != _counts(before[item.id])],
        left=sorted(entity for entity, id_ in was_in.items() if is_in.get(entity) != id_),
        joined=sorted((entity, id_) for entity, id_ in is_in.items() if was_in.get(entity) != id_),
        gone=sorted(before.keys() - {item.id for item in wanted}),
    )
