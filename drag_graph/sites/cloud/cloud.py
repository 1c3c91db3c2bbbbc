"""The state of a cloud: its store, the open work, and when each site was last seen."""

import hmac
import secrets
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from drag_graph.identity import sha256_of
from drag_graph.ports.graph_store import GraphStore
from drag_graph.ports.model_roles import Embedder
from drag_graph.ports.site_registry import RegisteredSite, SharedSummary, SiteChanges, site_id
from drag_graph.sites import wire
from drag_graph.sites.cloud.cloud_asker import CloudAsker
from drag_graph.sites.cloud.site_management import StoredSites
from drag_graph.sites.cloud.work_board import WorkBoard

TOUCHED_EVERY = 30.0
"""Seconds between two updates of when a site was last seen."""


class Cloud:
    """A cloud. Thread-safe, except for its board, which belongs to the event loop of the service."""

    def __init__(self, store: GraphStore, embedder: Embedder, asker: CloudAsker, board: WorkBoard) -> None:
        self.store = store
        self.embedder = embedder
        self.asker = asker
        self.board = board
        self.stored = StoredSites(store)
        self._touched: dict[str, float] = {}
        self._stranger = secrets.token_hex(32)
        """Used for proofs to unknown names, so that nobody can find out which names are known."""

    def site(self, name: str) -> RegisteredSite | None:
        """Return the site with this name."""
        return next(iter(self.store.registry.sites([site_id(self.store.namespace, name)])), None)

    def token_hash_of(self, name: str) -> str:
        """Return the hash of a site's token; for an unknown name a secret of this process."""
        site = self.site(name)
        return site.token_sha256 if site else self._stranger

    def authenticated(self, name: str, token: str) -> RegisteredSite | None:
        """Return the site with this name, if the token is its own."""
        site = self.site(name)
        if site is None or not hmac.compare_digest(site.token_sha256, sha256_of(token)):
            return None
        if time.monotonic() - self._touched.get(site.id, -TOUCHED_EVERY) >= TOUCHED_EVERY:
            self.touch(site)
        return site

    def touch(self, site: RegisteredSite, *, refused: int = 0) -> None:
        """Record that a site was seen, and how many more of its replies were refused."""
        self._touched[site.id] = time.monotonic()
        self.store.registry.write(
            SiteChanges(site.id, seen_at=datetime.now(UTC).isoformat(timespec="seconds"), refused=refused)
        )

    def upload(self, site: RegisteredSite, summaries: Sequence[wire.SummaryText]) -> bool:
        """Store summaries. The cloud computes vectors and hashes, because a site's own could attract every question."""
        vectors = self.embedder.embed([item.text for item in summaries])
        shared = [
            SharedSummary(item.key, sha256_of(item.text), item.text, tuple(float(number) for number in vector))
            for item, vector in zip(summaries, vectors, strict=True)
        ]
        return self.store.registry.write(SiteChanges(site.id, summaries=shared))

    def sync(self, site: RegisteredSite, hashes: Mapping[str, str]) -> tuple[list[str], int]:
        """Erase the summaries of a site whose keys are not in `hashes`.

        Return the sorted keys whose summaries are missing or have another hash, and the number of erased summaries.
        """
        stored = self.store.registry.hashes(site.id)
        dropped = stored.keys() - hashes.keys()
        if dropped:
            self.store.registry.write(SiteChanges(site.id, dropped=dropped))
        return sorted(key for key, hash_ in hashes.items() if stored.get(key) != hash_), len(dropped)

    def listing(self) -> list[dict[str, Any]]:
        """Return the sites, as `cloud edges` lists them."""
        return [{**site, "online": self.board.is_online(site["id"])} for site in self.stored.sites()]
