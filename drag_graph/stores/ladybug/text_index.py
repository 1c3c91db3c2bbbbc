"""The full-text index of an embedded store: a SQLite file next to it, derived from it.

It has what search needs of a namespace: units, passages and triples by their ids, and their terms in two FTS5 tables. The
store has a revision of each source and of the whole; the index is brought up to date whenever these differ, before it answers.
So it never disagrees with the store, whatever was killed. It may be deleted at any time.
"""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from drag_graph.errors import StoreUnfit
from drag_graph.graph.paging import pages
from drag_graph.graph.search_terms import search_terms
from drag_graph.ledger.sqlite_file import FileKind, SqliteFile
from drag_graph.stores.ladybug.ladybug_transaction import LadybugTransaction
from drag_graph.stores.shared.transaction import Row

SOURCES_AT_ONCE = 32
MOST_POSTINGS = 20_000
"""Of the terms of a question, the rarest count: as many as have at most this number of occurrences together."""
NAME = "full-text index"
_KIND = FileKind(
    name=NAME,
    schema=Path(__file__).with_name("text_index.sql").read_text(encoding="utf-8"),
    hint="Free disk space or correct the permissions.",
    restore="Delete {path}; it is made again from the store.",
    application=0x64726773,
    version=4,
)
_STATE = "SELECT revision, links FROM state"
_ADD_SOURCE = "INSERT INTO source VALUES (:id, :revision, :is_document, :title, :date, :tags)"
_ADD_UNIT = "INSERT INTO unit VALUES (:n, :id, :source_id, :position, :start, :page, :heading, :text)"
_ADD_PASSAGE = "INSERT INTO passage VALUES (:n, :id, :unit, :position, :start, :end, :text)"
_ADD_FACT = (
    "INSERT INTO fact VALUES (NULL, :id, :unit, :evidence_id, :subject_id, :subject, :subject_node, :predicate, :object_id, "
    ":object, :object_node, :confidence, :predicate_key)"
)
Rows = Callable[[str, Sequence[object]], list[Any]]


class TextIndex:
    """The index of one namespace. Thread-safe. With `read_only`, or if the file cannot be written, changes stay in memory."""

    def __init__(self, path: Path, *, read_only: bool) -> None:
        self._path = path
        self._read_only = read_only
        self._file = self._open()

    def close(self) -> None:
        """Release the file."""
        self._file.close()

    def update(self, session: LadybugTransaction, namespace: str, key: str) -> None:
        """Bring the index up to the state of the store that a transaction sees; `key` is that of the namespace's revision."""
        rows = session.run("index_revision", key=key)
        state = (rows[0]["revision"], rows[0]["links"]) if rows else ("", "")
        with self._file.reading() as connection:
            known = connection.execute(_STATE).fetchone()
        if known == state and any(state):  # a store of an earlier version has no revision
            return
        if self._read_only and self._file.path is not None:
            self._file = self._file.copied()  # the other is not closed: another thread may be reading it
        with self._file.writing() as connection:
            known = connection.execute(_STATE).fetchone()
            stored = {row["id"]: row["revision"] for row in session.run("index_sources", namespace=namespace)}
            indexed = dict(connection.execute("SELECT id, revision FROM source"))
            changed = [id_ for id_, revision in stored.items() if indexed.get(id_) != revision]
            for page in pages([id_ for id_ in indexed if indexed[id_] != stored.get(id_)], SOURCES_AT_ONCE):
                _remove(connection, page)
            for page in pages(changed, SOURCES_AT_ONCE):
                _add(connection, session, namespace, page, stored)
            if known is None or known[1] != state[1]:
                _renew_nodes(connection, session.run("index_nodes", namespace=namespace))
            connection.execute("DELETE FROM state")
            connection.execute("INSERT INTO state VALUES (?, ?)", state)

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[tuple]:  # type: ignore[type-arg]
        """Return the rows of a reading statement."""
        with self.reading() as rows:
            return rows(statement, values)

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        """Lend a function like `rows` whose calls all see the same state. Numbers of units are used again in later states."""
        with self._file.reading() as connection:
            yield lambda statement, values: connection.execute(statement, values).fetchall()

    def matching(self, table: str, terms: Iterable[str], k: int, source_ids: Collection[str] | None) -> dict[str, float]:
        """Return up to `k` ids of `unit` or `passage` with their BM25 scores for terms, best first."""
        wanted = self._rarest(table, terms)
        if not wanted or k < 1:
            return {}
        query = " OR ".join(f'"{term}"' for term in wanted)
        found, within = f"{table}_terms WHERE {table}_terms MATCH ?", list[str]()
        if source_ids is not None:
            units = "SELECT n FROM unit WHERE source_id IN (SELECT value FROM json_each(?))"
            numbers = units if table == "unit" else f"SELECT n FROM passage WHERE unit IN ({units})"
            found, within = f"{found} AND {table}_terms.rowid IN ({numbers})", [json.dumps(sorted(source_ids))]
        # Ids are only read of the best hits, and of those with the score of the last one.
        rows = self.rows(
            f"WITH hit AS MATERIALIZED (SELECT {table}_terms.rowid AS n, bm25({table}_terms) AS score FROM {found}) "
            f"SELECT t.id, -hit.score FROM hit JOIN {table} t ON t.n = hit.n "
            "WHERE hit.score <= ifnull((SELECT score FROM hit ORDER BY score LIMIT 1 OFFSET ?), 0) "
            "ORDER BY hit.score, t.text, t.id LIMIT ?",
            [query, *within, k - 1, k],
        )
        return dict(rows)

    def _rarest(self, table: str, terms: Iterable[str]) -> list[str]:
        """Return the terms that occur, rarest first, up to a number of occurrences together."""
        placed = list(dict.fromkeys(terms))
        marks = ", ".join("?" * len(placed))
        counted = self.rows(f"SELECT doc, term FROM {table}_vocabulary WHERE term IN ({marks}) ORDER BY doc, term", placed)
        total, wanted = 0, list[str]()
        for number, term in counted:
            total += number
            if wanted and total > MOST_POSTINGS:
                break
            wanted.append(term)
        return wanted

    def _open(self) -> SqliteFile:
        if self._path.exists() or not self._read_only:
            with suppress(StoreUnfit):
                return SqliteFile(_KIND, self._path, read_only=self._read_only)
        if not self._read_only:
            with suppress(OSError, StoreUnfit):
                delete_files(self._path)  # damaged, or of another version: it is rebuilt
                return SqliteFile(_KIND, self._path)
        return SqliteFile(_KIND)


