"""Execute a statement that a person wrote on an embedded store, and return what it reads."""

from collections.abc import Mapping
from typing import Any

from drag_graph.errors import ConfigurationError, StoreError
from drag_graph.ports.graph_store import QueryRows
from drag_graph.stores.ladybug.ladybug_errors import translate
from drag_graph.stores.shared.reading_statement import json_value, too_slow, unusable

_INTERRUPTED = "Interrupted"
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
    import ladybug

    try:
        connection.set_query_timeout(max(1, round(seconds * 1000)))
        connection.execute("BEGIN TRANSACTION READ ONLY").close()
        prepared = ladybug.PreparedStatement(connection, statement)
        if not prepared.is_success():
            raise unusable(prepared.get_error_message())
        result = connection.execute(prepared)
        try:
            rows: list[tuple[Any, ...]] = []
            while result.has_next() and len(rows) <= limit:
                rows.append(tuple(_value(item) for item in result.get_next()))
            columns = tuple(result.get_column_names())
        finally:
            result.close()
    except (RuntimeError, ValueError, LookupError, OverflowError, MemoryError) as error:
        raise _translated(str(error), location, seconds) from error
    return QueryRows(columns, tuple(rows[:limit]), len(rows) > limit)


def _translated(message: str, location: str, seconds: float) -> StoreError | ConfigurationError:
    if message.startswith(_INTERRUPTED):
        return too_slow(seconds)
    return unusable(message) if message.startswith(_REFUSALS) else translate(message, location)


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
