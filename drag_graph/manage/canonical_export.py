"""The canonical export: one line a node or edge, so that equal stores give equal bytes."""

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

from drag_graph.errors import ConfigurationError, StoreUnfit

VOLATILE = frozenset({"created_at", "expires_at", "applied_at", "undone_at", "latency_ms", "cost_usd", "snapshot", "embedding"})
"""What two runs with the same content may differ in: times, latencies and costs (an answer's snapshot repeats them), and
vectors, which a text and the recorded embedder determine up to the last bits of a float."""

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


def canonical_lines(records: Iterable[dict[str, Any]], *, full: bool = False) -> Iterator[str]:
    """Yield one JSON line a record, keys and lines sorted; `full` keeps the volatile properties too.

    Raises StoreUnfit for a number that JSON has not (no store of ours takes one), ConfigurationError as `sorted_lines` does.
    """
    yield from sorted_lines(_line({**record, "properties": _shown(record["properties"], full=full)}) for record in records)


def sorted_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines as `sorted` does; what does not fit into a few megabytes is in temporary files meanwhile.

    Raises ConfigurationError where these cannot be written.
    """
    try:
        with closing(sqlite3.connect("")) as database:  # a temporary one, which nobody else can open
            database.execute("PRAGMA journal_mode = OFF")
            database.execute("CREATE TABLE line (text TEXT)")
            database.executemany("INSERT INTO line VALUES (?)", ((line,) for line in lines))
            yield from (text for (text,) in database.execute("SELECT text FROM line ORDER BY text"))
    except sqlite3.Error as error:
        hint = "Free some space in the folder for temporary files, or name another one by TMPDIR."
        raise ConfigurationError(f"the export cannot be sorted: {error}", hint=hint) from error


def json_line(document: dict[str, Any]) -> str:
    """Return a document as one line that can be encoded as UTF-8: half a character is escaped. Raises ValueError for NaN."""
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return text if text.isascii() else _HALF_CHARACTER.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def _shown(properties: dict[str, Any], *, full: bool) -> dict[str, Any]:
    return {key: value for key, value in properties.items() if value is not None and (full or key not in VOLATILE)}


def _line(record: dict[str, Any]) -> str:
    try:
        return json_line(record)
    except ValueError as error:
        what = f"{record.get('label') or record.get('type')} {record['id']}"
        hint = "Distill its query again with --replace, or erase it."
        raise StoreUnfit(f"{what} holds a number that JSON cannot write (NaN or infinite)", hint=hint) from error
