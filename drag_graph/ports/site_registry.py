"""What a cloud stores about its sites: who they are, and summaries of what they know, with vectors (docs/how-to/sites.md)."""

from collections.abc import Collection, Sequence
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


@dataclass(frozen=True, slots=True)
class SiteChanges:
    """Changes to one site that one transaction writes, in this order."""

    site_id: str
    registered: RegisteredSite | None = None
    """Created if missing."""
    seen_at: str = ""
    """When the site was last seen; "" changes nothing."""
    refused: int = 0
    """Number of refused replies to add, if `seen_at` is set."""
    dropped: Collection[str] = ()
    """Keys of summaries to erase."""
    summaries: Sequence[SharedSummary] = ()
    """Summaries to store; those with the same keys are replaced."""


class SiteRegistry(Protocol):
    """The sites of a namespace and their summaries. Methods are thread-safe, run in one transaction and raise StoreError.

    `GraphStore.erase` erases a site with its summaries.
    """

    def sites(self, site_ids: Collection[str] | None = None) -> list[RegisteredSite]:
        """Return all sites, or those with these ids, sorted by name."""

    def hashes(self, site_id: str) -> dict[str, str]:
        """Return the hashes of a site's summaries by key."""

    def write(self, changes: SiteChanges) -> bool:
        """Write changes to a site.

        Return False if the site is not registered, or if another token is registered under its id.
        """

    def nearest(self, vector: Sequence[float], k: int, *, without: str = "") -> list[SummaryHit]:
        """Return up to `k` summaries, nearest first, ties by id. The site with the id `without` is left out."""


def site_id(namespace: str, name: str) -> str:
    """Return the id of the site with this name."""
    return content_id(namespace, "edge", name)  # Sites are stored as nodes with the label `Edge`.


def summary_id(namespace: str, site: str, key: str) -> str:
    """Return the id of a summary from the id of its site and the site's own key."""
    return content_id(namespace, "summary", site, key)
