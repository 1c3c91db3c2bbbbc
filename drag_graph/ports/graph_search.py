"""The port for searching all subgraphs of a namespace (docs/design.md, section 5; docs/adr/0017).

Two steps, each a single statement if the engine allows. `candidates` ranks stored queries, evidence and concepts by the
question. `expand` walks from the selected ones, the seeds, to context lines with everything that their audit needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from drag_graph.model import LineKind, Subgraph

SeedKind = Literal["query", "evidence", "concept"]


@dataclass(frozen=True, slots=True)
class Hit:
    """A stored thing that is similar to a question. `score` is a cosine in [-1, 1], or 1 for a concept in the question.

    `text` is the text of a query or evidence, or the name of a concept. Evidence has its `source_id`. A concept has its
    `cluster` and its number of `entities`.
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
    """Limits that keep an expansion small in a large store (docs/adr/0017); all are at least 1.

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


class GraphSearch(Protocol):
    """Searching one namespace. Thread-safe; raises as the methods of `drag_graph.ports.graph_store.GraphStore` do."""

    def candidates(self, vector: Sequence[float], keys: Sequence[str], k: int, *, source_id: str = "") -> Candidates:
        """Return up to `k` queries, evidence and concepts by their cosine to `vector`, and the concepts named by `keys`.

        `keys` are normal names (`drag_graph.ask.retrieval.question_keys`). A vector of zeros, or of another length than the
        stored ones, is near to nothing. `own` says whether the query `source_id` is stored. Evidence that was dropped is none.
        """

    def expand(self, seeds: Sequence[Seed], hops: int, limits: Limits = LIMITS) -> Expansion:
        """Return the lines that `seeds` lead to in at most `hops` (1 or 2) hops.

        A query leads to its kept evidence and edges (hop 0); an evidence to itself (0) and the edges read from it (1); a
        cluster to the edges of its entities (1). A second hop goes from the ends of the best of these to their other edges, in
        the same query and through their clusters in others. What is behind an edge is reached with it. The passages that are
        adjacent to an evidence come along, but are not reached.
        """
