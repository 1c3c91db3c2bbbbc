"""`graph.cloud`: this store as a cloud."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from drag_graph.app.resources import ResourceUser
from drag_graph.errors import ConfigurationError, DragGraphError, StoreError

if TYPE_CHECKING:
    from drag_graph.settings import Settings
    from drag_graph.sites.cloud.cloud import Cloud
    from drag_graph.sites.cloud.site_management import ServedSites, StoredSites


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
    """Open this store as a cloud, and manage its sites."""

    @contextmanager
    def opened(self) -> "Iterator[Cloud]":
        """Lend this store as a cloud, for `drag_graph.service.server.served`."""
        from drag_graph.compose.site_setup import make_cloud

        with self._resources.writing(asks=True) as session:
            yield make_cloud(session)

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
        from drag_graph.sites.cloud.site_management import StoredSites
        from drag_graph.sites.wire import check_name

        if name:
            check_name(name)
        if running := running_cloud(self._resources.settings):
            yield running
        else:
            with self._resources.store(read_only=read_only, create=create) as store:
                yield StoredSites(store)


def running_cloud(settings: "Settings") -> "ServedSites | None":
    """Return the sites of the cloud that serves the store of these settings on this machine, or None if none is running."""
    from drag_graph.service.discovery import running_service
    from drag_graph.sites.cloud.site_management import ServedSites

    service = running_service(settings.service_path)
    if service is None:
        return None
    served = ServedSites(service.address, service.token, settings.namespace)
    try:
        served.sites()
    except DragGraphError:
        return None  # a service without a cloud, or a cloud in another namespace
    return served
