"""Erasing: afterwards no word of what was asked is in the ledger's file or its log."""

import json
from collections.abc import Collection
from dataclasses import dataclass

from drag_graph.ledger.sqlite_file import Database
from drag_graph.ports.run_journal import RecordedQuery

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
"""Who else has asked the same. A summary shows what several sources say, and goes with any of them."""


@dataclass(frozen=True, slots=True)
class ErasedRecords:
    """How many replies (with their calls), results of runs and requests of batches went."""

    replies: int = 0
    results: int = 0
    batch_requests: int = 0


def recorded_queries(database: Database, namespace: str) -> list[RecordedQuery]:
    """Return the queries of which there are words to erase: those of the namespace's runs, and those that no run knows."""
    with database.reading() as rows:
        found = rows.execute(_QUERIES, (namespace,)).fetchall()
    return [
        RecordedQuery(id_, frozenset(json.loads(input_ids)), domain, frozenset(json.loads(models)), asked_at, bool(is_complete))
        for id_, input_ids, domain, models, asked_at, is_complete in found
    ]


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
                if rows.execute(_OTHERS, exchange).fetchone() is None:
                    rows.execute("DELETE FROM asked WHERE exchange_id = ?", exchange)
                    rows.execute("DELETE FROM exchanges WHERE id = ?", exchange)
                    rows.execute("DELETE FROM calls WHERE exchange_id = ?", exchange)
                    replies += 1
    database.compact()
    return ErasedRecords(replies, results, requests)
