"""Store, models and privacy gate of an application: opened when first needed, shared by its threads and namespaces."""

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast
from weakref import WeakSet

from drag_graph.app.open_stores import OpenStores, open_stores_of
from drag_graph.ask.asker import UNKEPT
from drag_graph.compose.model_factories import embedder_is_here, opened_gate, privacy_level
from drag_graph.compose.session import Session
from drag_graph.compose.store_opening import is_written_elsewhere, open_store
from drag_graph.errors import ConfigurationError, StoreLocked
from drag_graph.models.locality import unchecked
from drag_graph.models.model_choice import follow_store, make_checker, make_embedder, make_reranker, make_student
from drag_graph.ports.graph_store import GraphStore
from drag_graph.ports.model_roles import Embedder, Reranker, Student
from drag_graph.ports.setting_types import Role
from drag_graph.settings import Settings, changed_settings

if TYPE_CHECKING:
    from drag_graph.privacy.privacy_gate import PrivacyGate


STORE = ("store", "neo4j_username", "neo4j_password", "neo4j_database", "store_timeout")
"""Settings of the one store that an application is opened on."""
KEEP_TIMEOUT = 1.0
"""Seconds that an answer waits for a lock that only looks or opens hold for a moment."""
WRITTEN_ELSEWHERE = "another process is writing to the store"
Item = TypeVar("Item")


@dataclass
class _Shared:
    """What all settings and namespaces of an application use together."""

    stores: OpenStores
    opened: ExitStack = field(default_factory=ExitStack)
    models: dict[Hashable, Any] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)
    holders: int = 0
    is_closed: bool = False
    """Whether the last holder is gone."""
    count_lock: threading.Lock = field(default_factory=threading.Lock)
    """Guards `holders`. It is separate from `lock`, which is held while a model loads."""
    claimed: "WeakSet[GraphStore]" = field(default_factory=WeakSet)
    """Stores in which the embedder is recorded."""

    def once(self, key: Hashable, make: Callable[[], Item]) -> Item:
        """Return what `make` returned for this key the first time."""
        with self.lock:
            if key not in self.models:
                self.models[key] = make()
            return cast("Item", self.models[key])


