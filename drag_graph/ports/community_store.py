"""Communities of the whole graph, and the port that the stores implement (docs/communities.md, docs/adr/0039-communities.md).

The run of `drag-graph communities` is in `drag_graph.communities`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from drag_graph.ports.linked_edges import LinkedEdge


@dataclass(frozen=True, slots=True)
class Community:
    """A part of the graph with more edges inside than to the outside, and what it is about.

    `member_hash` is the hash of its entities and of what the edges among them say. It is empty where one of its sources was
    replaced or erased since: then `name`, `summary` and the vector are empty, too, as they rested on it. `summariser` says who
    wrote the summary. There are `things`, `edges` among these and `sources` of the edges, as the last run counted them.
    `entities` are its members' ids (where they are read) and `vector` that of the summary.
    """

    id: str
    member_hash: str = ""
    name: str = ""
    summary: str = ""
    summariser: str = ""
    level: int = 0
    things: int = 0
    edges: int = 0
    sources: int = 0
    entities: tuple[str, ...] = field(default=(), compare=False)
    vector: Sequence[float] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class CommunityChanges:
    """What a new partition changes, all written in one transaction, in this order. Writing it twice is writing it once."""

    communities: Sequence[Community] = ()
    """Made where they are not there. One whose `member_hash` was another loses name, summary and vector."""
    left: Sequence[str] = ()
    """Ids of entities that leave the community that they are in."""
    joined: Sequence[tuple[str, str]] = ()
    """(entity id, community id): an entity that is there and in no community joins this one."""
    gone: Sequence[str] = ()
    """Ids of communities that go if they have no member any more."""


@dataclass(frozen=True, slots=True)
class CommunityHit:
    """A community whose summary is near to a question; `score` is the cosine in [-1, 1]."""

    id: str
    score: float
    name: str
    summary: str


class CommunityStore(Protocol):
    """The communities of one namespace: `GraphStore.communities`. Raises StoreError as a GraphStore does.

    Replacing and erasing sources beside a run is safe: in the same transaction each community that has an entity of them loses
    its `member_hash` and all that rested on it, and one that has no member any more goes.
    """

    def read(self) -> Iterator[Community]:
        """Yield all communities with their entities, without their vectors, by id; streams."""

    def write(self, changes: CommunityChanges) -> None:
        """Write a new partition, in one transaction."""

    def contents(self, community_id: str) -> tuple[Community, list[LinkedEdge]] | None:
        """Return a community and the simple edges among its entities, sorted by id; None where it is not there (any more)."""

    def summarise(self, communities: Sequence[Community]) -> int:
        """Write name, summary, summariser and vector of communities, in one transaction; return how many were written.

        One whose `member_hash` is another by now is left out: what its summary was made of may be erased.
        """

    def nearest(self, vector: Sequence[float], k: int) -> list[CommunityHit]:
        """Return up to `k` communities by the cosine of their summaries to `vector`, nearest first, then by id; one statement.

        A vector of zeros, or of another length than the stored ones, is near to nothing.
        """
