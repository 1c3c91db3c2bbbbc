"""Queries of Neo4j's full-text indexes, in the syntax of Lucene."""

from collections.abc import Iterable, Sequence

MOST_TERMS = 150
MOST_SOURCES = 100
"""Maximum number of terms, and of sources that a query names; each counts twice. Lucene refuses more than 1,024 clauses."""
_SOURCE_FIELDS = {"evidence_text": ("source_id",), "unit_text": ("source_id", "id")}


def lucene_query(index: str, namespace: str, terms: Sequence[str], sources: Sequence[str] | None = None) -> str:
    """Return the query for nodes of a namespace with any of these search terms; "" without terms.

    With up to `MOST_SOURCES` sources only theirs are found. The caller must check the namespace again: an index knows its words
    alone. Quoted, a pair of Chinese characters is found as a pair; the index splits it. Only terms count for the score.
    """
    # Lucene would leave out a phrase without a letter, and find everything.
    words = [term for term in dict.fromkeys(terms) if any(map(str.isalnum, term))][:MOST_TERMS]
    if not words:
        return ""
    parts = [f"+namespace:{_quoted([namespace])}^0", f"+({_in_fields(('text', 'terms'), words)})"]
    if sources is not None and len(sources) <= MOST_SOURCES:
        parts.append(f"+({_in_fields(_SOURCE_FIELDS[index], sources)})^0")
    return " ".join(parts)


def _in_fields(fields: Iterable[str], phrases: Sequence[str]) -> str:
    return " ".join(f"{field}:({_quoted(phrases)})" for field in fields)


def _quoted(phrases: Iterable[str]) -> str:
    escaped = (phrase.replace("\\", "\\\\").replace('"', '\\"') for phrase in phrases)
    return " ".join(f'"{phrase}"' for phrase in escaped)
