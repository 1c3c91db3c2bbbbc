"""A connection to Neo4j: transactions repeated until a deadline, bookmarks, translated errors."""

import logging
import random
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

import neo4j
from neo4j.exceptions import AuthError, ClientError, ConstraintError, DriverError, Neo4jError
from neo4j.graph import Node, Path, Relationship

from drag_graph.errors import ConfigurationError, StoreError, StoreUnavailable, StoreUnfit
from drag_graph.log import event, slow
from drag_graph.ports.graph_store import QueryRows
from drag_graph.stores.neo4j.neo4j_errors import CREDENTIALS, TIMED_OUT, explain, is_passing, may_have_come_through
from drag_graph.stores.shared.cypher_files import load
from drag_graph.stores.shared.reading_statement import json_value, too_slow, unusable


def read_rows(session: neo4j.Session, statement: str, limit: int, seconds: float) -> QueryRows:
    """Return up to `limit` rows from a session with read access, in which the server refuses every write.

    Raises ConfigurationError for a statement that it refuses, or that takes longer than `seconds`.
    """
    try:
        result = session.run(neo4j.Query(statement, timeout=seconds))
        rows = [tuple(_value(item) for item in record.values()) for record in result.fetch(limit + 1)]
        columns = tuple(result.keys())
    except ClientError as error:
        if error.code in TIMED_OUT:
            raise too_slow(seconds) from error
        if error.code and error.code.startswith("Neo.ClientError.Statement."):
            raise unusable(str(error.message or "")) from error
        raise
    return QueryRows(columns, tuple(rows[:limit]), len(rows) > limit)


def _value(value: Any) -> Any:
    match value:
        case Node():
            return {"type": "node", "labels": sorted(value.labels), "properties": json_value(dict(value))}
        case Relationship():
            return {"type": "relationship", "name": value.type, "properties": json_value(dict(value))}
        case Path():
            parts = {"nodes": [_value(item) for item in value.nodes]}
            return {"type": "path", **parts, "relationships": [_value(item) for item in value.relationships]}
        case list():
            return [_value(item) for item in value]
        case dict():
            return {name: _value(item) for name, item in value.items()}
    return json_value(value)


SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
ROUTED = "neo4j"
"""How the address of a cluster begins; all others are of one server."""
OLDEST = (5, 26)
_SCHEMA_TRIES = 4
_FIRST_PAUSE = 0.25
_LONGEST_PAUSE = 2.0

Result = TypeVar("Result")


class IdTaken(StoreError):  # noqa: N818 - reads as what happened
    """A uniqueness constraint refused a write: another writer was faster, or an id is not unique."""


class _Unspoken(list[Any]):
    """A list whose representation is its length.

    The driver formats all parameters for its log even if it does not log (6.4.1). For a batch this took three times as long as
    sending it, and a log would have contained the stored text.
    """

    def __repr__(self) -> str:
        return f"[{len(self)} items]"


