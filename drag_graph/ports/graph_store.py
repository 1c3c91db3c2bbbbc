"""The port of the graph store, and the values that its methods take and return.

Every store passes the contract suite (`drag_graph.testing.stores`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, Self

from drag_graph.model import Aggregation, Answer, Subgraph
from drag_graph.ports.community_store import CommunityStore
from drag_graph.ports.concept_store import ConceptStore
from drag_graph.ports.correction_store import CorrectionStore
from drag_graph.ports.graph_search import GraphSearch
from drag_graph.ports.site_registry import SiteRegistry
from drag_graph.ports.vectors import Vector

SaveOutcome = Literal["created", "replaced", "added", "unchanged", "gone"]
Replace = bool | Literal["never", "always", "add"]
"""What `GraphStore.save` may do with a source that is already stored."""
Staleness = Literal["expired", "failed", "corrected"]


@dataclass(frozen=True, slots=True)
class Migration:
    """A numbered schema change: its name, the SHA-256 of its text, and when it was applied ("" if it was not)."""

    version: int
    name: str
    checksum: str
    applied_at: str = ""


@dataclass(frozen=True, slots=True)
class StoredSource:
    """A stored source without its subgraph, as `GraphStore.sources` returns it; `uri` and all after it are a document's.

    `date` is the day on which a query was distilled, or the date of a document, '' if it has none.
    """

    id: str
    is_document: bool
    settings_hash: str
    created_at: str
    expires_at: str
    title: str
    date: str
    uri: str = ""
    sha256: str = ""
    input_id: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceFilter:
    """Conditions for `GraphStore.sources`, all of which must hold.

    `ids` cannot be combined with other conditions. `prefix` is the beginning of an id. `input_id` is the id that the input
    gave a query. `expired_before` (UTC, ISO 8601) selects queries whose time to live ended before it. `has_failed` selects
    queries to which a student gave a wrong answer from this subgraph (docs/decisions/0002-ids-and-editions.md).
    """

    ids: Sequence[str] | None = None
    prefix: str = ""
    input_id: str = ""
    expired_before: str = ""
    has_failed: bool = False


ALL_SOURCES = SourceFilter()


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem that `db verify` reports: the name of the check, the id of the thing, and a message."""

    check: str
    id: str
    message: str


@dataclass(frozen=True, slots=True)
class Reduction:
    """A stored subgraph `before` as `read` returned it, and `after`, which replaces it; its aggregation derives the edges."""

    before: Subgraph
    after: Subgraph


