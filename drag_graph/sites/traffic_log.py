"""What has gone between an edge and its cloud: requests, texts and bytes, by day and kind, in a file of the edge's own."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from drag_graph.errors import StoreUnavailable

PATIENCE = 10.0
"""Seconds to wait for another process that writes."""
_TABLE = """CREATE TABLE IF NOT EXISTS traffic (
  day TEXT, kind TEXT, requests INTEGER, texts INTEGER, bytes_out INTEGER, bytes_in INTEGER, PRIMARY KEY (day, kind)
)"""
_NOTES = "CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT)"
_ADD = """INSERT INTO traffic VALUES (?, ?, 1, ?, ?, ?) ON CONFLICT (day, kind) DO UPDATE SET
  requests = requests + 1, texts = texts + excluded.texts, bytes_out = bytes_out + excluded.bytes_out,
  bytes_in = bytes_in + excluded.bytes_in"""


@dataclass(frozen=True, slots=True)
class TrafficRow:
    """What went on a day for one purpose. `texts` left the edge: summaries, passages and questions; bytes are of bodies."""

    day: str
    kind: str
    requests: int
    texts: int
    bytes_out: int
    bytes_in: int


class Traffic:
    """The count of one edge. Several processes may add to it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, kind: str, *, texts: int, bytes_out: int, bytes_in: int) -> None:
        """Count one request."""
        day = datetime.now(UTC).date().isoformat()
        with self._open() as database:
            database.execute(_ADD, (day, kind, texts, bytes_out, bytes_in))

    def note_sync(self, **facts: int) -> None:
        """Remember the last time that the cloud was brought up to date."""
        value = json.dumps({"at": datetime.now(UTC).isoformat(timespec="seconds"), **facts})
        with self._open() as database:
            database.execute("INSERT OR REPLACE INTO notes VALUES ('sync', ?)", (value,))

    def last_sync(self) -> dict[str, Any]:
        """Return when that was, and what was noted; nothing where it never was."""
        if not self._path.exists():
            return {}
        with self._open() as database:
            found = database.execute("SELECT value FROM notes WHERE name = 'sync'").fetchone()
        return dict(json.loads(found[0])) if found else {}

    def rows(self) -> list[TrafficRow]:
        """Return all that was counted, by day and kind; nothing where nothing was."""
        if not self._path.exists():
            return []
        with self._open() as database:
            return [TrafficRow(*row) for row in database.execute("SELECT * FROM traffic ORDER BY day, kind")]

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Lend the database; what the block does is one transaction. Raises StoreUnavailable."""
        try:
            if not self._path.exists():
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._path.touch(mode=0o600)
            database = sqlite3.connect(self._path, timeout=PATIENCE)
            try:
                with database:
                    database.execute(_TABLE)
                    database.execute(_NOTES)
                    yield database
            finally:
                database.close()
        except (sqlite3.Error, OSError) as error:
            hint = "Free some disk space, or move the file away; the count begins anew then."
            raise StoreUnavailable(f"what leaves cannot be counted in {self._path}: {error}", hint=hint) from error
