"""A namespace of a Neo4j: its connection, its schema, and transactions on it."""

from collections.abc import Callable
from typing import Self, TypeVar

from drag_graph import migrate
from drag_graph.adapters.neo4j_connection import Neo4jConnection, Work
from drag_graph.errors import StoreUnfit
from drag_graph.model import DEFAULT_NAMESPACE
from drag_graph.ports import Migration
from drag_graph.queries import load

Result = TypeVar("Result")

UPGRADE_SECONDS = 600.0
"""How long the server lets an upgrader keep the others out when nothing is heard of it any more, not even its end."""


class Neo4jAccess:
    """One namespace of a Neo4j whose schema is this version's: what everything that is kept there works through.

    `timeout` is in seconds: how long a server that is away or restarting is waited for. `password` may be empty for a server
    without authentication. Nothing is sent before the first use. Raises ConfigurationError for an address that is none.
    """

    def __init__(
        self,
        uri: str,
        *,
        username: str = "neo4j",
        password: str = "",
        database: str | None = None,
        namespace: str = DEFAULT_NAMESPACE,
        timeout: float = 30.0,
    ) -> None:
        self._connection = Neo4jConnection(uri, username=username, password=password, database=database, timeout=timeout)
        self._namespace = namespace
        self._timeout = timeout
        self._migrated = False

    @property
    def location(self) -> str:
        return self._connection.location

    @property
    def namespace(self) -> str:
        return self._namespace

    def __enter__(self) -> Self:
        self._connection.open()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    # ---- the schema

    def migrations(self) -> list[Migration]:
        return migrate.status("neo4j", self._history)

    def migrate(self) -> list[Migration]:
        done: list[Migration] = []
        if migrate.plan(migrate.known("neo4j"), self._history()):
            self._connection.change_schema(load("lock_migrations_schema", "neo4j").bind()[0])
            with self._connection.locked("lock_migrations", UPGRADE_SECONDS):
                done = migrate.run("neo4j", self._history_under_lock, self._apply)
        self._migrated = True
        return done

    def _history(self) -> list[Migration]:
        return [Migration(*row) for row in self._connection.read(lambda work: work.rows("applied_migrations"))]

    def _history_under_lock(self) -> list[Migration]:
        """Read where writes go: a replica of a cluster may not have heard yet of what another upgrader just did."""
        return [Migration(*row) for row in self._connection.write(lambda work: work.rows("applied_migrations"))]

    def _apply(self, migration: Migration, statements: tuple[str, ...]) -> None:
        """Apply one after another: Neo4j keeps changes of schema and of data apart, and each says IF NOT EXISTS."""
        for text in statements:
            self._connection.change_schema(text)
        self._connection.read(lambda work: work.run("await_indexes", seconds=int(max(self._timeout, 1))))
        values = {"version": migration.version, "name": migration.name, "checksum": migration.checksum}
        self._connection.write(lambda work: work.run("record_migration", **values, applied_at=migration.applied_at))

    def _require_schema(self) -> None:
        if self._migrated:
            return
        if migrate.plan(migrate.known("neo4j"), self._history()):
            raise StoreUnfit(f"the store at {self.location} is not migrated", hint="Run `drag-graph db migrate`.")
        self._migrated = True

    def reading(self, work: Callable[[Work], Result], *, current: bool = False) -> Result:
        """Return what `work` returns of a reading transaction; it may be called again. Raises StoreError.

        On a cluster, what another process has just written is seen for certain only where `current` is true.
        """
        self._require_schema()
        return self._connection.read(work, current=current)

    def writing(self, work: Callable[[Work], Result]) -> Result:
        """Return what `work` returns of a writing transaction; it may be called again. Raises StoreError."""
        self._require_schema()
        return self._connection.write(work)
