"""Statements of one transaction of an embedded store, and when to plan them again."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing
from traceback import clear_frames
from typing import Any

import ladybug

from drag_graph.graph.paging import pages
from drag_graph.ports.graph_store import QueryRows
from drag_graph.stores.ladybug.ladybug_errors import translate
from drag_graph.stores.shared.cypher_files import load
from drag_graph.stores.shared.reading_statement import json_value, too_slow, unusable
from drag_graph.stores.shared.transaction import Row

ENGINE_ERRORS = (RuntimeError, ValueError, LookupError, OverflowError, MemoryError)
"""Errors that the engine raises. All but the first mean that it has read damaged data."""
IDS_AT_ONCE = 32
"""The engine processes the rows that a statement was planned with again in every later call."""
FIRST_PLANS = 32
"""Executions of a statement before it is planned again; the number then grows by a factor of four each time."""


class Plans:
    """Age of the plans of statements.

    A connection keeps the first plan of each statement. A plan from an empty store scans whole tables, so connections are
    replaced as the store grows.
    """

    def __init__(self) -> None:
        self._executed: Counter[str] = Counter()
        self._until: dict[str, int] = {}

    def note(self, name: str) -> None:
        """Count an execution of a statement."""
        self._executed[name] += 1

    def are_old(self) -> bool:
        """Return whether a statement has been executed often since it was planned, and count it as planned again."""
        executed = list(self._executed.items())  # a copy: other threads add to it
        old = [(name, 4 * number) for name, number in executed if number >= self._until.get(name, FIRST_PLANS)]
        self._until.update(old)
        return bool(old)


class LadybugTransaction:
    """A connection with an open transaction (see `Transaction`). `check` is called before `run` returns or `stream` yields."""

    perhaps_done = False
    changed_vectors: Collection[str] | None = None
    changed_edges = False
    changed_links = False
    """Whether it may change edges, or which concepts entities refer to, although no vector changes."""

    def __init__(
        self, connection: Any, location: str, check: Callable[[], None] = lambda: None, plans: Plans | None = None
    ) -> None:
        self._connection, self._location, self._check, self._plans = connection, location, check, plans

    def run(self, name: str, /, **parameters: Any) -> list[Row]:
        """Execute the statement of that name (`cypher/ladybug`, `cypher/common`) and return its rows. Raises StoreError."""
        return list(self._named(name, parameters))

    def stream(self, name: str, /, **parameters: Any) -> Iterator[Row]:
        """Yield the rows that `run` returns. Nothing else may be executed meanwhile."""
        for row in self._named(name, parameters):
            self._check()
            yield row

    def _named(self, name: str, parameters: dict[str, Any]) -> Iterator[Row]:
        if self._plans:
            self._plans.note(name)
        return self._rows(*load(name, "ladybug").bind(**parameters))

    def run_by_ids(self, name: str, ids: Iterable[str], /, **parameters: Any) -> list[Row]:
        """Run a statement for distinct ids, a few at a time, and return its rows."""
        return [row for page in pages(dict.fromkeys(ids), IDS_AT_ONCE) for row in self.run(name, ids=page, **parameters)]

    def execute(self, text: str, parameters: dict[str, Any] | None = None) -> list[Row]:
        """Execute a text from a file, or the engine's transaction control, and return its rows. Raises StoreError."""
        return list(self._rows(text, parameters or {}))

    def _rows(self, text: str, parameters: dict[str, Any]) -> Iterator[Row]:
        """Execute a statement, yield its rows as dictionaries, then call `check`. Raises StoreError only."""
        try:
            with closing(self._connection.execute(text, parameters)) as result:
                names = result.get_column_names()
                while result.has_next():
                    yield dict(zip(names, result.get_next(), strict=True))
        except ENGINE_ERRORS as error:
            clear_frames(error.__traceback__)  # a frame keeps the statement, and the statement keeps the file open
            self._check()
            raise translate(str(error), self._location) from error
        self._check()


_REFUSALS = (
    *("Binder exception", "Catalog exception", "Can not execute a write query", "Connection Exception", "Conversion"),
    *("Parser exception", "Parameter", "Runtime exception", "Overflow exception"),
)
"""Beginnings of the engine's messages about a statement."""


def read_rows(connection: Any, statement: str, limit: int, seconds: float, location: str) -> QueryRows:
    """Return up to `limit` rows. The connection is used for nothing else.

    In a read-only transaction the engine refuses every write. It prepares one statement only, so none can end the transaction
    and begin another. Raises ConfigurationError for a statement that it refuses, or that takes longer than `seconds`.
    """
    prepared: Any = None
    try:
        connection.set_query_timeout(max(1, round(seconds * 1000)))
        connection.execute("BEGIN TRANSACTION READ ONLY").close()
        prepared = ladybug.PreparedStatement(connection, statement)
        if not prepared.is_success():
            raise unusable(prepared.get_error_message())
        rows: list[tuple[Any, ...]] = []
        with closing(connection.execute(prepared)) as result:
            while result.has_next() and len(rows) <= limit:
                rows.append(tuple(_value(item) for item in result.get_next()))
            columns = tuple(result.get_column_names())
    except ENGINE_ERRORS as error:
        clear_frames(error.__traceback__)
        message = str(error)
        if message.startswith("Interrupted"):
            raise too_slow(seconds) from error
        raise (unusable(message) if message.startswith(_REFUSALS) else translate(message, location)) from error
    finally:
        prepared = None  # a traceback would keep it, and it keeps the file open
    return QueryRows(columns, tuple(rows[:limit]), len(rows) > limit)


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return [_value(item) for item in value]
    if not isinstance(value, Mapping):
        return json_value(value)
    if "_NODES" in value and "_RELS" in value:
        return {"type": "path", "nodes": _value(value["_NODES"]), "relationships": _value(value["_RELS"])}
    if "_LABEL" not in value:
        return {str(key): _value(item) for key, item in value.items()}
    own = {name: json_value(item) for name, item in value.items() if not name.startswith("_") and item is not None}
    if "_SRC" in value:
        return {"type": "relationship", "name": value["_LABEL"], "properties": own}
    return {"type": "node", "labels": [value["_LABEL"]], "properties": own}
