"""What joins sources: concepts, and which of them are the same thing (docs/linking.md, docs/adr/0023-linking.md).

The model and the port that the stores implement; the run of `drag-graph link` is in `drag_graph.link`.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from drag_graph.ports.vectors import Vector, Vectors

Method = Literal["alias", "name", "embedding"]
METHODS: tuple[Method, ...] = ("name", "alias", "embedding")
"""The first comes first: a pair that several speak for rests on the first of them."""


@dataclass(frozen=True, slots=True)
class Concept:
    """One normal name, and how many entities are called so.

    `key` is the normal name (`drag_graph.graph.names.concept_key`), `name` the most frequent way to write it. `cluster` is
    the id of the concept that stands for all that are the same thing, its own where there is none other. It is empty while the
    concept waits to be judged; until then it stands for itself. `revision` grows whenever an entity, or a concept that it was
    judged with, comes or goes.

    `variants` are the other names of each entity that has some (where all are read); `names` is how often the entities write
    the name in which way, and `vector` that of the name (both where concepts are read by their ids).
    """

    id: str
    key: str
    name: str
    entities: int = 0
    cluster: str = ""
    revision: int = 0
    variants: tuple[tuple[str, ...], ...] = field(default=(), compare=False)
    names: Mapping[str, int] = field(default_factory=dict, compare=False)
    vector: Sequence[float] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SameAs:
    """The judgement that two concepts are the same thing. `left` is the smaller id; there is at most one a pair.

    `score` lies in [0, 1]: 1 for `name`; for `alias` the share of the entities with that other name which are called so; for
    `embedding` the cosine of the names. `undone_at` is empty while it stands (UTC, ISO 8601). The names are those of the
    concepts, to be shown.
    """

    id: str
    left: str
    right: str
    method: Method
    score: float
    created_at: str = ""
    undone_at: str = ""
    left_name: str = field(default="", compare=False)
    right_name: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class UnlinkedSource:
    """A source that `link` has to come to: its entities without a concept, its kept evidence without a vector (ids, texts)."""

    id: str
    entities: tuple[tuple[str, str], ...] = ()
    evidence: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Waiting:
    """What there is to link: sources, and whether any concept waits to be judged."""

    sources: tuple[UnlinkedSource, ...] = ()
    has_concepts: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """What one transaction of a linker writes, in this order; whoever makes it keeps it small.

    Writing it twice is writing it once, and what is not there (any more) is left out.
    """

    evidence: Mapping[str, Vector] = field(default_factory=dict)
    """Vectors of evidence, by id."""
    concepts: Sequence[Concept] = ()
    """Made where they are not there."""
    links: Sequence[tuple[str, str]] = ()
    """(entity id, concept id): an entity that refers to no concept refers to this one."""
    recounted: Sequence[str] = ()
    """Ids of concepts: as those of `concepts` they are counted, wait to be judged, or are removed where no entity refers to
    them."""
    named: Sequence[Concept] = ()
    """Concepts with the name and the vector to write, unless their revision is another by now."""
    withdrawn: Sequence[SameAs] = ()
    made: Sequence[SameAs] = ()
    """Written whole: one that is there is replaced."""
    clusters: Sequence[tuple[Concept, str]] = ()
    """Concepts as they were read, each with its cluster, which is written unless the revision is another by now."""
    sources: Sequence[str] = ()
    """Ids of those that the links are of: nobody replaces or erases them in the middle of the transaction.

    They are linked, unless they have an entity without a concept or kept evidence without a vector.
    """


@dataclass(frozen=True, slots=True)
class Written:
    """How many entities came to refer to a concept, and how many concepts were made."""

    entities: int = 0
    concepts: int = 0


class ConceptStore(Protocol):
    """The concepts of one namespace: `GraphStore.concepts`. Raises StoreError as a GraphStore does.

    Saving, replacing and erasing sources beside a linker is safe: a concept that an entity leaves gets another revision, and
    waits to be judged, in the same transaction. Replacing may leave concepts without entities for the next run to remove.
    """

    def exclusive(self) -> AbstractContextManager[None]:
        """Keep all other linkers of the namespace out while the block runs.

        Raises StoreLocked if another is at work, and from every `write` after another has taken over from one that was not
        heard of for too long.
        """

    def waiting(self, limit: int) -> Waiting:
        """Return up to `limit` sources that are new or changed since they were linked, and whether concepts wait."""

    def write(self, changes: Changes) -> Written:
        """Write changes, all in one transaction."""

    def read(self, concept_ids: Sequence[str] | None = None) -> list[Concept]:
        """Return those of these concepts that are there, by id, with how they are written and their vectors.

        Without ids, all concepts of the namespace, with the other names of their entities instead.
        """

    def nearest_concepts(self, vectors: Vectors, k: int, *, floor: float = -1.0) -> list[list[tuple[str, float]]]:
        """Return for each vector up to `k` (concept id, cosine) pairs of at least `floor`, nearest first."""

    def same_as(
        self, concept_ids: Sequence[str] | None = None, *, text: str = "", prefix: str = "", limit: int = 100
    ) -> list[SameAs]:
        """Return every judgement, standing or undone, on any of these concepts, once, by id.

        Without ids, up to `limit` judgements whose id begins with `prefix`, on concepts whose name has `text` in it (case does
        not matter), by their names.
        """
