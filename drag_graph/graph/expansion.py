"""Expand search seeds along edges: the steps taken and the subgraph parts reached."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from drag_graph.graph.names import concept_id
from drag_graph.model import Evidence, SimpleEdge, Subgraph
from drag_graph.ports.graph_search import Expansion, Hit, Reached, Seed

ADJACENT = 2
"""Number of adjacent passages before and after a passage of a document (docs/adr/0045)."""


@dataclass(frozen=True, slots=True)
class Step:
    """An edge on the way, and the seed that it was reached from. `ends` are the ids of its two entities."""

    edge_id: str
    source_id: str
    confidence: float
    ends: tuple[str, str]
    hop: int
    seed: str
    score: float


@dataclass(slots=True)
class Walk:
    """The steps of an expansion, for engines that need several statements."""

    steps: list[Step] = field(default_factory=list)

    def frontier(self, size: int) -> list[tuple[str, Step]]:
        """Return the `size` best entities reached, each with the step that reached it best, best first, ties by id."""
        best: dict[str, Step] = {}
        for step in sorted(self.steps, key=_strength):
            for entity in sorted(step.ends):
                best.setdefault(entity, step)
        return list(best.items())[:size]

    def source_ids(self, seeds: Iterable[Seed]) -> list[str]:
        """Return the sources with something reached, those of the seeds first."""
        own = [seed.id if seed.kind == "query" else seed.source_id for seed in seeds if seed.kind != "concept"]
        return list(dict.fromkeys([*own, *(step.source_id for step in self.steps)]))

    def expansion(self, subgraphs: Sequence[Subgraph], seeds: Sequence[Seed]) -> Expansion:
        """Return the reached parts of whole subgraphs."""
        ways: dict[str, list[tuple[int, str]]] = {}
        for step in self.steps:
            ways.setdefault(step.edge_id, []).append((step.hop, step.seed))
        return assemble_expansion(subgraphs, ways, seeds)


def assemble_expansion(
    subgraphs: Iterable[Subgraph], ways: Mapping[str, Sequence[tuple[int, str]]], seeds: Sequence[Seed]
) -> Expansion:
    """Return the expansion from subgraphs with at least the reached parts; `ways` are (hop, seed) by edge id."""
    query_ids = {seed.id for seed in seeds if seed.kind == "query"}
    evidence_seeds = {seed.id for seed in seeds if seed.kind == "evidence"}
    parts: list[Subgraph] = []
    reached: dict[Reached, None] = {}
    for graph in subgraphs:
        lines: list[Reached] = []
        if graph.source_id in query_ids:
            lines += [Reached("evidence", item.id, 0, graph.source_id) for item in graph.kept_evidence]
            if graph.graph == "multigraph":
                lines += [
                    Reached("edge", edge.id, 0, graph.source_id) for edge in graph.usable_edges if _is_proven(edge, graph)
                ]
        lines += [Reached("evidence", item.id, 0, item.id) for item in graph.kept_evidence if item.id in evidence_seeds]
        kept_ids = {item.id for item in graph.kept_evidence}
        for edge in graph.edges:
            if edge.id in ways and graph.graph == "simple" and _is_proven(edge, graph):
                lines += [Reached("edge", edge.id, hop, seed) for hop, seed in ways[edge.id]]
                lines += [
                    Reached("evidence", id_, hop, seed)
                    for hop, seed in ways[edge.id]
                    for id_ in edge.evidence_ids
                    if id_ in kept_ids
                ]
        if lines:
            adjacent = {item.id for items in adjacent_passages(graph, evidence_seeds).values() for item in items}
            parts.append(_part(graph, adjacent | {item.ref for item in lines}))
            reached |= dict.fromkeys(lines)
    return Expansion(tuple(parts), tuple(reached))


def adjacent_passages(graph: Subgraph, evidence_ids: Collection[str]) -> dict[str, list[Evidence]]:
    """Return the kept passages that are adjacent to those of these ids, in the same chunk and in their order.

    Only passages of documents are keys; evidence of a query has none.
    """
    anchors = {item.id: item for item in graph.evidence if item.chunk_id and item.id in evidence_ids}
    chunks = {item.chunk_id for item in anchors.values()}
    near = sorted((item for item in graph.evidence if item.kept and item.chunk_id in chunks), key=lambda item: item.position)
    return {
        anchor.id: [
            one for one in near if one.chunk_id == anchor.chunk_id and 0 < abs(one.position - anchor.position) <= ADJACENT
        ]
        for anchor in anchors.values()
    }


def ranked(hits: Iterable[Hit], k: int) -> tuple[Hit, ...]:
    """Return the `k` best hits, best first, ties by id."""
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.id))[:k])


def concept_ids(namespace: str, keys: Iterable[str]) -> list[str]:
    """Return the ids of the concepts of normal names, each once, in their order."""
    return list(dict.fromkeys(concept_id(namespace, key) for key in keys))


def _part(graph: Subgraph, refs: Collection[str]) -> Subgraph:
    edges = tuple(edge for edge in graph.edges if edge.id in refs)
    behind = {id_ for edge in edges for id_ in edge.triple_ids}
    triples = tuple(triple for triple in graph.triples if triple.id in refs or triple.id in behind)
    needed = {triple.evidence_id for triple in triples}
    evidence = tuple(item for item in graph.evidence if item.id in refs or item.id in needed)
    return graph.model_copy(update={"edges": edges, "triples": triples, "evidence": evidence, "entities": (), "embedding": ()})


def _is_proven(edge: SimpleEdge, graph: Subgraph) -> bool:
    """Whether all of an edge's triples are there with their evidence and calls (promise 4)."""
    evidence, calls = {item.id for item in graph.evidence}, {call.id for call in graph.calls}
    triples = [triple for triple in graph.triples if triple.id in edge.triple_ids]
    return len(triples) == len(edge.triple_ids) and all(
        triple.evidence_id in evidence and calls.issuperset(triple.call_ids) for triple in triples
    )


def _strength(step: Step) -> tuple[float, str]:
    return (-step.score * step.confidence, step.edge_id)