class Resources:
    """Opens and shares what the application works with. Thread-safe.

    The store and the models stay open while an application, a run or a call holds them.
    """

    def __init__(self, settings: Settings, shared: _Shared | None = None) -> None:
        self.settings = settings
        self._shared = shared or _Shared(open_stores_of(settings))
        self._is_closed = False

    def changed(self, values: Mapping[str, Any]) -> "Resources":
        """Return resources under other settings that share store and models; a value None changes nothing.

        Raises ConfigurationError for an unusable value, for a setting of another store, and after `close`.
        """
        self._require_open()
        settings = changed_settings(self.settings, values)
        if other := [name for name in STORE if getattr(settings, name) != getattr(self.settings, name)]:
            raise ConfigurationError(f"A call cannot change {other[0]!r}.", hint="Make another DragGraph for another store.")
        return Resources(settings, self._shared)

    def hold(self) -> None:
        """Keep the store and the models open until `release`. Raises ConfigurationError after `close`."""
        with self._shared.count_lock:
            self._require_open()
            self._shared.holders += 1

    def release(self) -> None:
        """Give up one `hold`; the last one closes the store and the models."""
        with self._shared.count_lock:
            self._shared.holders -= 1
            if self._shared.holders:
                return
            self._shared.is_closed = True
        with self._shared.lock:
            self._shared.models.clear()
            opened = self._shared.opened.pop_all()
        with opened:
            self._shared.stores.close()

    def close(self) -> None:
        """Give up one `hold` and refuse further calls."""
        self._is_closed = True
        self.release()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep the store and the models open for the block. Raises ConfigurationError after `close`."""
        self.hold()
        try:
            yield
        finally:
            self.release()

    def _require_open(self) -> None:
        if self._is_closed or self._shared.is_closed:
            raise ConfigurationError("This DragGraph is closed.", hint="Create another DragGraph.")

    @contextmanager
    def store(self, *, read_only: bool = True, create: bool = False) -> Iterator[GraphStore]:
        """Lend the store alone, without models or privacy gate. Raises StoreError."""
        with self.in_use(), self._shared.stores.lend(self.settings, read_only=read_only, create=create) as store:
            yield store

    @contextmanager
    def unmigrated_store(self) -> Iterator[GraphStore]:
        """Lend the store for reading, whether its migrations are applied or not."""
        with self.in_use(), open_store(self.settings, create=False, migrate=False, read_only=True) as store:
            yield store

    @contextmanager
    def reading(self, *, asks: bool = False) -> Iterator[Session]:
        """Yield a read-only session. The privacy level depends on the teacher and, with `asks`, on the student."""
        with self._session(asks=asks, read_only=True, create=False) as session:
            yield session

    @contextmanager
    def writing(self, *, asks: bool = False, role: Role = "teacher", create: bool = True) -> Iterator[Session]:
        """Yield a session that may write. The privacy level is as in `reading`, with the model of `role` as the teacher.

        With `create`, a missing embedded store is created.
        """
        with self._session(asks=asks, role=role, read_only=False, create=create) as session:
            yield session

    @contextmanager
    def asking(self, *, keep: bool, create: bool = False) -> Iterator[tuple[Session, str]]:
        """Lend a session for asking, with the reason why its answers are not kept, or ''.

        While another process writes to an embedded store, the session reads the last committed state.
        """
        unkept = "" if keep else UNKEPT
        with ExitStack() as stack:
            session: Session | None = None
            if keep and create:
                session = stack.enter_context(self.writing(asks=True))
            elif keep:
                session = self._writing_now(stack)
                unkept = "" if session else WRITTEN_ELSEWHERE
            yield session or stack.enter_context(self.reading(asks=True)), unkept

    def _writing_now(self, stack: ExitStack) -> Session | None:
        """Enter a session that may write; None if another process is writing to the embedded store."""
        if is_written_elsewhere(self.settings):
            return None
        try:
            return stack.enter_context(self._session(asks=True, read_only=False, create=False, lock_timeout=KEEP_TIMEOUT))
        except StoreLocked:
            return None

    @contextmanager
    def _session(
        self, *, asks: bool, read_only: bool, create: bool, role: Role = "teacher", lock_timeout: float | None = None
    ) -> Iterator[Session]:
        settings = self._with_level(role=role, asks=asks)
        with self.in_use():
            gate = self.gate(settings)  # first: without its detectors nothing is made and nothing is asked
            with self._shared.stores.lend(settings, read_only=read_only, create=create, lock_timeout=lock_timeout) as store:
                recorded = store.embedder()
                settings = follow_store(settings, recorded)
                models = {name: partial(getattr(self, name), settings) for name in ("student", "reranker", "checker")}
                claimed = self._shared.claimed
                with Session(settings, store, self.embedder(settings), recorded, gate, claimed=claimed, **models) as session:
                    yield session

    def _with_level(self, *, role: Role = "teacher", asks: bool = False) -> Settings:
        return self.settings.model_copy(update={"privacy": privacy_level(self.settings, role=role, asks=asks)})

    def gated_embedder(self, recorded: tuple[str, int] | None = None) -> Embedder:
        """Return the embedder for a store that records this one. A remote embedder is behind the privacy gate."""
        return self.embedder(follow_store(self._with_level(), recorded))

    def gate(self, settings: Settings) -> "PrivacyGate | None":
        """Return the privacy gate of settings whose level is set; None for `off`."""
        embedder = None if embedder_is_here(settings) else settings.model_for("embedder")
        key = ("gate", settings.privacy, settings.vault_path, settings.model_for("rewriter"), embedder)
        return self._shared.once(key, lambda: self._shared.opened.enter_context(opened_gate(settings)))

    def embedder(self, settings: Settings) -> Embedder:
        """Return the embedder; one on another machine is behind the gate of the settings."""
        gate = None if embedder_is_here(settings) else self.gate(settings)
        key = ("embedder", id(gate), settings.model_for("embedder"))
        return self._shared.once(key, lambda: make_embedder(settings, gate.outgoing if gate else unchecked))

    def student(self, settings: Settings) -> Student:
        """Return the student, behind the gate of the settings."""
        gate, embedder = self.gate(settings), self.embedder(settings)
        key = ("student", id(gate), id(embedder), settings.model_for("student"), settings.quantisation, settings.scoring)
        return self._shared.once(key, lambda: make_student(settings, embedder, gate.outgoing if gate else unchecked))

    def gated_student(self) -> Student:
        """Return the student without a store. One on another machine is behind the privacy gate."""
        return self.student(self._with_level(asks=True))

    def reranker(self, settings: Settings) -> Reranker | None:
        """Return the reranker, behind the gate of the settings; None if none is set."""
        gate = self.gate(settings)
        key = ("reranker", id(gate), settings.model_for("reranker"))
        return self._shared.once(key, lambda: make_reranker(settings, gate.outgoing if gate else unchecked))

    def checker(self, settings: Settings) -> Student | None:
        """Return the model that checks answers; None if none is set."""
        key = ("checker", settings.model_for("checker"), settings.quantisation)
        return self._shared.once(key, lambda: make_checker(settings))


class ResourceUser:
    """A group of methods that work on the same resources."""

    _resources: Resources

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
