"""`graph.cloud`: this store as a cloud."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drag_graph.app.resource_user import ResourceUser
from drag_graph.errors import ConfigurationError, StoreError

if TYPE_CHECKING:
    from drag_graph.sites.cloud.site_management import ServedSites, StoredSites


@dataclass(frozen=True, slots=True)
class RunningCloud:
    """A cloud that serves: its address, its store, and the student that answers."""

    address: str
    store: str
    student: str

    def to_dict(self) -> dict[str, Any]:
        """Return the `cloud serve --json` document."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class CloudSite:
    """A site of the cloud. `seen_at` is '' if it has never connected; `refused` counts its unusable replies."""

    name: str
    online: bool
    summaries: int
    seen_at: str
    refused: int
    created_at: str


@dataclass(frozen=True, slots=True)
class SiteList:
    """The sites of a cloud, by name."""

    sites: tuple[CloudSite, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the `cloud edges --json` document."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class AddedSite:
    """A new site and its token, which is stored nowhere else."""

    name: str
    token: str

    def to_dict(self) -> dict[str, Any]:
        """Return the `cloud edges add --json` document."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class RemovedSite:
    """A removed site. `store` is a message about its text in the store's file."""

    name: str
    store: str

    def to_dict(self) -> dict[str, Any]:
        """Return the `cloud edges remove --json` document."""
        return {"name": self.name, "removed": True, "store": self.store}


class CloudGroup(ResourceUser):
    """Serve this store as a cloud, and manage its sites."""

    @contextmanager
    def serve(
        self,
        host: str = "127.0.0.1",
        port: int = 8470,
        *,
        certificate: Path | None = None,
        key: Path | None = None,
        **settings: Any,
    ) -> Iterator[RunningCloud]:
        """Serve in the background during a `with` block, which receives the address. Without `with`, nothing is served.

        Port 0 means any free port; `certificate` and `key` are PEM files.

        Raises ConfigurationError if the cloud cannot listen there, or requests would cross a network unencrypted.
        """
        from drag_graph.compose.site_setup import make_cloud, require_service_packages

        require_service_packages()
        from drag_graph.sites.cloud.cloud_server import ServiceAddress, served

        resources = self._resources.changed(settings)
        place = ServiceAddress(host, port, certificate, key, resources.settings.insecure)
        place.check()
        with (
            resources.writing(asks=True) as session,
            served(make_cloud(session), place, resources.settings.operator_path) as address,
        ):
            yield RunningCloud(address, session.store.location, resources.settings.student)

    def sites(self) -> SiteList:
        """Return the sites. They can be online only while a cloud serves this store on this machine."""
        with self._managed(read_only=True) as managed:
            names = CloudSite.__dataclass_fields__
            return SiteList(tuple(CloudSite(**{name: site[name] for name in names}) for site in managed.sites()))

    def add(self, name: str) -> AddedSite:
        """Register a site and return its token. Raises ConfigurationError if the name is taken."""
        with self._managed(name, create=True) as managed:
            return AddedSite(name, managed.add(name))

    def remove(self, name: str) -> RemovedSite:
        """Remove a site with its token and its summaries, also from an embedded store's file.

        Raises ConfigurationError if there is no such site, StoreError if the file cannot be rewritten; the same call then tries
        that again.
        """
        with self._managed(name) as managed:
            try:
                managed.remove(name)
            except ConfigurationError:
                managed.compact()  # an earlier removal may have stopped before this step
                raise
            try:
                return RemovedSite(name, managed.compact())
            except StoreError as error:
                message = f"{name} is removed, but its text is still in the store's file: {error}"
                raise type(error)(message, hint=error.hint) from error

    @contextmanager
    def _managed(
        self, name: str = "", *, read_only: bool = False, create: bool = False
    ) -> "Iterator[ServedSites | StoredSites]":
        """Lend the sites of the cloud that serves this store, or of the store itself if none does, after checking a name."""
        from drag_graph.sites.cloud.site_management import StoredSites, running_cloud
        from drag_graph.sites.wire import check_name

        if name:
            check_name(name)
        if running := running_cloud(self._resources.settings.operator_path):
            yield running
        else:
            with self._resources.store(read_only=read_only, create=create) as store:
                yield StoredSites(store)
