"""One store, opened once and lent to many threads, with a handle for each namespace."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from drag_graph.compose.store_opening import disk_state, open_store
from drag_graph.ports.graph_store import GraphStore
from drag_graph.settings import Settings


class OpenStores:
    """Lends the handles of one store. Thread-safe.

    A process has an embedded file open either for reading or for writing. Once opened for writing it stays so until `close`,
    because that serves readers as well. Opened for reading it shows the state at that time, so it is opened again when the file
    has changed and nobody reads. The same thread must not borrow twice.
    """

    def __init__(self) -> None:
        self._stores: dict[str, GraphStore] = {}
        self._read_only = True
        self._state: object = None
        self._users = 0
        self._waiting_writers = 0
        self._changed = threading.Condition()

    @contextmanager
    def lend(
        self, settings: Settings, *, read_only: bool, create: bool = False, lock_timeout: float | None = None
    ) -> Iterator[GraphStore]:
        """Lend the store of the settings' namespace. Raises StoreError.

        `lock_timeout` is how many seconds to wait for another process that has an embedded store open; by default, as long as
        the settings say.
        """
        with self._changed:
            self._waiting_writers += not read_only
            try:
                self._changed.wait_for(lambda: not self._users or self._serves(settings, read_only=read_only))
            finally:
                self._waiting_writers -= not read_only
            if not self._serves(settings, read_only=read_only):
                self._close_all()
                self._read_only = read_only
                self._state = disk_state(settings)
            if settings.namespace not in self._stores:
                like = next(iter(self._stores.values()), None)
                if lock_timeout is not None and not settings.uses_neo4j:
                    settings = settings.model_copy(update={"store_timeout": lock_timeout})
                store = open_store(settings, create=create, read_only=self._read_only, like=like)
                self._stores[settings.namespace] = store
            store = self._stores[settings.namespace]
            self._users += 1
        try:
            yield store
        finally:
            self._release()

    @contextmanager
    def lend_alone(self, settings: Settings, *, read_only: bool, create: bool = False) -> Iterator[GraphStore]:
        """Lend a store whose migrations are not applied, while nobody else has one."""
        with self._changed:
            self._changed.wait_for(lambda: not self._users)
            self._close_all()
            with open_store(settings, create=create, migrate=False, read_only=read_only) as store:
                yield store

    def close(self) -> None:
        """Close all handles, after those who use one are done."""
        with self._changed:
            self._changed.wait_for(lambda: not self._users)
            self._close_all()

    def _serves(self, settings: Settings, *, read_only: bool) -> bool:
        """Whether the open handles are what is wanted."""
        if not self._stores:
            return False
        if not self._read_only:
            return True
        if not read_only or self._waiting_writers:
            return False
        return self._users > 0 or self._state == disk_state(settings)

    def _release(self) -> None:
        with self._changed:
            self._users -= 1
            self._changed.notify_all()

    def _close_all(self) -> None:
        stores, self._stores = list(self._stores.values()), {}
        for store in stores:
            store.close()
