"""The port of the graph store, and what its methods take and return.

Every store passes the contract suite (`drag_graph.testing.stores`).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from drag_graph.model import Aggregation, Answer, Subgraph
from drag_graph.ports.graph_search import GraphSearch
from drag_graph.ports.linked_edges import LinkedEdge
from drag_graph.ports.vectors import Vector

if TYPE_CHECKING:
    from drag_graph.ports.community_store import CommunityStore
    from drag_graph.ports.concept_store import ConceptStore
    from drag_graph.ports.site_registry import EdgeRegistry

SaveOutcome = Literal["created", "replaced", "added", "unchanged", "gone"]
Replace = bool | Literal["never", "always", "add"]
"""What `GraphStore.save` may do with a query that is stored: see there."""
Staleness = Literal["expired", "failed"]


@dataclass(frozen=True, slots=True)
class Migration:
    """A numbered schema change: its version, name, the SHA-256 of its text, and when it was applied ('' if it was not)."""

    version: int
    name: str
    checksum: str
    applied_at: str = ""


@dataclass(frozen=True, slots=True)
class StoredSource:
    """A stored source, as `GraphStore.sources` gives it: when its subgraph was made, how, and when it expires."""

    id: str
    is_document: bool
    settings_hash: str
    created_at: str
    expires_at: str


@dataclass(frozen=True, slots=True)
class SourceFilter:
    """Which sources `GraphStore.sources` finds: those that all that is given holds of.

    Only those of `ids`, which goes with nothing else; those whose id begins with `prefix`; queries whose line of the input had
    exactly `input_id`; those whose time to live ended before the time `expired_before` (UTC, ISO 8601); those to which a
    student that was shown the subgraph gave a wrong answer since it was made (`has_failed`, docs/adr/0010).
    """

    ids: Sequence[str] | None = None
    prefix: str = ""
    input_id: str = ""
    expired_before: str = ""
    has_failed: bool = False


ALL_SOURCES = SourceFilter()


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that `db verify` found: the check's name, the id of the thing, and a sentence."""

    check: str
    id: str
    message: str


@dataclass(frozen=True, slots=True)
class Erased:
    """How many of each label and relationship type went, but for the answers, which are named."""

    counts: Mapping[str, int] = field(default_factory=dict)
    answer_ids: frozenset[str] = frozenset()


