"""The service's own SQLite file: the keys and jobs of one store, for all its namespaces."""

from drag_graph.ledger.sqlite_file import FileKind

SERVICE = FileKind(
    name="service file",
    schema="""
CREATE TABLE keys (
    name TEXT PRIMARY KEY, sha256 TEXT NOT NULL UNIQUE, role TEXT NOT NULL, namespaces TEXT NOT NULL, created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL, budget INTEGER, spent INTEGER NOT NULL DEFAULT 0, revoked_at TEXT NOT NULL DEFAULT ''
);
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, namespace TEXT NOT NULL,
    caller TEXT NOT NULL, request TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'queued', created_at TEXT NOT NULL,
    started_at TEXT NOT NULL DEFAULT '', finished_at TEXT NOT NULL DEFAULT '', progress TEXT NOT NULL DEFAULT '{}',
    report TEXT NOT NULL DEFAULT 'null', error TEXT NOT NULL DEFAULT 'null', spent INTEGER NOT NULL DEFAULT 0,
    is_cancelled INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX jobs_of_state ON jobs (state)
""",
    hint="Free disk space, or correct the permissions of {path}.",
    restore="Restore {path} from a backup, or move it away. All keys and unfinished jobs are then lost.",
    application=0x64726773,
    version=1,
)
