"""`graph.service`: the keys of the HTTP service."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from drag_graph.app.resources import ResourceUser
from drag_graph.errors import NotStored
from drag_graph.service.keys import KeyRing, KeyRole, ServiceKey


@dataclass(frozen=True, slots=True)
class AddedKey:
    """A new key and its secret, which is stored nowhere else."""

    key: ServiceKey
    secret: str

    def to_dict(self) -> dict[str, Any]:
        """Return the `keys add --json` document."""
        return {**self.key.to_dict(), "key": self.secret}


@dataclass(frozen=True, slots=True)
class KeyList:
    """The keys of a store, by name, including expired and revoked ones."""

    keys: tuple[ServiceKey, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the `keys list --json` document."""
        return {"keys": [key.to_dict() for key in self.keys]}


class ServiceGroup(ResourceUser):
    """Manage who may call the service of this store."""

    def add_key(
        self,
        name: str,
        role: KeyRole = "reader",
        *,
        namespaces: Sequence[str] = (),
        expires: str = "",
        budget_usd: float | None = None,
    ) -> AddedKey:
        """Add a key for these namespaces, or for the namespace of the settings. A running service accepts it at once.

        `expires` is a time from now, such as "90d" or "12h". `budget_usd` limits what the jobs of this key spend.

        Raises ConfigurationError for an unusable value, and for a name that is or was in use.
        """
        with self._ring() as ring:
            chosen = namespaces or (self._resources.settings.namespace,)
            secret, key = ring.add(name, role, chosen, expires=expires, budget_usd=budget_usd)
            return AddedKey(key, secret)

    def keys(self) -> KeyList:
        """Return all keys, with the spending of their jobs."""
        if not self._resources.settings.service_records_path.exists():
            return KeyList(())
        with self._ring() as ring:
            return KeyList(tuple(ring.keys()))

    def revoke(self, name: str) -> ServiceKey:
        """Revoke a key for good, also in a running service. Raises NotStored if there is none."""
        if not self._resources.settings.service_records_path.exists():
            raise NotStored(f"There is no key {name!r}.", hint="Add one: drag-graph keys add")
        with self._ring() as ring:
            return ring.revoke(name)

    @contextmanager
    def _ring(self) -> Iterator[KeyRing]:
        with self._resources.in_use(), closing(KeyRing(self._resources.settings.service_records_path)) as ring:
            yield ring
