"""What joins queries: concepts, and which of them are the same thing (design, section 3; docs/adr/0015-across-queries.md).

The model and the port that the stores implement; the run of `drag-graph link` is in `drag_graph.linker`.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from drag_graph.ports import Vectors
from drag_graph.steps.linking import Method

Embedded = Literal["Concept", "Evidence"]
"""What `link` gives vectors to."""


@dataclass(frozen=True, slots=True)
class Concept:
    """One normal name, and how many entities are called so.

    `key` is the normal name (`drag_graph.steps.linking.concept_key`), `name` the most frequent way to write it. `cluster` is
    the id of the concept that stands for all that are the same thing, its own where there is none other. It is empty (open)
    from the moment when something of the concept changes until `link` has come to it: until then it stands for itself.
    """

    id: str
    key: str
    name: str
    entities: int = 0
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class SameAs:
    """The judgement that two concepts are the same thing. `left` is the smaller id; there is at most one a pair.

    `score` lies in [0, 1]: 1 for `name`; for `alias` the share of the entities with that other name which are called so; for
    `embedding` the cosine of the names. `undone_at` is empty while it stands (UTC, ISO 8601).
    """

    id: str
    left: str
    right: str
    method: Method
    score: float
    created_at: str = ""
    undone_at: str = ""


@dataclass(frozen=True, slots=True)
class Merge:
    """A judgement with the names of its two concepts, to be shown."""

    same_as: SameAs
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Naming:
    """Entities (their ids) that are called by one normal name, which is the concept's."""

    concept: Concept
    entity_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Linked:
    """How many entities came to refer to a concept, and how many concepts are new."""

    entities: int = 0
    concepts: int = 0


@dataclass(frozen=True, slots=True)
class Waiting:
    """What `link` has yet to come to: its id and text, and its `place`, behind which the next page begins."""

    id: str
    text: str
    place: str


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A concept of which something changed.

    `names` is how often its entities write its name in which way, `forms` how many other names they have in all.
    """

    concept: Concept
    names: Mapping[str, int] = field(default_factory=dict)
    forms: int = 0


@dataclass(frozen=True, slots=True)
class Settled:
    """A cluster that was worked out, and what from: it is true for as long as that is.

    `concept` is as it was read, `joined` how many standing judgements were on it then. `forms` is how many other names its
    entities had, None where these played no part. All but the cluster of `concept` only ever fall beside the linker, whose
    are the steps that raise them; so what is the same was not touched.
    """

    concept: Concept
    cluster: str
    joined: int
    forms: int | None = None


class ConceptStore(Protocol):
    """The concepts of one namespace: `GraphStore.concepts`. Raises StoreError as a GraphStore does.

    Every write is one transaction. A replaced subgraph can leave concepts that have no entity and no name, only an id: they
    keep the judgements that somebody took back, should `link` find their names again (docs/adr/0015-across-queries.md).
    """

    def exclusive(self) -> AbstractContextManager[None]:
        """Keep all other linkers of the namespace out for as long as the block runs, and at most so long.

        Raises StoreLocked, which says who links and until when, if another does. When a process dies it is let go: at once, or
        where that cannot be seen, a few minutes later. Who was taken for dead gets StoreLocked from the next write.
        """

    def unlinked(self, after: str, limit: int) -> list[Waiting]:
        """Return up to `limit` entities (their names) that refer to no concept yet, behind a place ('': from the first)."""

    def link(self, namings: Sequence[Naming]) -> Linked:
        """Make these concepts where they are not there, let the entities refer to them, and count.

        Their clusters are open then. An entity that is gone or refers to a concept already is left out, and so is a concept
        that would have no entity.
        """

    def tidy(self) -> int:
        """Remove concepts that no entity refers to, correct the counts of the others; return how many were wrong.

        Those that a replaced subgraph left are not wrong, and stay.
        """

    def forget(self) -> None:
        """Remove the concepts that a replaced subgraph left, as far as no entity has come to refer to them again."""

    def unsettled(self, after: str, limit: int) -> list[Unsettled]:
        """Return up to `limit` concepts whose cluster is open, by id, from the first id behind `after` on."""

    def rename(self, names: Mapping[str, str]) -> None:
        """Give concepts (by id) other names; their vectors go with the old ones."""

    def without_vector(self, label: Embedded, after: str, limit: int) -> list[Waiting]:
        """Return concepts or kept evidence that have no vector (a concept's name, a statement's text), behind a place."""

    def save_vectors(self, label: Embedded, ids: Sequence[str], vectors: Vectors) -> None:
        """Write the vector of each id that is (still) there."""

    def all(self) -> Iterator[Concept]:
        """Yield every concept; streams."""

    def other_names(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the id of its concept and the variants of every linked entity that has variants; streams."""

    def read(self, concept_ids: Sequence[str]) -> list[Concept]:
        """Return those of these concepts that are there, by id."""

    def nearest_concepts(self, vectors: Vectors, k: int, *, floor: float = -1.0) -> list[list[tuple[str, float]]]:
        """Return for each vector up to `k` (concept id, cosine) pairs of at least `floor`, nearest first."""

    def vectors(self, concept_ids: Sequence[str]) -> dict[str, tuple[float, ...]]:
        """Return the vectors of those of these concepts that have one."""

    def same_as(self, concept_ids: Sequence[str]) -> list[SameAs]:
        """Return every judgement, standing or undone, on any of these concepts, once, by id."""

    def save_same_as(self, made: Sequence[SameAs], withdrawn: Sequence[SameAs]) -> None:
        """Write judgements (the method and score of one that is there are replaced) and delete others.

        One whose concepts are not both there is left out; one that is undone is neither changed nor deleted. The clusters of
        the two are open after one is deleted.
        """

    def save_clusters(self, settled: Sequence[Settled]) -> None:
        """Set the clusters of those of these concepts that are still as they were read; the others stay as they are."""

    def merges(self, text: str = "", limit: int = 100) -> list[Merge]:
        """Return judgements on concepts whose name has `text` in it (case does not matter), by their names.

        Not those on a concept that has no name now.
        """

    def find_merges(self, prefix: str, limit: int = 10) -> list[Merge]:
        """Return judgements (as `merges` does) whose id begins with `prefix`, by id."""

    def undo(self, same_as_id: str, undone_at: str) -> None:
        """Take a judgement back at that time, or let it stand again (''); the clusters of its concepts are open then."""
