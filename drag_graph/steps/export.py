"""The canonical export (design, section 6): one line a node or edge, so that equal stores give equal bytes."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

VOLATILE = frozenset({"created_at", "expires_at", "applied_at", "latency_ms", "cost_usd", "snapshot", "embedding"})
"""What two runs with the same content may differ in: times, latencies and costs (an answer's snapshot repeats them), and
vectors, which a text and the recorded embedder determine up to the last bits of a float."""


def canonical_lines(records: Iterable[dict[str, Any]], *, full: bool = False) -> Iterator[str]:
    """Yield one JSON line a record, keys and lines sorted; `full` keeps the volatile properties too."""
    lines = []
    for record in records:
        properties = {
            key: value for key, value in record["properties"].items() if value is not None and (full or key not in VOLATILE)
        }
        lines.append(json.dumps({**record, "properties": properties}, sort_keys=True, ensure_ascii=False, allow_nan=False))
    yield from sorted(lines)
