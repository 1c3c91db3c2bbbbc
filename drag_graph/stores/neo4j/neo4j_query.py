"""Execute a statement that a person wrote on Neo4j, and return what it reads."""

from typing import TYPE_CHECKING, Any

from drag_graph.ports.query_rows import QueryRows
from drag_graph.stores.neo4j.neo4j_errors import TIMED_OUT
from drag_graph.stores.shared.reading_statement import json_value, too_slow, unusable

if TYPE_CHECKING:
    import neo4j


def read_rows(session: "neo4j.Session", statement: str, limit: int, seconds: float) -> QueryRows:
    """Return up to `limit` rows from a session with read access, in which the server refuses every write.

    Raises ConfigurationError for a statement that it refuses, or that takes longer than `seconds`.
    """
    import neo4j
    from neo4j.exceptions import ClientError

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
    from neo4j.graph import Node, Path, Relationship

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
