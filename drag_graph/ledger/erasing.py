"""Erasing: afterwards no word of what was asked is in the ledger's file or its log."""

from collections.abc import Collection
from dataclasses import dataclass

from drag_graph.ledger.database import Database

_RESULTS = """
UPDATE results SET erased = 1, settings_hash = '', question = '', input_id = '', error = NULL, notes = '[]'
WHERE id = ? AND run_id IN (SELECT id FROM runs WHERE namespace = ?)
"""
_SOURCES = "UPDATE runs SET source = '' WHERE source LIKE '-q %' AND id IN (SELECT run_id FROM results WHERE id = ?)"
_EXCHANGES = "SELECT exchange_id FROM asked WHERE source_id = ?"
_ALONE = "SELECT 1 FROM asked WHERE exchange_id = ? LIMIT 1"


@dataclass(frozen=True, slots=True)
class ErasedRecords:
    """How many replies (with their calls), results of runs and requests of batches went."""

    replies: int = 0
    results: int = 0
    batch_requests: int = 0


def erase(database: Database, source_ids: Collection[str], namespace: str, *, keep_recorded: bool = False) -> ErasedRecords:
    """Erase what was asked, answered and noted for these queries, but what others have asked in the same words.

    With `keep_recorded` the replies stay, so that distilling the queries again costs nothing; what runs say of them goes all
    the same. Raises StoreLocked where another process keeps the old text in use.
    """
    replies = results = requests = 0
    with database.writing(durable=True) as rows:
        for source_id in source_ids:
            results += rows.execute(_RESULTS, (source_id, namespace)).rowcount
            rows.execute(_SOURCES, (source_id,))
            requests += rows.execute("DELETE FROM batch_requests WHERE source_id = ?", (source_id,)).rowcount
            if keep_recorded:
                continue
            exchanges = rows.execute(_EXCHANGES, (source_id,)).fetchall()
            rows.execute("DELETE FROM asked WHERE source_id = ?", (source_id,))
            for exchange in exchanges:
                if rows.execute(_ALONE, exchange).fetchone() is None:
                    rows.execute("DELETE FROM exchanges WHERE id = ?", exchange)
                    rows.execute("DELETE FROM calls WHERE exchange_id = ?", exchange)
                    replies += 1
    database.compact()
    return ErasedRecords(replies, results, requests)