@dataclass(frozen=True, slots=True)
class Erased:
    """Numbers of erased things by label and relationship type, and the ids of erased answers.

    `stale` are the ids of sources that were not reduced, because their subgraphs have changed since they were read.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    answer_ids: frozenset[str] = frozenset()
    stale: frozenset[str] = frozenset()

    @classmethod
    def sum_of(cls, parts: "Iterable[Erased]") -> "Erased":
        """Return several results as one."""
        counts: dict[str, int] = {}
        answers, stale = frozenset[str](), frozenset[str]()
        for part in parts:
            counts = {name: counts.get(name, 0) + part.counts.get(name, 0) for name in {**counts, **part.counts}}
            answers, stale = answers | part.answer_ids, stale | part.stale
        return cls(counts, answers, stale)


@dataclass(frozen=True, slots=True)
class LinkedEdge:
    """A simple edge between things. A thing is a cluster of concepts, a concept without a cluster, or an unlinked entity.

    `source` and `target` are ids of things; names and ids of entities are those of the edge's own ends.
    """

    id: str
    source_id: str
    source: str
    source_name: str
    target: str
    target_name: str
    statement: str
    predicates: tuple[str, ...]
    confidence: float
    support: int
    contradicts: tuple[str, ...] = ()
    source_entity: str = ""
    target_entity: str = ""


@dataclass(frozen=True, slots=True)
class QueryRows:
    """Rows of a statement as JSON values; `truncated` if there are more.

    Nodes, relationships and paths are objects with a `type`. Times, decimals and numbers that JSON lacks are texts, and bytes
    are base64.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the `query --json` document."""
        return {"columns": list(self.columns), "rows": [list(row) for row in self.rows], "truncated": self.truncated}


class GraphStore(Protocol):
    """The graph of one namespace, in Neo4j or embedded. A context manager; methods are thread-safe.

    Every method raises StoreUnavailable, StoreLocked or StoreUnfit (`drag_graph.errors`) if the store cannot serve the request.
    Nothing is then half-written.
    """

    @property
    def location(self) -> str:
        """The address of the store, without a password."""

    @property
    def namespace(self) -> str:
        """The namespace that all methods are confined to."""

    @property
    def concepts(self) -> ConceptStore:
        """The concepts that connect the sources of the namespace."""

    @property
    def communities(self) -> CommunityStore:
        """The communities of the whole graph, and their summaries."""

    @property
    def corrections(self) -> CorrectionStore:
        """People's verdicts on claims and answers."""

    @property
    def search(self) -> GraphSearch:
        """Search through all subgraphs of the namespace."""

    def prepare_search(self) -> None:
        """Bring what search derives from the store up to date, so that the next search need not. Cheap if nothing changed."""

    @property
    def registry(self) -> SiteRegistry:
        """The sites of a cloud, and their summaries."""

    def __enter__(self) -> Self:
        """Open the store."""

    def __exit__(self, *exc: object) -> None:
        """Close the store."""

    def close(self) -> None:
        """Release the store; further calls do nothing."""

    def query(self, statement: str, *, limit: int, seconds: float) -> QueryRows:
        """Return up to `limit` rows of a Cypher statement on the whole store, all its namespaces.

        Raises ConfigurationError for a statement that is invalid or not read-only, or takes longer than `seconds`.
        """

    def migrations(self) -> list[Migration]:
        """Return all migrations that this version knows, in order, with `applied_at` if they are applied.

        Raises StoreUnfit if the store has an unknown migration, or one with another checksum.
        """

    def migrate(self) -> list[Migration]:
        """Apply pending migrations in order, and return them."""

    def embedder(self, claimed: tuple[str, int] | None = None) -> tuple[str, int] | None:
        """Return name and dimension of the embedder that filled this namespace, or None.

        `claimed` is recorded as that embedder; StoreUnfit is raised if another one filled the namespace. Claiming writes even
        if nothing changes, so that a read-only store is detected before a model is called; a store opened for reading only
        compares. While the namespace has no sources and no summaries, another embedder may claim it; the next `save` of the
        first one then raises.
        """

    def save(
        self,
        subgraphs: Sequence[Subgraph],
        aggregation: Aggregation,
        *,
        replace: Replace = False,
        vectors: Mapping[str, Vector] | None = None,
    ) -> list[SaveOutcome]:
        """Write whole subgraphs and aggregate them, all in one transaction.

        A source that is stored under the same settings hash stays as it is (`unchanged`). Under another hash its subgraph is
        replaced (`replaced`), and its answers stay. `Subgraph.edges` and `Subgraph.graph` are ignored, as the aggregation
        derives them. Raises SubgraphRefused for a triple without evidence or call.

        `replace` can be:
        - True: the subgraphs are new editions of stored ones. Each is replaced whatever its hash. If the source is not stored
          any more, nothing is written (`gone`), so that what was erased does not come back.
        - "add": a second teacher's evidence and triples are added. What both have is stored once, with the calls of both
          (`added`, or `unchanged` if nothing is new).
        - "never": stored sources stay, whatever their hash (`unchanged`).
        - "always": stored sources are replaced, whatever their hash.

        `vectors` are vectors of evidence by id. Evidence without a vector gets one from `link`.
        """

    def aggregate(self, source_ids: Sequence[str], aggregation: Aggregation) -> None:
        """Derive the simple edges of stored sources again, in one transaction. Triples do not change."""

    def read(self, source_ids: Sequence[str]) -> list[Subgraph]:
        """Return the stored subgraphs in the given order, in one round trip; unknown ids are left out."""

    def sources(self, wanted: SourceFilter = ALL_SOURCES, *, after: str = "", limit: int = 1000) -> list[StoredSource]:
        """Return up to `limit` matching sources by id, beginning after the id `after` (see `iter_sources`)."""

    def creation_times(self) -> dict[str, str]:
        """Return `created_at` of all sources by id. Much faster than `sources`."""

    def counts(self) -> dict[str, int]:
        """Return the number of nodes and relationships by label and type, with all keys of docs/reference/graph.md."""

    def save_answers(self, answers: Sequence[Answer]) -> frozenset[str]:
        """Write answers with their links in one transaction; an answer that is already stored stays as it is.

        An answer is not written if its source, or anything that it was shown, is not stored any more
        (`drag_graph.graph.proof.proof_of`), so that what was erased does not come back. Returns the ids of these answers.
        """

    def answers(self, source_id: str = "", *, prefix: str = "", limit: int = 100, whole: bool = False) -> list[Answer]:
        """Return answers (to one source), newest first; without their snapshots, unless `whole`.

        With a `prefix`, returns the answers whose id begins with it, by id and whole.
        """

    def erase(self, ids: Sequence[str], reductions: Sequence[Reduction] = ()) -> Erased:
        """Erase what has these ids, and parts of other sources, in one transaction. Unknown ids are left out.

        A source goes with its subgraph, all answers that rest on it, and concepts (with their judgements) that no entity refers
        to any more. A site goes with its summaries. Their corrections are erased as well.

        A reduction replaces `before` by `after`, unless something else is stored by now. What is left keeps its vectors and
        concepts. Of reductions only concepts, and communities that lose their summaries, are counted.
        """

    def linked_edges(self, community_id: str = "") -> Iterator[LinkedEdge]:
        """Yield the simple edges between things, or those among the entities of one community by id; streams.

        Damaged edges, which lack a property, are left out.
        """

    def verify(self) -> list[Problem]:
        """Return the problems that only the database can find; `manage.verification` checks subgraphs by reading them.

        Unproven triples, orphans, answers without their source, wrong sizes and counts, lost vectors, duplicates.
        """

    def records(self, *, vectors: bool = True) -> Iterator[dict[str, Any]]:
        """Yield every node and edge of the namespace as a JSON-compatible record, in any order; streams.

        Nodes: {"kind": "node", "label", "id", "properties"}. Edges: {"kind": "edge", "type", "id", "source", "target",
        "properties"}. Without `vectors`, a store may leave vectors out.
        """
