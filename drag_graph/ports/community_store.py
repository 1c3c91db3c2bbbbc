"""Communities of the whole graph, and the port that stores implement (docs/decisions/0010-communities.md).

`drag_graph.jobs.community_job` runs `drag-graph communities`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Community:
    """A part of the graph with more edges inside than to the outside, and its summary.

    `member_hash` is the hash of its entities and of the edges among them. It is empty once one of its sources has been replaced
    or erased; `name`, `summary` and vector are then empty as well, because they rested on that source. `summariser` wrote the
    summary. `things`, `edges` and `sources` were counted by the last run. `entities` are the ids of the members (if all
    communities are read), and `vector` is that of the summary (if it is written).
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
    """Changes that one transaction writes, in this order. Writing them twice is the same as writing them once."""

    communities: Sequence[Community] = ()
    """Created if missing. A community whose `member_hash` changes loses name, summary and vector."""
    left: Sequence[str] = ()
    """Ids of entities that leave their community."""
    joined: Sequence[tuple[str, str]] = ()
    """(entity id, community id): a stored entity without a community joins this one."""
    gone: Sequence[str] = ()
    """Ids of communities that are removed if they have no member."""
    summarised: Sequence[Community] = ()
    """Their name, summary, summariser and vector are written, unless `member_hash` has changed since they were read."""


@dataclass(frozen=True, slots=True)
class CommunityHit:
    """A community whose summary is similar to a question; `score` is the cosine in [-1, 1]."""

    id: str
    score: float
    name: str
    summary: str


class CommunityStore(Protocol):
    """The communities of one namespace: `GraphStore.communities`. Raises StoreError as GraphStore does.

    Replacing and erasing sources alongside a run is safe. The same transaction empties `member_hash` and summary of each
    community with an entity of these sources, and removes communities that have no member left.
    """

    def read(self, community_ids: Sequence[str] | None = None) -> Iterator[Community]:
        """Yield all communities by id with their entities, or those of these ids without; never with vectors. Streams."""

    def write(self, changes: CommunityChanges) -> int:
        """Write changes in one transaction. Return how many of `summarised` were written."""

    def nearest(self, vector: Sequence[float], k: int) -> list[CommunityHit]:
        """Return up to `k` communities by the cosine of their summaries to `vector`, best first, then by id.

        A zero vector, or one of another length than the stored ones, matches nothing.
        """
