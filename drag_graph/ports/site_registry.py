"""What a cloud stores about its sites: who they are, and summaries of what they know, with vectors (docs/edges.md)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from drag_graph.identity import content_id


@dataclass(frozen=True, slots=True)
class RegisteredSite:
    """A site, identified by the hash of its token. Times are UTC, ISO 8601; '' means never."""

    id: str
    name: str
    token_sha256: str
    created_at: str
    seen_at: str = ""
    refused: int = 0
    """Number of replies that were unusable."""
    summaries: int = 0
    """Number of stored summaries."""


@dataclass(frozen=True, slots=True)
class SharedSummary:
    """A summary that a site uploaded. `key` is the site's own id for it, `embedding` the cloud's unit vector of its text."""

    key: str
    hash: str
    text: str
    embedding: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SummaryHit:
    """A summary that is close to a question. `score` is the cosine."""

    site_id: str
    site: str
    key: str
    text: str
    score: float


class SiteRegistry(Protocol):
    """The sites of a namespace and their summaries. Methods are thread-safe, run in one transaction and raise StoreError."""

    def sites(self, site_ids: Collection[str] | None = None) -> list[RegisteredSite]:
        """Return all sites, or those with these ids, sorted by name."""

    def register(self, site: RegisteredSite) -> bool:
        """Store a new site. Return False if its id exists."""

    def touch(self, site_id: str, seen_at: str, *, refused: int = 0) -> None:
        """Record when a site was last seen, and add to its count of refused replies."""

    def withdraw(self, site_id: str) -> bool:
        """Erase a site and its summaries. Return False if there is none."""

    def sync(self, site_id: str, hashes: Mapping[str, str]) -> tuple[list[str], int]:
        """Erase the summaries of a site whose keys are not in `hashes`.

        Return the sorted keys whose summaries are missing or have another hash, and the number of erased summaries.
        """

    def upload(self, site_id: str, summaries: Sequence[SharedSummary]) -> bool:
        """Store summaries of a site, replacing those with the same keys. Return False if the site is not registered."""

    def nearest(self, vector: Sequence[float], k: int, *, without: str = "") -> list[SummaryHit]:
        """Return up to `k` summaries, nearest first, ties by id. The site with the id `without` is left out."""


def site_id(namespace: str, name: str) -> str:
    """Return the id of the site with this name."""
    return content_id(namespace, "edge", name)  # Sites are stored as nodes with the label `Edge`.


def summary_id(namespace: str, site: str, key: str) -> str:
    """Return the id of a summary from the id of its site and the site's own key."""
    return content_id(namespace, "summary", site, key)
