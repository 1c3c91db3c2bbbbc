"""What a cloud knows of its edges: who they are, and summaries of what they know, by vector (docs/edges.md)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from drag_graph.identity import content_id


@dataclass(frozen=True, slots=True)
class RegisteredEdge:
    """An edge, known by the hash of its token. Times are UTC, ISO 8601, '' for never.

    `refused` is how many of its replies were not usable, `summaries` how many it has here.
    """

    id: str
    name: str
    token_sha256: str
    created_at: str
    seen_at: str = ""
    refused: int = 0
    summaries: int = 0


@dataclass(frozen=True, slots=True)
class SharedSummary:
    """A summary that an edge sent up. `key` is the edge's own id of it, `embedding` the cloud's unit vector of its text."""

    key: str
    hash: str
    text: str
    embedding: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SummaryHit:
    """A summary that is near to a question. `score` is the cosine."""

    edge_id: str
    edge: str
    key: str
    text: str
    score: float


class EdgeRegistry(Protocol):
    """The edges of a namespace and their summaries. Methods are thread-safe, each is one transaction; they raise StoreError."""

    def edges(self, edge_ids: Collection[str] | None = None) -> list[RegisteredEdge]:
        """Return the edges of these ids, or all, by name."""

    def register(self, edge: RegisteredEdge) -> bool:
        """Write a new edge; False where one of its id is there."""

    def touch(self, edge_id: str, seen_at: str, *, refused: int = 0) -> None:
        """Note that an edge was heard of, and how many more of its replies were not usable."""

    def withdraw(self, edge_id: str) -> bool:
        """Erase an edge and its summaries; False where there is none."""

    def sync(self, edge_id: str, hashes: Mapping[str, str]) -> tuple[list[str], int]:
        """Erase the summaries of an edge whose keys are not in `hashes`.

        Return the keys whose summaries are missing or have another hash, sorted, and how many were erased.
        """

    def upload(self, edge_id: str, summaries: Sequence[SharedSummary]) -> bool:
        """Write summaries of an edge, in the place of those of the same keys; False where the edge is not registered."""

    def nearest(self, vector: Sequence[float], k: int, *, without: str = "") -> list[SummaryHit]:
        """Return up to `k` summaries of all edges but the one of the id `without`, the nearest first, ties by id."""


def edge_id(namespace: str, name: str) -> str:
    """Return the id of the edge of that name."""
    return content_id(namespace, "edge", name)


def summary_id(namespace: str, edge: str, key: str) -> str:
    """Return the id of an edge's summary, of the edge's id and its own key."""
    return content_id(namespace, "summary", edge, key)