class Work:
    """The statements of one transaction, by name; while reading, each statement is its own transaction.

    `perhaps_done` is true if an earlier commit of the same work may have succeeded.
    """

    changed_vectors: Collection[str] | None = None

    def __init__(self, transaction: "neo4j.Transaction | neo4j.Session", *, perhaps_done: bool = False) -> None:
        self._transaction = transaction
        self.perhaps_done = perhaps_done

    def run(self, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
        """Execute the statement and return its rows by column names."""
        text, bound = load(name, "neo4j").bind(**parameters)
        quiet_values = {key: _Unspoken(value) if isinstance(value, list) else value for key, value in bound.items()}
        result = self._transaction.run(text, quiet_values)
        return [dict(zip(result.keys(), values, strict=True)) for values in result.values()]

    def agent(self) -> str:
        """Ping the server and return its name and version."""
        text, bound = load("ping", "neo4j").bind()
        return str(self._transaction.run(text, bound).consume().server.agent)

    def migrate(self, text: str) -> None:
        """Execute one statement of a migration."""
        self._transaction.run(text).consume()


class Neo4jConnection:
    """A driver and how it is used. Thread-safe; nothing is sent before the first `read`, `write` or `open`."""

    def __init__(self, uri: str, *, username: str, password: str, database: str | None, timeout: float) -> None:
        check_uri(uri)
        self._uri = uri
        self._is_routed = urlsplit(uri).scheme.startswith(ROUTED)
        self._auth = (username, password)
        self._database = database
        self._timeout = timeout
        self._lock = threading.Lock()
        self._driver: neo4j.Driver | None = None
        self._opened = self._closed = False

    @property
    def location(self) -> str:
        """The address and the database, if one is set; never the password."""
        return f"{self._uri} (database {self._database})" if self._database else self._uri

    def open(self) -> None:
        """Wait, within the deadline, until the server answers. Raises StoreUnavailable or StoreUnfit."""
        with self._lock:
            if self._opened:
                return
            if self._closed:
                raise StoreUnavailable(f"The connection to {self.location} is closed.")
            if self._driver is None:
                self._driver = self._make_driver()
            try:
                with slow(f"waiting for Neo4j at {self._uri}, up to {self._timeout:g} s"), self._explained():
                    agent = self._repeated(lambda: self._statements(Work.agent))
                _check_version(agent, self.location)
            except BaseException:
                self._driver.close()
                self._driver = None
                raise
            self._opened = True

    def close(self) -> None:
        """Release all connections; a second call does nothing."""
        with self._lock:
            driver, self._driver = self._driver, None
            self._opened, self._closed = False, True
        if driver is not None:
            driver.close()

    def read(self, work: Callable[[Work], Result], *, current: bool = False) -> Result:
        """Run `work`, which only reads. Repeated, like `write`, while the server is away.

        On a cluster a replica answers. It has what this process wrote, but may lack recent writes of others; with `current`
        the leader answers. Each statement commits itself, which takes one round trip instead of three. Nothing is lost, because
        a transaction of Neo4j sees commits of others anyway.
        """
        self.open()
        with self._explained():
            return self._repeated(lambda: self._statements(work, "WRITE" if current else "READ"))

    def query(self, statement: str, limit: int, seconds: float) -> QueryRows:
        """Return what a person's statement reads (`read_rows`)."""
        self.open()
        with self._explained(), self._session("READ") as session:
            return read_rows(session, statement, limit, seconds)

    def write(self, work: Callable[[Work], Result]) -> Result:
        """Run `work` in one write transaction, and again after a temporary failure. Running it twice must be safe.

        A commit with an unknown outcome is repeated as well. Raises IdTaken if a uniqueness constraint refuses the write.
        """
        perhaps_done = False

        def once() -> Result:
            # The driver's `execute_write` is not used. It doubles its pauses without limit: after an outage of ten seconds it
            # tries again after thirty. If a statement fails, it also returns the connection to the pool before it ends the
            # transaction. If another thread takes it, the statement's error is lost (driver 6.4.1). So this
            # code leaves the transaction alone after an error of the driver, which has rolled it back.
            nonlocal perhaps_done
            with self._session("WRITE") as session:
                transaction = session.begin_transaction()
                try:
                    result = work(Work(transaction, perhaps_done=perhaps_done))
                except (DriverError, Neo4jError):
                    raise
                except BaseException:
                    transaction.close()
                    raise
                try:
                    transaction.commit()
                except (DriverError, Neo4jError) as error:
                    perhaps_done |= may_have_come_through(error)
                    raise
                return result

        self.open()
        with self._explained():
            try:
                return self._repeated(once)
            except ConstraintError as error:
                raise IdTaken(str(explain(error, self.location, self._timeout))) from error

    def change_schema(self, text: str) -> None:
        """Execute one statement of a migration, which says IF NOT EXISTS.

        Two processes that migrate at once may both find it missing. The slower one fails, and its next try finds it.
        """
        for attempt in range(_SCHEMA_TRIES):
            try:
                return self.write(lambda work: work.migrate(text))
            except StoreError as error:
                is_there = str(getattr(error.__cause__, "code", "")).endswith("AlreadyExists")
                if not is_there or attempt == _SCHEMA_TRIES - 1:
                    raise
        return None

    def _statements(self, work: Callable[[Work], Result], access: str = "READ") -> Result:
        """Run `work`, whose statements are transactions of their own, once."""
        with self._session(access) as session:
            return work(Work(session))

    def _session(self, access: str) -> neo4j.Session:
        driver = self._driver
        if driver is None:
            raise StoreUnavailable(f"The connection to {self.location} is closed.")
        # On a cluster, one bookmark manager for all sessions makes every read see this process's writes. A single server shows
        # them anyway, and with bookmarks each writer would wait for the current commits of the others.
        bookmarks = driver.execute_query_bookmark_manager if self._is_routed else None
        return driver.session(database=self._database, bookmark_manager=bookmarks, default_access_mode=access)

    def _repeated(self, once: Callable[[], Result]) -> Result:
        """Return the result of `once`; repeat it until the deadline after temporary failures."""
        deadline = time.monotonic() + self._timeout
        pause = _FIRST_PAUSE
        while True:
            try:
                return once()
            except (DriverError, Neo4jError) as error:
                if not is_passing(error) or time.monotonic() + pause > deadline:
                    raise
                status = str(getattr(error, "code", None) or type(error).__name__)
                event("store_repeats", status=status, pause_ms=round(1000 * pause))
            # Random, so that writers that collided do not collide again.
            time.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - no secret
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _make_driver(self) -> neo4j.Driver:
        # Without a handler of its own, the driver's logger would print its warnings on stderr.
        logging.getLogger("neo4j").addHandler(logging.NullHandler())
        username, password = self._auth
        with self._explained():
            return neo4j.GraphDatabase.driver(
                self._uri,
                auth=(username, password) if password else None,
                connection_timeout=self._timeout,
                connection_acquisition_timeout=self._timeout,
                notifications_min_severity="OFF",
                telemetry_disabled=True,
                user_agent="drag-graph",
            )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (DriverError, Neo4jError, OSError, UnicodeError, OverflowError) as error:
            if isinstance(error, AuthError) and not self._auth[1]:
                raise StoreUnavailable(
                    f"Neo4j at {self.location} requires a password, but none is set.", hint=f"Set NEO4J_PASSWORD. {CREDENTIALS}"
                ) from error
            raise explain(error, self.location, self._timeout) from error


def check_uri(uri: str) -> None:
    """Raise ConfigurationError unless `uri` is the address of a Neo4j, without a password in it."""
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.username or parts.password:
        raise ConfigurationError(
            "A store's address must not contain a user name or password.", hint="Set NEO4J_USERNAME and NEO4J_PASSWORD instead."
        )
    if parts.scheme not in SCHEMES or not host or port == 0:
        raise ConfigurationError(
            f"{uri!r} is not the address of a Neo4j server.",
            hint="Use bolt://HOST:PORT or neo4j://HOST:PORT (7687 by default).",
        )


def _check_version(agent: str, location: str) -> None:
    product, _, version = agent.partition("/")
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if product != "Neo4j" or numbers is None or (int(numbers[1]), int(numbers[2])) < OLDEST:
        raise StoreUnfit(f"{location} runs {agent or 'an unknown server'}.", hint="Use Neo4j 5.26 or newer.")
