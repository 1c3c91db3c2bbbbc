"""The canonical export (design, section 6): one line a node or edge, so that equal stores give equal bytes."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from drag_graph.errors import StoreUnfit

VOLATILE = frozenset({"created_at", "expires_at", "applied_at", "undone_at", "latency_ms", "cost_usd", "snapshot", "embedding"})
"""What two runs with the same content may differ in: times, latencies and costs (an answer's snapshot repeats them), and
vectors, which a text and the recorded embedder determine up to the last bits of a float."""

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


def canonical_lines(
    records: Iterable[dict[str, Any]], *, full: bool = False, order: Callable[[Iterator[str]], Iterable[str]] = sorted
) -> Iterator[str]:
    """Yield one JSON line a record, keys and lines sorted; `full` keeps the volatile properties too.

    `order` sorts the lines; another one than `sorted` may keep them on disk.

    Every line can be encoded as UTF-8: half a character, as metadata may hold it, is escaped. Raises StoreUnfit for a number
    that JSON has not (no store of ours takes one).
    """
    yield from order(_line({**record, "properties": _shown(record["properties"], full=full)}) for record in records)


def _shown(properties: dict[str, Any], *, full: bool) -> dict[str, Any]:
    return {key: value for key, value in properties.items() if value is not None and (full or key not in VOLATILE)}


def _line(record: dict[str, Any]) -> str:
    try:
        text = json.dumps(record, sort_keys=True, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        what = f"{record.get('label') or record.get('type')} {record['id']}"
        raise StoreUnfit(
            f"{what} holds a number that JSON has not (NaN or infinite)", hint="Distil its query again, or erase it."
        ) from error
    return _HALF_CHARACTER.sub(lambda half: f"\\u{ord(half[0]):04x}", text)
