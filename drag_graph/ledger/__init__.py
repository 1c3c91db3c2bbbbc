"""The ledger: one SQLite file per store with the teacher tape, runs, quarantine, spending and batches."""

import json
from collections.abc import Collection, Iterator
from pathlib import Path

from drag_graph.ledger.batch_records import SUBMITTED, BatchRecords
from drag_graph.ledger.budget import Account
from drag_graph.ledger.journal import Journal
from drag_graph.ledger.ledger_file import LedgerFile
from drag_graph.ledger.tape import Tape, exported, imported
from drag_graph.ports.run_journal import RecordedQuery

__all__ = ["Ledger"]

_RESULTS = """
UPDATE results SET erased = 1, settings_hash = '', question = '', input_id = '', error = NULL, notes = '[]'
WHERE id = ? AND run_id IN (SELECT id FROM runs WHERE namespace = ?)
"""
_SOURCES = "UPDATE runs SET source = '' WHERE source LIKE '-q %' AND id IN (SELECT run_id FROM results WHERE id = ?)"
_QUERIES = """
WITH known AS (
    SELECT id AS source_id FROM results WHERE NOT erased
    UNION SELECT source_id FROM asked UNION SELECT source_id FROM batch_requests
)
SELECT source_id, json_group_array(DISTINCT input_id), coalesce(max(json_extract(nullif(question, ''), '$.domain')), ''),
    (SELECT json_group_array(DISTINCT model) FROM asked JOIN exchanges ON exchanges.id = exchange_id
     WHERE asked.source_id = known.source_id),
    coalesce(max(started_at), ''), coalesce(max(status = 'complete' AND NOT erased), 0)
FROM known LEFT JOIN results ON results.id = source_id LEFT JOIN runs ON runs.id = run_id
WHERE namespace = ? OR namespace IS NULL GROUP BY source_id ORDER BY source_id
"""
_EXCHANGES = "SELECT exchange_id FROM asked WHERE source_id = ?"
_OTHERS = """
SELECT 1 FROM asked JOIN exchanges ON exchanges.id = exchange_id WHERE exchange_id = ? AND stage <> 'summary' LIMIT 1
"""
"""Whether another query still needs an exchange. A summary contains texts of several sources and is erased with any of them."""


class Ledger(LedgerFile):
    """An open ledger. Thread-safe, and safe next to other processes.

    Without a path its content is temporary. With `read_only` the file must exist and may be write-protected.

    All its methods and parts raise StoreUnfit if the file cannot be used.
    """

    def __init__(self, path: Path | None = None, *, read_only: bool = False) -> None:
        super().__init__(path, read_only=read_only)
        self.tape = Tape(self)
        self.journal = Journal(self)

    def account(self, job: str) -> Account:
        """Return the spending of a job."""
        return Account(self, job)

    def batches(self, job: str, model: str) -> BatchRecords:
        """Return the batches of a job. Raises StoreLocked if another process works on them."""
        return BatchRecords(self, job, model)

    def give_up(self, batch_id: str) -> int:
        """Delete the requests of a batch whose replies are lost; return how many.

        The next run of its job counts the batch as paid in full and sends the requests again.
        """
        statement = "DELETE FROM batch_requests WHERE token IN (SELECT token FROM batches WHERE batch_id = ? AND status = ?)"
        with self.writing() as rows:
            return rows.execute(statement, (batch_id, SUBMITTED)).rowcount

    def queries(self, namespace: str) -> list[RecordedQuery]:
        """Return the queries whose texts are recorded: those of the namespace's runs, and those that belong to no run."""
        with self.reading() as rows:
            return [
                RecordedQuery(id_, frozenset(json.loads(ids)), domain, frozenset(json.loads(models)), at, bool(is_complete))
                for id_, ids, domain, models, at, is_complete in rows.execute(_QUERIES, (namespace,))
            ]

    def erase(self, source_ids: Collection[str], namespace: str, *, keep_recorded: bool = False) -> dict[str, int]:
        """Erase requests, replies and results of these queries, except exchanges that other queries share.

        Afterwards neither the file nor its log contains their texts. Returns how many replies (with their calls), run results
        and batch requests were erased. With `keep_recorded` the replies stay, so that distilling the queries again costs
        nothing. Raises StoreLocked if another process still reads the old text.
        """
        replies = results = requests = 0
        with self.writing(durable=True) as rows:
            for source_id in source_ids:
                results += rows.execute(_RESULTS, (source_id, namespace)).rowcount
                rows.execute(_SOURCES, (source_id,))
                requests += rows.execute("DELETE FROM batch_requests WHERE source_id = ?", (source_id,)).rowcount
                if keep_recorded:
                    continue
                exchanges = rows.execute(_EXCHANGES, (source_id,)).fetchall()
                rows.execute("DELETE FROM asked WHERE source_id = ?", (source_id,))
                for exchange in exchanges:
                    if rows.execute(_OTHERS, exchange).fetchone() is None:
                        rows.execute("DELETE FROM asked WHERE exchange_id = ?", exchange)
                        rows.execute("DELETE FROM exchanges WHERE id = ?", exchange)
                        rows.execute("DELETE FROM calls WHERE exchange_id = ?", exchange)
                        replies += 1
        self.compact()
        return {"replies": replies, "results": results, "batch_requests": requests}

    def rows(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield a name for each row, and its texts by column."""
        with self.reading() as rows:
            tables = [name for (name,) in rows.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
            for table in tables:
                cursor = rows.execute(f"SELECT * FROM {table}")  # noqa: S608 - a name from our own schema
                names = [column[0] for column in cursor.description]
                for number, row in enumerate(cursor, start=1):
                    texts = {name: value for name, value in zip(names, row, strict=True) if isinstance(value, str)}
                    yield f"{table} {number}", texts

    def export_tape(self) -> Iterator[str]:
        """Yield the replies as JSON lines."""
        return exported(self)

    def import_tape(self, file: Path) -> int:
        """Add the replies of an exported tape; return how many are new."""
        with file.open("rb") as lines:
            return imported(self, lines, str(file))