def delete_files(path: Path) -> None:
    """Delete an index: the log first, because SQLite would replay it into the next one."""
    for suffix in ("-wal", "-shm", ""):
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)


def _remove(connection: sqlite3.Connection, source_ids: Sequence[str]) -> None:
    marks = ", ".join("?" * len(source_ids))
    units = f"SELECT n FROM unit WHERE source_id IN ({marks})"
    passages = f"SELECT n FROM passage WHERE unit IN ({units})"
    connection.execute(f"DELETE FROM fact WHERE unit IN ({units})", source_ids)
    connection.execute(f"DELETE FROM passage_terms WHERE rowid IN ({passages})", source_ids)
    connection.execute(f"DELETE FROM passage WHERE unit IN ({units})", source_ids)
    connection.execute(f"DELETE FROM unit_terms WHERE rowid IN ({units})", source_ids)
    connection.execute(f"DELETE FROM unit WHERE source_id IN ({marks})", source_ids)
    connection.execute(f"DELETE FROM source WHERE id IN ({marks})", source_ids)


def _add(
    connection: sqlite3.Connection,
    session: LadybugTransaction,
    namespace: str,
    source_ids: Sequence[str],
    revisions: Mapping[str, str],
) -> None:
    heads = {row["id"]: row for row in session.run("index_heads", namespace=namespace, ids=source_ids)}
    sources = ({**row, "revision": revisions[id_], "tags": json.dumps(row["tags"])} for id_, row in heads.items())
    connection.executemany(_ADD_SOURCE, sources)
    units = _unit_numbers(connection, heads, session.run("index_chunks", ids=source_ids))
    evidence = session.run("index_evidence", ids=source_ids)
    unit_of = {row["id"]: units[row["chunk_id"] or row["source_id"]] for row in evidence}
    numbered = enumerate(evidence, start=_next_number(connection, "passage"))
    passages = [{**row, "n": n, "unit": unit_of[row["id"]]} for n, row in numbered]
    connection.executemany(_ADD_PASSAGE, passages)
    _add_terms(connection, "passage", ((row["n"], row["text"]) for row in passages))
    nodes = {row["id"]: row["node"] for row in session.run("index_nodes_of_sources", ids=source_ids)}
    facts = [row for row in session.run("index_triples", ids=source_ids) if row["evidence_id"] in unit_of]
    for row in facts:
        subject, object_ = (nodes.get(id_, id_) for id_ in (row["subject_id"], row["object_id"]))
        row |= {"unit": unit_of[row["evidence_id"]], "subject_node": subject, "object_node": object_}
    facts.sort(key=lambda row: (row["unit"], row["id"]))
    connection.executemany(_ADD_FACT, facts)


def _unit_numbers(connection: sqlite3.Connection, heads: Mapping[str, Row], chunks: Sequence[Row]) -> dict[str, int]:
    """Write the units of sources; return their numbers by id."""
    queries: list[Row] = [
        {"id": id_, "source_id": id_, "position": 0, "start": 0, "page": None, "heading": [], "text": ""}
        for id_, head in heads.items()
        if not head["is_document"]
    ]
    numbered = list(enumerate([*queries, *chunks], start=_next_number(connection, "unit")))
    units = ({**row, "n": n, "heading": json.dumps(row["heading"])} for n, row in numbered)
    connection.executemany(_ADD_UNIT, units)
    texts = ((n, "\n".join([heads[row["source_id"]]["title"], *row["heading"], row["text"]])) for n, row in numbered)
    _add_terms(connection, "unit", texts)
    return {row["id"]: n for n, row in numbered}


def _next_number(connection: sqlite3.Connection, table: str) -> int:
    (last,) = connection.execute(f"SELECT coalesce(max(n), 0) FROM {table}").fetchone()
    return int(last) + 1


def _add_terms(connection: sqlite3.Connection, table: str, texts: Iterable[tuple[int, str]]) -> None:
    rows: Iterator[tuple[int, str]] = ((n, " ".join(search_terms(text))) for n, text in texts)
    connection.executemany(f"INSERT INTO {table}_terms (rowid, terms) VALUES (?, ?)", rows)


def _renew_nodes(connection: sqlite3.Connection, rows: Iterable[Row]) -> None:
    nodes = {row["id"]: row["node"] for row in rows}
    connection.create_function("node_of", 1, lambda id_: nodes.get(id_, id_))
    connection.execute(
        "UPDATE fact SET subject_node = node_of(subject_id), object_node = node_of(object_id) "
        "WHERE subject_node <> node_of(subject_id) OR object_node <> node_of(object_id)"
    )
