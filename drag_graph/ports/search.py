"""Finding what answers a new question in all subgraphs together (docs/design.md, section 5; docs/adr/0017): the model and port.

Two steps, each one statement where the engine can. `candidates` ranks stored things by the question: queries, evidence and
concepts. `expand` walks from the chosen ones, the seeds, to the lines that they lead to, with all that their audit needs.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from drag_graph.graph.names import concept_id
from drag_graph.model import Evidence, LineKind, SimpleEdge, Subgraph

SeedKind = Literal["query", "evidence", "concept"]


@dataclass(frozen=True, slots=True)
class Hit:
    """A stored thing that is near to a question. `score` is a cosine in [-1, 1], or 1 for a concept that the question names.

    `text` is a query's or an evidence's text, or a concept's name. An evidence has the `source_id` that it belongs to. A
    concept has the `cluster` of all that are the same thing, and `entities`, how many entities are called so.
    """

    id: str
    score: float
    text: str
    source_id: str = ""
    cluster: str = ""
    entities: int = 0


@dataclass(frozen=True, slots=True)
class Candidates:
    """What is stored near to a question, each list best first, ties by id; `named` are concepts, in the order of the keys.

    `own` says whether the very question is stored. A store whose concepts were never made has only `queries`, and the
    evidence of documents, which is saved with its vectors.
    """

    own: bool = False
    queries: tuple[Hit, ...] = ()
    evidence: tuple[Hit, ...] = ()
    named: tuple[Hit, ...] = ()
    similar: tuple[Hit, ...] = ()


@dataclass(frozen=True, slots=True)
class Seed:
    """Where an expansion begins: a query, an evidence (with its query), or a cluster of concepts. `score` orders the seeds."""

    kind: SeedKind
    id: str
    score: float = 1.0
    source_id: str = ""


@dataclass(frozen=True, slots=True)
class Reached:
    """That a line was reached from the seed of that id, over so many hops: 0 is the seed's own text or subgraph."""

    kind: LineKind
    ref: str
    hop: int
    seed: str


@dataclass(frozen=True, slots=True)
class Expansion:
    """The lines that the seeds lead to, and the parts of the subgraphs that they and their audit are made of.

    Each subgraph has its query and all its teacher calls, but of evidence, triples and edges only what was reached, is behind
    what was reached, or is adjacent to a seed (`adjacent_passages`). An edge whose evidence or calls are being written by
    somebody at this moment is left out.
    """

    subgraphs: tuple[Subgraph, ...] = ()
    reached: tuple[Reached, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """What keeps an expansion small however large the store is (docs/adr/0017); all are at least 1.

    `entities` of one cluster are looked at, of these the `edges` with the highest confidence are taken, and of all clusters'
    together the `near` ones with the highest product of the seed's score and the confidence: about as many lines as are looked
    at. A second hop goes on from the `frontier` best entities reached, to `beyond` entities of the same cluster each, and takes
    `far` edges in all.
    """

    entities: int = 64
    edges: int = 8
    near: int = 48
    frontier: int = 8
    beyond: int = 4
    far: int = 12


LIMITS = Limits()


ADJACENT = 2
"""How many passages before a passage of a document, and as many after it, are adjacent to it (docs/adr/0045)."""


class GraphSearch(Protocol):
    """Searching one namespace. Thread-safe; raises as the methods of `drag_graph.ports.store.GraphStore` do."""

    def candidates(self, vector: Sequence[float], keys: Sequence[str], k: int, *, source_id: str = "") -> Candidates:
        """Return up to `k` queries, evidence and concepts by their cosine to `vector`, and the concepts named by `keys`.

        `keys` are normal names (`drag_graph.ask.retrieve.question_keys`). A vector of zeros, or of another length than the
        stored ones, is near to nothing. `own` says whether the query `source_id` is stored. Evidence that was dropped is none.
        """

    def expand(self, seeds: Sequence[Seed], hops: int, limits: Limits = LIMITS) -> Expansion:
        """Return the lines that `seeds` lead to in at most `hops` (1 or 2) hops.

        A query leads to its kept evidence and edges (hop 0); an evidence to itself (0) and the edges read from it (1); a
        cluster to the edges of its entities (1). A second hop goes from the ends of the best of these to their other edges, in
        the same query and through their clusters in others. What is behind an edge is reached with it. The passages that are
        adjacent to an evidence come along, but are not reached.
        """


@dataclass(frozen=True, slots=True)
class Step:
    """An edge on the way: where it was reached from. `ends` are the ids of its two entities."""

    edge_id: str
    source_id: str
    confidence: float
    ends: tuple[str, str]
    hop: int
    seed: str
    score: float


@dataclass(slots=True)
class Walk:
    """The steps of an expansion, gathered by adapters whose engine takes several statements for it."""

    steps: list[Step] = field(default_factory=list)

    def frontier(self, size: int) -> list[tuple[str, Step]]:
        """Return the `size` best entities reached, each with the step that reached it best, best first, ties by id."""
        best: dict[str, Step] = {}
        for step in sorted(self.steps, key=_strength):
            for entity in sorted(step.ends):
                best.setdefault(entity, step)
        return list(best.items())[:size]

    def source_ids(self, seeds: Iterable[Seed]) -> list[str]:
        """Return the queries that something was reached in, those of the seeds first."""
        own = [seed.id if seed.kind == "query" else seed.source_id for seed in seeds if seed.kind != "concept"]
        return list(dict.fromkeys([*own, *(step.source_id for step in self.steps)]))

    def expansion(self, subgraphs: Sequence[Subgraph], seeds: Sequence[Seed]) -> Expansion:
        """Return what was reached of whole subgraphs."""
        ways: dict[str, list[tuple[int, str]]] = {}
        for step in self.steps:
            ways.setdefault(step.edge_id, []).append((step.hop, step.seed))
        return assemble_expansion(subgraphs, ways, seeds)


def assemble_expansion(
    subgraphs: Iterable[Subgraph], ways: Mapping[str, Sequence[tuple[int, str]]], seeds: Sequence[Seed]
) -> Expansion:
    """Return the expansion of these subgraphs, which hold at least what was reached; `ways` are (hop, seed) by edge id."""
    whole = {seed.id for seed in seeds if seed.kind == "query"}
    told = {seed.id for seed in seeds if seed.kind == "evidence"}
    parts: list[Subgraph] = []
    reached: dict[Reached, None] = {}
    for graph in subgraphs:
        found: list[Reached] = []
        if graph.source_id in whole:
            found += [Reached("evidence", item.id, 0, graph.source_id) for item in graph.kept_evidence]
            if graph.graph == "multigraph":
                found += [
                    Reached("edge", edge.id, 0, graph.source_id) for edge in graph.usable_edges if _is_proven(edge, graph)
                ]
        found += [Reached("evidence", item.id, 0, item.id) for item in graph.kept_evidence if item.id in told]
        kept = {item.id for item in graph.kept_evidence}
        for edge in graph.edges:
            if edge.id in ways and graph.graph == "simple" and _is_proven(edge, graph):
                found += [Reached("edge", edge.id, hop, seed) for hop, seed in ways[edge.id]]
                found += [
                    Reached("evidence", id_, hop, seed)
                    for hop, seed in ways[edge.id]
                    for id_ in edge.evidence_ids
                    if id_ in kept
                ]
        if found:
            adjacent = {item.id for items in adjacent_passages(graph, told).values() for item in items}
            parts.append(_part(graph, adjacent | {item.ref for item in found}))
            reached |= dict.fromkeys(found)
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
