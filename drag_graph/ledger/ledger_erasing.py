"""Erase queries from the ledger: afterwards neither its file nor its log contains their texts."""

import json
from collections.abc import Collection

from drag_graph.ledger.ledger_file import LedgerFile
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
"""Whether another query still needs an exchange. A summary contains texts of several sources and is erased with any of them."""


def recorded_queries(database: LedgerFile, namespace: str) -> list[RecordedQuery]:
    """Return the queries whose texts are recorded: those of the namespace's runs, and those that belong to no run."""
    with database.reading() as rows:
        return [
            RecordedQuery(id_, frozenset(json.loads(lines)), domain, frozenset(json.loads(models)), asked_at, bool(is_complete))
            for id_, lines, domain, models, asked_at, is_complete in rows.execute(_QUERIES, (namespace,))
        ]


def erase(database: LedgerFile, source_ids: Collection[str], namespace: str, *, keep_recorded: bool = False) -> dict[str, int]:
    """Erase requests, replies and results of these queries, except exchanges that other queries share.

    Returns how many replies (with their calls), run results and batch requests were erased.
    With `keep_recorded` the replies stay, so that distilling the queries again costs nothing.

    Raises StoreLocked if another process still reads the old text.
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
    return {"replies": replies, "results": results, "batch_requests": requests}
