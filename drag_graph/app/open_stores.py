"""One store, opened once and lent to many threads, with a handle for each namespace."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from weakref import WeakValueDictionary

from drag_graph.compose.store_opening import disk_state, open_store
from drag_graph.errors import StoreError
from drag_graph.log import event
from drag_graph.ports.graph_store import GraphStore
from drag_graph.settings import Settings

IDLE = 1.0
"""Seconds after which an unused embedded store that was opened for writing is closed. Opening it again takes as long as a
short answer, so it stays open between calls in quick succession."""


class OpenStores:
    """Lends the handles of one store. Thread-safe.

    A process opens an embedded file either for reading or for writing; a file open for writing serves readers as well. A file
    open for reading shows its state at that time. It is opened again once it has changed and has no readers. An idle file that
    was opened for writing is closed, so that other processes can write. A thread must not borrow twice.
    """

    def __init__(self) -> None:
        self._stores: dict[str, GraphStore] = {}
        self._read_only = True
        self._state: object = None
        self._users = 0
        self._uses = 0
        self._waiting_writers = 0
        self._is_watched = False
        self._changed = threading.Condition()

    @contextmanager
    def lend(
        self, settings: Settings, *, read_only: bool, create: bool = False, lock_timeout: float | None = None
    ) -> Iterator[GraphStore]:
        """Lend the store of the settings' namespace. Raises StoreError.

        `lock_timeout` is how many seconds to wait until another process closes an embedded store. The default is in the
        settings.
        """
        if lock_timeout is not None and not settings.uses_neo4j:
            settings = settings.model_copy(update={"store_timeout": lock_timeout})
        store = self._borrow(settings, read_only=read_only, create=create)
        try:
            yield store
            if not read_only:
                _prepare_search(store)
        finally:
            self._release()

    def close(self) -> None:
        """Close all handles unless one is in use."""
        with self._changed:
            if not self._users:
                self._close_all()

    def _borrow(self, settings: Settings, *, read_only: bool, create: bool) -> GraphStore:
        """Return the store once nobody blocks it. Raises StoreLocked if another process does for too long."""
        with self._changed:
            self._waiting_writers += not read_only
            try:
                self._changed.wait_for(lambda: self._is_available(settings, read_only=read_only))
            finally:
                self._waiting_writers -= not read_only
                self._changed.notify_all()  # readers waited for this writer
            if not self._serves(settings, read_only=read_only):
                self._close_all()
                self._read_only = read_only
                self._state = disk_state(settings)
            if settings.namespace not in self._stores:
                self._open(settings, create=create)
            self._users += 1
            self._uses += 1
            return self._stores[settings.namespace]

    def _is_available(self, settings: Settings, *, read_only: bool) -> bool:
        """Whether no other thread is in the way. A waiting writer goes first, or a stream of readers would keep it out."""
        is_free = not self._users and not (read_only and self._waiting_writers)
        return is_free or self._serves(settings, read_only=read_only)

    def _open(self, settings: Settings, *, create: bool) -> None:
        like = next(iter(self._stores.values()), None)
        self._stores[settings.namespace] = open_store(settings, create=create, read_only=self._read_only, like=like)
        if not settings.uses_neo4j and not self._read_only and not self._is_watched:
            self._is_watched = True
            threading.Thread(target=self._close_when_idle, name="drag-graph-idle", daemon=True).start()

    def _serves(self, settings: Settings, *, read_only: bool) -> bool:
        """Whether the open handles suit the request."""
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

    def _close_when_idle(self) -> None:
        while self._is_watched:
            uses = self._uses
            time.sleep(IDLE)
            with self._changed:
                try:
                    if not self._users and self._uses == uses:
                        self._close_all()
                finally:
                    self._is_watched = bool(self._stores)

    def _close_all(self) -> None:
        with ExitStack() as stores:
            for store in self._stores.values():
                stores.callback(store.close)
            self._stores = {}


_of_files: "WeakValueDictionary[Path, OpenStores]" = WeakValueDictionary()
_lock = threading.Lock()


def open_stores_of(settings: Settings) -> OpenStores:
    """Return the handles of the settings' store. All applications in this process share those of an embedded file."""
    if settings.uses_neo4j:
        return OpenStores()
    with _lock:
        return _of_files.setdefault(Path(settings.store).expanduser().resolve(), OpenStores())


def _prepare_search(store: GraphStore) -> None:
    """Let the writer update the index, not the next question. A problem is only logged: a search repairs the index itself."""
    try:
        store.prepare_search()
    except StoreError as error:
        event("the full-text index is not up to date", level=logging.WARNING, location=store.location, reason=str(error))
