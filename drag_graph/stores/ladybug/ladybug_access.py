"""A namespace of an embedded store: its file, its schema, and transactions on it."""

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Self

from drag_graph.errors import StoreError, StoreUnavailable, StoreUnfit
from drag_graph.model import DEFAULT_NAMESPACE
from drag_graph.ports.graph_store import Migration, QueryRows
from drag_graph.ports.vectors import Vector
from drag_graph.stores.ladybug.engine import Engine, open_engine
from drag_graph.stores.ladybug.ladybug_errors import FOREIGN_TABLES
from drag_graph.stores.ladybug.ladybug_transaction import LadybugTransaction
from drag_graph.stores.shared import migrations as migrate
from drag_graph.stores.shared.reading_statement import check_reads
from drag_graph.stores.shared.transaction import Result
from drag_graph.stores.shared.vector_index import vector_bytes, vector_of


def revision_key(namespace: str) -> str:
    """Return the key under which the revision of a namespace is stored."""
    return f"revision\x1f{namespace}"


class LadybugAccess:
    """One namespace of an embedded store. Those of one file in one process share it; another process may only read it then.

    `timeout` is how many seconds to wait for another process that holds the file. A store that is `read_only` wants no right to
    write, sees the file as it was when it was opened, and raises StoreUnavailable when a writer has come and changed it since.
    The file is opened by the first use; the folder above it is made then.
    """

    def __init__(
        self, path: Path, *, namespace: str = DEFAULT_NAMESPACE, read_only: bool = False, timeout: float = 30.0
    ) -> None:
        self._path = Path(path)
        self._namespace = namespace
        self._read_only = read_only
        self._timeout = timeout
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._closed = False
        self._is_current = False

    @property
    def location(self) -> str:
        return str(self._path)

    @property
    def namespace(self) -> str:
        return self._namespace

    def __enter__(self) -> Self:
        self._open()
        return self

    def close(self) -> None:
        self._closed = True
        self._release()

    def migrations(self) -> list[Migration]:
        with self._refused_is_released():
            return migrate.status("ladybug", self._history)

    def migrate(self) -> list[Migration]:
        if self._read_only:
            self.ready()
            return []
        with self._refused_is_released(), self._open().upgrading:
            return migrate.run("ladybug", self._history, self._apply)

    def _apply(self, migration: Migration, statements: Sequence[str]) -> None:
        """Execute a migration's statements and record it, in one transaction."""
        with self._open().writing() as session:
            for text in statements:
                session.execute(text)
            session.run("record_migration", **asdict(migration))

    def _history(self) -> list[Migration]:
        try:
            with self._open().reading() as session:
                return [Migration(**row) for row in session.run("applied_migrations")]
        except StoreError as error:
            if not FOREIGN_TABLES.search(str(error.__cause__)):
                raise
        with self._open().reading() as session:
            # A store of ours has its history from its first table on: both are made in one transaction.
            if session.run("show_tables"):
                raise StoreUnfit(f"{self.location} is not a drag-graph store.", hint="Choose another file with `store=FILE`.")
        return []

    def sent_vector(self, vector: Vector) -> bytes:
        """See `Access`: bytes, as the engine takes each number of a list for a value."""
        return vector_bytes(vector)

    def kept_vector(self, kept: bytes | None) -> Sequence[float] | None:
        """See `Access`."""
        return None if kept is None else vector_of(kept).tolist()

    def reading(self) -> AbstractContextManager[LadybugTransaction]:
        """Open a reading transaction (`Engine.reading`) once the schema is known to be this version's."""
        return self.ready().reading()

    @contextmanager
    def writing(self) -> Iterator[LadybugTransaction]:
        """Open the writing transaction (`Engine.writing`) once the schema is known to be this version's."""
        with self.ready().writing() as session:
            yield session
            changed = session.changed_vectors is None or bool(session.changed_vectors)
            if changed or session.changed_edges or session.changed_links:
                token = uuid.uuid4().hex
                links = token if session.changed_links else ""
                session.run("index_revise", key=revision_key(self._namespace), revision=token, links=links)

    def query(self, statement: str, *, limit: int, seconds: float) -> QueryRows:
        check_reads(statement)
        return self.ready().query(statement, limit, seconds)

    def in_reading(self, work: Callable[[LadybugTransaction], Result]) -> Result:
        """Return what `work` returns of a reading transaction."""
        with self.reading() as session:
            return work(session)

    def in_writing(self, work: Callable[[LadybugTransaction], Result]) -> Result:
        """Return what `work` returns of the writing transaction."""
        with self.writing() as session:
            return work(session)

    def ready(self) -> Engine:
        """Return the open engine once its schema is known to be this version's. Raises StoreUnfit when it is not."""
        engine = self._open()
        if not self._is_current:
            with self._refused_is_released():
                migrate.require("ladybug", self._history, self.location, self.location)
            self._is_current = True
        return engine

    @contextmanager
    def _refused_is_released(self) -> Iterator[None]:
        """Hold no file whose schema is refused, so that another version can have it at once."""
        try:
            yield
        except StoreUnfit:
            self._release()
            raise

    def _release(self) -> None:
        with self._lock:
            engine, self._engine, self._is_current = self._engine, None, False
        if engine is not None:
            engine.close()

    def _open(self) -> Engine:
        with self._lock:
            if self._closed:
                raise StoreUnavailable(f"The store {self.location} is closed.")
            if self._engine is None:
                self._engine = open_engine(self._path, read_only=self._read_only, timeout=self._timeout)
            return self._engine
