"""The canonical export: one line a node or edge, so that equal stores give equal bytes."""

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

from drag_graph.errors import ConfigurationError

VOLATILE = frozenset({"created_at", "expires_at", "applied_at", "undone_at", "latency_ms", "cost_usd", "snapshot", "embedding"})
"""Properties that may differ between runs with the same content: times, latencies, costs, snapshots (which repeat them) and
vectors (in the last bits)."""

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


def canonical_lines(records: Iterable[dict[str, Any]], *, full: bool = False) -> Iterator[str]:
    """Yield one JSON line per record, with sorted keys and lines; `full` includes volatile properties.

    Raises ConfigurationError as `sorted_lines` does.
    """
    yield from sorted_lines(json_line(canonical_record(record, full=full)) for record in records)


def sorted_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield sorted lines; more than a few megabytes are sorted in temporary files.

    Raises ConfigurationError if these cannot be written.
    """
    try:
        with closing(sqlite3.connect("", check_same_thread=False)) as database:  # a temporary one, which nobody else can open
            database.execute("PRAGMA journal_mode = OFF")
            database.execute("CREATE TABLE line (text TEXT)")
            database.executemany("INSERT INTO line VALUES (?)", ((line,) for line in lines))
            yield from (text for (text,) in database.execute("SELECT text FROM line ORDER BY text"))
    except sqlite3.Error as error:
        hint = "Free some space in the folder for temporary files, or set TMPDIR to another one."
        raise ConfigurationError(f"Cannot sort the export: {error}.", hint=hint) from error


def json_line(document: dict[str, Any] | list[Any]) -> str:
    """Return a document as one line of UTF-8, with lone surrogates escaped. Raises ValueError for NaN."""
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return text if text.isascii() else _HALF_CHARACTER.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def canonical_record(record: dict[str, Any], *, full: bool = False) -> dict[str, Any]:
    """Return a record without missing and, unless `full`, volatile properties."""
    properties = record["properties"].items()
    return {
        **record,
        "properties": {key: value for key, value in properties if value is not None and (full or key not in VOLATILE)},
    }
