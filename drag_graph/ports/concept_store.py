"""Concepts, which connect sources, and the port that stores implement (docs/decisions/0008-linking.md).

`drag_graph.jobs.link_job` runs `drag-graph link`.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from drag_graph.ports.vectors import Vector, Vectors

Method = Literal["alias", "name", "embedding", "person"]
METHODS: tuple[Method, ...] = ("name", "alias", "embedding")
"""Methods of `link` by precedence: if several merge a pair, the first one is recorded."""


@dataclass(frozen=True, slots=True)
class Concept:
    """A normalised name, and the number of entities that have it.

    `key` is the normalised name (`drag_graph.graph.name_forms.concept_key`), `name` its most frequent spelling. `cluster` is
    the id of the concept that represents all concepts of the same thing, which may be itself; it is empty until `link` has
    judged the concept. `revision` grows whenever an entity, or a concept that it was judged with, is added or removed.

    `variants` are the other names of its entities (if all concepts are read). `names` counts the spellings, and `vector` is
    that of the name (both if concepts are read by id).
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
    """The judgement that two concepts are the same thing. `left` is the smaller id; each pair has at most one judgement.

    `score` lies in [0, 1]: 1 for `name` and for `person`, whose judgements `link` leaves alone; for `alias` the fraction of
    entities with that other name that are called so; for `embedding` the cosine of the names. `undone_at` (UTC, ISO 8601) is
    empty while the judgement stands.
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

    def to_dict(self) -> dict[str, Any]:
        """Return its entry of the document that `link --show --json` prints."""
        return {
            "id": self.id,
            "left": {"id": self.left, "name": self.left_name},
            "right": {"id": self.right, "name": self.right_name},
            "method": self.method,
            "score": self.score,
            "created_at": self.created_at,
            "undone_at": self.undone_at or None,
        }


@dataclass(frozen=True, slots=True)
class UnlinkedSource:
    """A source that is not linked yet: its entities without a concept and its kept evidence without a vector (ids, texts)."""

    id: str
    entities: tuple[tuple[str, str], ...] = ()
    evidence: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Waiting:
    """The work of a linker: sources, and whether any concept has no cluster yet."""

    sources: tuple[UnlinkedSource, ...] = ()
    has_concepts: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes that one transaction of a linker writes, in this order. The caller keeps them small.

    Writing them twice is the same as writing them once. Ids that are not stored (any more) are left out.
    """

    evidence: Mapping[str, Vector] = field(default_factory=dict)
    """Vectors of evidence, by id."""
    concepts: Sequence[Concept] = ()
    """Created if missing."""
    links: Sequence[tuple[str, str]] = ()
    """(entity id, concept id): an entity without a concept refers to this one."""
    recounted: Sequence[str] = ()
    """Ids of concepts. Like `concepts`, they are counted again and lose their cluster, or are removed if no entity refers to
    them."""
    named: Sequence[Concept] = ()
    """Concepts with the name and vector to write, unless their revision has changed."""
    withdrawn: Sequence[SameAs] = ()
    made: Sequence[SameAs] = ()
    """Judgements to write; stored ones are replaced."""
    clusters: Sequence[tuple[Concept, str]] = ()
    """Concepts as they were read, each with the cluster to write, unless the revision has changed."""
    sources: Sequence[str] = ()
    """Ids of the sources of `links`, which nobody can replace or erase during the transaction.

    They count as linked afterwards, unless they have an entity without a concept or kept evidence without a vector.
    """


@dataclass(frozen=True, slots=True)
class Written:
    """Numbers of entities that now refer to a concept, and of concepts that were created."""

    entities: int = 0
    concepts: int = 0


class ConceptStore(Protocol):
    """The concepts of one namespace: `GraphStore.concepts`. Raises StoreError as a GraphStore does.

    Saving, replacing and erasing sources alongside a linker is safe. If an entity leaves a concept, the same transaction
    changes the concept's revision and removes its cluster. Replacing may leave concepts without entities, which the next run
    removes.
    """

    def exclusive(self) -> AbstractContextManager[None]:
        """Exclude all other linkers of the namespace while the block runs.

        Raises StoreLocked if another linker is running. After a long silence another one may take over; every `write` then
        raises StoreLocked.
        """

    def waiting(self, limit: int) -> Waiting:
        """Return up to `limit` sources that are new or changed since they were linked, and whether concepts lack a cluster."""

    def write(self, changes: Changes) -> Written:
        """Write changes, all in one transaction."""

    def read(self, concept_ids: Sequence[str] | None = None) -> list[Concept]:
        """Return the stored concepts of these ids, by id, with their spellings and vectors.

        Without ids, returns all concepts of the namespace, with the other names of their entities instead.
        """

    def nearest_concepts(self, vectors: Vectors, k: int, *, floor: float = -1.0) -> Iterator[list[tuple[str, float]]]:
        """For each vector, yield up to `k` (concept id, cosine) pairs of at least `floor`, nearest first."""

    def same_as(
        self, concept_ids: Sequence[str] | None = None, *, text: str = "", prefix: str = "", limit: int = 100
    ) -> list[SameAs]:
        """Return every judgement on any of these concepts, standing or undone, by id.

        Without ids, returns up to `limit` judgements by name: those whose id begins with `prefix`, and with `text` in the name
        of a concept (ignoring case).
        """