class GraphStore(Protocol):
    """The graph of one namespace, in Neo4j or embedded. A context manager; methods are thread-safe.

    Every method raises StoreUnavailable, StoreLocked or StoreUnfit (`drag_graph.errors`) where the store cannot serve, and
    then nothing was half-written.
    """

    @property
    def location(self) -> str:
        """Where the store is, for people (never with a password)."""

    @property
    def namespace(self) -> str:
        """The namespace that every method is confined to."""

    @property
    def concepts(self) -> "ConceptStore":
        """What joins the queries of the namespace."""

    @property
    def communities(self) -> "CommunityStore":
        """The parts of the whole graph, and what they are about."""

    @property
    def search(self) -> GraphSearch:
        """Searching all subgraphs of the namespace together."""

    @property
    def registry(self) -> "EdgeRegistry":
        """The edges of a cloud, and their summaries."""

    def __enter__(self) -> Self:
        """Open the store."""

    def __exit__(self, *exc: object) -> None:
        """Close it."""

    def close(self) -> None:
        """Release the store; a second call does nothing."""

    def migrations(self) -> list[Migration]:
        """Return all migrations that the code knows, in order, with `applied_at` where they were applied.

        Raises StoreUnfit when the store has one that the code does not know or one whose checksum differs.
        """

    def migrate(self) -> list[Migration]:
        """Apply what is pending, in order, and return it."""

    def embedder(self, claimed: tuple[str, int] | None = None) -> tuple[str, int] | None:
        """Return the name and dimension of the embedder that filled this namespace, or None when nothing has.

        One that is `claimed` is recorded. Raises StoreUnfit, in words, when another one filled the namespace. It writes even
        where nothing changes, so that a store that may only be read is refused before a model is asked; opened for reading
        only, it compares alone. While no source and no summary of an edge is stored, another may claim the namespace; then it
        is the first `save` of this store that raises.
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

        A query that is there under the same settings hash is left alone (`unchanged`); under another, its subgraph is replaced
        (`replaced`) and its answers stay. `Subgraph.edges` and `Subgraph.graph` of the input are ignored: the aggregation
        makes them. Refuses (StoreError) a triple without evidence or call.

        With `replace` these are new editions of stored subgraphs: each is replaced whatever its settings hash, and one whose
        query is not stored (any more) is not written (`gone`), because what was erased must not come back with it.

        With "add" a second teacher adds to what is stored: evidence and triples that both have are there once, with the calls
        of both (`added`; `unchanged` where nothing is new).

        With "never" only what is not stored is written: a query that is there is left alone (`unchanged`) whatever its hash.
        With "always" all is written: what is there is replaced, whatever its hash.

        `vectors` are those of evidence, by its id, which is found by them from now on; what has none gets it from `link`.
        """

    def aggregate(self, source_ids: Sequence[str], aggregation: Aggregation) -> None:
        """Make the simple edges of stored queries anew, in one transaction. Triples are not touched."""

    def read(self, source_ids: Sequence[str]) -> list[Subgraph]:
        """Return the stored subgraphs in the given order, in one round trip; ids that are not stored are left out."""

    def sources(self, wanted: SourceFilter = ALL_SOURCES, *, after: str = "", limit: int = 1000) -> list[StoredSource]:
        """Return up to `limit` of the wanted sources, by id, from the first id behind `after` on (see `iter_sources`)."""

    def counts(self) -> dict[str, int]:
        """Return how many of each label and relationship type there are: keys as in docs/design.md, section 3, all present."""

    def save_answers(self, answers: Sequence[Answer]) -> frozenset[str]:
        """Write answers with their links in one transaction; an answer that is there already stays as it is.

        What was erased must not come back with an answer. So one to a query that is not stored (any more) is not kept, nor one
        that was shown what is not stored (any more; `drag_graph.ask.audit_snapshot.proof_of`). Return the ids of those.
        """

    def answers(self, source_id: str = "", *, prefix: str = "", limit: int = 100, whole: bool = False) -> list[Answer]:
        """Return answers (to one source), newest first; without their snapshots, unless they are wanted `whole`.

        With a `prefix`, those whose id begins so (so that people can type a short id), by id and whole.
        """

    def erase(self, source_ids: Sequence[str]) -> Erased:
        """Erase sources, their subgraphs, every answer that rests on one, and concepts that no entity refers to any more.

        All in one transaction. What is not stored is left out.
        """

    def reduce(self, before: Subgraph, after: Subgraph, gone: Collection[str]) -> Erased | None:
        """Put `after`, which is less of a stored subgraph, in the place of `before`, in one transaction.

        `before` is as `read` gave it; where something else is stored by now, nothing is written, and None is returned. The
        simple edges are made by `after.aggregation`. Answers to it that name any of the ids `gone` go, and concepts (with their
        judgements) that no entity refers to any more. What stays keeps its vectors and concepts. Only concepts,
        and communities that lose their summaries, are counted.
        """

    def linked_edges(self) -> Iterator[LinkedEdge]:
        """Yield the simple edges of the namespace between things; streams. One that lacks something (damage) is left out."""

    def verify(self) -> list[Problem]:
        """Return what only the database can tell is wrong; subgraphs are checked by reading them (`manage.verification`).

        Unproven triples, orphans, answers without their source, wrong sizes and counts, lost vectors, duplicates.
        """

    def mend(self, check: str, ids: Sequence[str]) -> int:
        """Remove what `verify` names so, as far as it is (still) wrong, in one transaction; return how many.

        `orphan`: entities, evidence and calls. `dangling-answer`: answers. `vector`: those of evidence, concepts and
        summaries that are all zeros; the clusters of such concepts are open then. `community`: those that no entity is in.
        """

    def records(self, *, vectors: bool = True) -> Iterator[dict[str, Any]]:
        """Yield every node and edge of the namespace as a JSON-able record, for `export` (`manage.canonical_export`).

        Nodes: {"kind": "node", "label", "id", "properties"}. Edges: {"kind": "edge", "type", "id", "source", "target",
        "properties"}. Order is not promised. Streams. Without `vectors`, a store may leave vectors out.
        """
