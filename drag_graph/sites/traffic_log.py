"""Traffic between a site and its cloud: requests, texts and bytes by day and kind, in a file of the site's own."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from drag_graph.ledger.sqlite_file import FileKind, SqliteFile

TRAFFIC_LOG = FileKind(
    name="traffic log",
    schema="""
CREATE TABLE traffic (
    day TEXT, kind TEXT, requests INTEGER, texts INTEGER, bytes_out INTEGER, bytes_in INTEGER, PRIMARY KEY (day, kind)
);
CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT);
""",
    hint="Free disk space or correct the permissions. Nothing is sent that cannot be counted.",
    restore="Restore {path} from a backup, or move it away: counting then starts from zero.",
)
_ADD = """
INSERT INTO traffic VALUES (?, ?, 1, ?, ?, ?)
ON CONFLICT (day, kind) DO UPDATE SET requests = requests + 1, texts = texts + excluded.texts,
    bytes_out = bytes_out + excluded.bytes_out, bytes_in = bytes_in + excluded.bytes_in
"""


@dataclass(frozen=True, slots=True)
class TrafficRow:
    """One day's traffic of one kind. `texts` are the summaries, passages and questions sent; bytes are those of bodies."""

    day: str
    kind: str
    requests: int
    texts: int
    bytes_out: int
    bytes_in: int


class Traffic:
    """The traffic log of one site. Several processes may add to it. Raises StoreUnfit if the file cannot be used."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, kind: str, *, texts: int, bytes_out: int, bytes_in: int) -> None:
        """Count one request."""
        day = datetime.now(UTC).date().isoformat()
        with SqliteFile(TRAFFIC_LOG, self._path) as file, file.writing() as rows:
            rows.execute(_ADD, (day, kind, texts, bytes_out, bytes_in))

    def note_sync(self, **counts: int) -> None:
        """Record that the cloud was updated now."""
        value = json.dumps({"at": datetime.now(UTC).isoformat(timespec="seconds"), **counts})
        with SqliteFile(TRAFFIC_LOG, self._path) as file, file.writing() as rows:
            rows.execute("INSERT OR REPLACE INTO notes VALUES ('sync', ?)", (value,))

    def last_sync(self) -> dict[str, Any]:
        """Return time and counts of the last update of the cloud; empty if there was none."""
        values = self._read("SELECT value FROM notes WHERE name = 'sync'")
        return dict(json.loads(values[0][0])) if values else {}

    def rows(self) -> list[TrafficRow]:
        """Return all traffic by day and kind."""
        return [TrafficRow(*row) for row in self._read("SELECT * FROM traffic ORDER BY day, kind")]

    def _read(self, statement: str) -> list[Any]:
        if not self._path.exists():
            return []
        with SqliteFile(TRAFFIC_LOG, self._path, read_only=True) as file, file.reading() as rows:
            return rows.execute(statement).fetchall()
