"""Add, list and remove the sites of a cloud, in its store or through the process that serves it.

Only one process can write to an embedded store. While a cloud serves it, commands go through that cloud's service.
"""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from drag_graph.errors import CloudUnavailable, ConfigurationError, reported_error
from drag_graph.identity import sha256_of
from drag_graph.manage.erasing import compact
from drag_graph.ports.graph_store import GraphStore
from drag_graph.ports.site_registry import RegisteredSite, SiteChanges, site_id
from drag_graph.sites.wire import check_name, new_token

PATIENCE = 30.0
COMPACTION_PATIENCE = 600.0
"""Seconds: a large file is rewritten."""


class StoredSites:
    """The sites in a store that this process has open."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store

    def sites(self) -> list[dict[str, Any]]:
        """Return all sites. None is connected, because no cloud serves the store."""
        return [{**asdict(site), "online": False} for site in self._store.registry.sites()]

    def add(self, name: str) -> str:
        """Register a site and return its token, which is not stored. Raises ConfigurationError if the name is taken."""
        check_name(name)
        token, now = new_token(), datetime.now(UTC).isoformat(timespec="seconds")
        site = RegisteredSite(site_id(self._store.namespace, name), name, sha256_of(token), now)
        if not self._store.registry.write(SiteChanges(site.id, registered=site)):
            hint = f"Choose another name, or remove it with `drag-graph cloud edges remove {name}` to add it with a new token."
            raise ConfigurationError(f"A site named {name!r} already exists.", hint=hint)
        return token

    def remove(self, name: str) -> None:
        """Remove a site and its summaries. Raises ConfigurationError if there is none."""
        check_name(name)
        if not self._store.erase([site_id(self._store.namespace, name)]).counts.get("Edge"):
            raise ConfigurationError(f"There is no site named {name!r}.", hint="List the sites with `drag-graph cloud edges`.")

    def compact(self) -> str:
        """Rewrite an embedded store's file without deleted text; return the outcome as a message."""
        return compact(self._store)


class ServedSites:
    """The sites of a cloud that serves on this machine, through its service. Otherwise as `StoredSites`."""

    def __init__(self, address: str, token: str, namespace: str) -> None:
        self._address = address
        self._headers: Any = {"Authorization": f"Bearer {token}", "X-Namespace": namespace.encode()}

    def sites(self) -> list[dict[str, Any]]:
        """Return all sites, and which of them are connected."""
        return list(self._request("GET"))

    def add(self, name: str) -> str:
        """See StoredSites."""
        return str(self._request("PUT", f"/{name}")["token"])

    def remove(self, name: str) -> None:
        """See StoredSites."""
        self._request("DELETE", f"/{name}")

    def compact(self) -> str:
        """See StoredSites."""
        return str(self._request("POST", "/compact", COMPACTION_PATIENCE)["store"])

    def _request(self, method: str, path: str = "", patience: float = PATIENCE) -> Any:
        import httpx

        try:
            url = f"{self._address}/api/v1/sites{path}"
            reply = httpx.request(method, url, headers=self._headers, timeout=patience, trust_env=False)
            body = reply.json()
        except (httpx.HTTPError, ValueError) as error:
            raise CloudUnavailable(f"The cloud on this machine does not answer: {type(error).__name__}.") from error
        if reply.is_error:
            raise reported_error(body)
        return body
