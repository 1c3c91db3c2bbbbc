"""A namespace of a Neo4j: its connection, its schema, and transactions on it."""

import logging
import re
import time
from collections.abc import Callable
from copy import copy
from dataclasses import asdict
from functools import partial
from typing import Self, TypeVar

from drag_graph.errors import StoreUnfit
from drag_graph.log import event
from drag_graph.model import DEFAULT_NAMESPACE
from drag_graph.ports.graph_store import Migration, QueryRows
from drag_graph.ports.vectors import Vector
from drag_graph.stores.neo4j.connection import Neo4jConnection, Work
from drag_graph.stores.shared import migrations as migrate
from drag_graph.stores.shared.reading_statement import check_reads

Result = TypeVar("Result")

_MADE = re.compile(r"\b(?:INDEX|CONSTRAINT) (\w+) IF NOT EXISTS")
_TELL_EVERY = 30.0
_LONGEST_LOOK = 1.0


class Neo4jAccess:
    """One namespace of a Neo4j with this version's schema; all parts of the store use it.

    `timeout` is how many seconds to wait for a server that is away or restarting. `password` may be empty for a server without
    authentication. `migrate` does not upgrade a `read_only` store. Nothing is sent before the first use. Raises
    ConfigurationError for an invalid address.
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
        read_only: bool = False,
    ) -> None:
        self._connection = Neo4jConnection(uri, username=username, password=password, database=database, timeout=timeout)
        self._uri = uri
        self._namespace = namespace
        self._timeout = timeout
        self._read_only = read_only
        self._migrated = False

    @property
    def location(self) -> str:
        return self._connection.location

    @property
    def namespace(self) -> str:
        return self._namespace

    def sent_vector(self, vector: Vector) -> list[float]:
        """See `Access`."""
        return [float(number) for number in vector]

    def kept_vector(self, kept: list[float] | None) -> list[float] | None:
        """See `Access`."""
        return kept

    def __enter__(self) -> Self:
        self._connection.open()
        return self

    def close(self) -> None:
        self._connection.close()

    def in_namespace(self, namespace: str) -> Self:
        """Return the store of another namespace on the same connection; closing either closes both."""
        other = copy(self)
        other.__dict__["_namespace"] = namespace
        return other

    # ---- the schema

    def migrations(self) -> list[Migration]:
        return migrate.status("neo4j", self._history)

    def migrate(self) -> list[Migration]:
        if self._read_only:
            self._require_schema()
            return []
        done = migrate.run("neo4j", partial(self._history, current=True), self._apply)
        self._migrated = True
        return done

    def _history(self, *, current: bool = False) -> list[Migration]:
        """Return the applied migrations; `current` includes those that another process has just applied."""
        rows = self._connection.read(lambda work: work.run("applied_migrations"), current=current)
        return [Migration(**row) for row in rows]

    def _apply(self, migration: Migration, statements: tuple[str, ...]) -> None:
        """Apply one statement after another: Neo4j separates changes of schema and data.

        Two processes that upgrade at the same time both apply all statements, so each must be repeatable.
        """
        for text in statements:
            self._connection.change_schema(text)
        self._await_indexes([name for text in statements for name in _MADE.findall(text)])
        self._connection.write(lambda work: work.run("record_migration", **asdict(migration)))

    def _await_indexes(self, names: list[str]) -> None:
        """Wait until these indexes are filled, which takes long in a large store. Raises StoreUnfit if one cannot be."""
        announced_at, pause = time.monotonic(), 0.05
        while True:
            open_ = self._connection.read(lambda work: work.run("await_indexes", names=names), current=True)
            failed = [row["name"] for row in open_ if row["state"] == "FAILED"]
            if failed:
                raise StoreUnfit(
                    f"The server could not fill the index {failed[0]} of {self.location}.",
                    hint=f"See its logs. Then run DROP INDEX {failed[0]} and `drag-graph db migrate`.",
                )
            if not open_:
                return
            if time.monotonic() - announced_at >= _TELL_EVERY:
                announced_at = time.monotonic()
                percent = round(open_[0]["percent"] or 0.0, 1)
                event("waiting for an index", level=logging.WARNING, index=open_[0]["name"], percent=percent)
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_LOOK)

    def _require_schema(self) -> None:
        if self._migrated:
            return
        if migrate.plan(migrate.known("neo4j"), self._history()):
            # A replica may not have received an upgrade yet.
            migrate.require("neo4j", partial(self._history, current=True), f"the store at {self.location}", self._uri)
        self._migrated = True

    def query(self, statement: str, *, limit: int, seconds: float) -> QueryRows:
        check_reads(statement)
        self._require_schema()
        return self._connection.query(statement, limit, seconds)

    def in_reading(self, work: Callable[[Work], Result]) -> Result:
        """Return what `work` returns of a reading transaction; it may be called again. Raises StoreError."""
        self._require_schema()
        return self._connection.read(work)

    def in_writing(self, work: Callable[[Work], Result]) -> Result:
        """Return what `work` returns of a writing transaction; it may be called again. Raises StoreError."""
        self._require_schema()
        return self._connection.write(work)
