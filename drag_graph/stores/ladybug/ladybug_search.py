"""Search in an embedded store: `drag_graph.ports.graph_search.GraphSearch`.

The engine's vector index needs a download, so vectors are compared here, all at once, in single precision. After a write, the
vectors that it may have changed are read again; all of them, if these are many or unknown, as after a replacement, an erasure
or a failed write. Words, units and facts are in a full-text index next to the store (`text_index`).
"""

import json
import os
import re
import threading
from collections.abc import Callable, Sequence
from functools import wraps
from hashlib import sha256
from pathlib import Path
from typing import ParamSpec, TypeVar

import numpy as np

from drag_graph.errors import StoreUnfit
from drag_graph.model import DEFAULT_NAMESPACE, Subgraph
from drag_graph.ports.graph_search import EVERYTHING, Candidates, Fact, Found, Hit, Passage, Restriction, Unit, is_within
from drag_graph.ports.vectors import Vectors
from drag_graph.stores.ladybug.ladybug_access import LadybugAccess, revision_key
from drag_graph.stores.ladybug.ladybug_transaction import IDS_AT_ONCE, LadybugTransaction
from drag_graph.stores.ladybug.subgraphs import read_parts
from drag_graph.stores.ladybug.text_index import NAME, TextIndex
from drag_graph.stores.shared.vector_index import VectorIndex

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
READ_BY_IDS = 8
"""Up to one vector in this many is read by its id, which takes six times as long as reading it among all."""
_VECTORS = {
    "queries": "search_candidates_query_vectors",
    "evidence": "search_candidates_evidence_vectors",
    "similar": "search_candidates_concept_vectors",
    "communities": "search_candidates_community_vectors",
    "summaries": "summary_vectors",
}
_FACT = (
    "SELECT f.id, u.id, u.source_id, f.evidence_id, f.subject_id, f.subject, f.subject_node, f.predicate, f.object_id, "
    "f.object, f.object_node, f.confidence, f.predicate_key FROM fact f JOIN unit u ON u.n = f.unit"
)
_FACTS_OF_UNITS = f"{_FACT} WHERE f.unit IN (SELECT value FROM json_each(?)) ORDER BY f.id"
_BEST = "confidence DESC, subject, predicate, object, id"
_OF_END = f"SELECT * FROM (SELECT n, {_BEST.replace(' DESC', '')} FROM fact WHERE {{}}_node = ? ORDER BY {_BEST} LIMIT ?)"
_FACTS_OF_NODE = (
    f"{_FACT} WHERE f.n IN (SELECT n FROM ({_OF_END.format('subject')} UNION {_OF_END.format('object')} "
    f"ORDER BY {_BEST} LIMIT ?)) ORDER BY f.confidence DESC, f.subject, f.predicate, f.object, f.id"
)
_UNIT = (
    "SELECT u.id, u.source_id, s.is_document, s.title, s.date, u.position, u.start, u.page, u.heading, u.text, t.terms, u.n "
    "FROM unit u JOIN source s ON s.id = u.source_id JOIN unit_terms t ON t.rowid = u.n "
    "WHERE u.id IN (SELECT value FROM json_each(?))"
)
_UNIT_OF = "SELECT p.id, u.id FROM passage p JOIN unit u ON u.n = p.unit WHERE p.id IN (SELECT value FROM json_each(?))"
_PASSAGE = (
    "SELECT p.unit, p.id, p.text, p.position, p.start, p.end, t.terms FROM passage p JOIN passage_terms t ON t.rowid = p.n "
    "WHERE p.unit IN (SELECT value FROM json_each(?)) ORDER BY p.position, p.id"
)


def _repaired(method: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Repeat a method of `LadybugSearch` with a new full-text index if the old one is damaged or cannot be written."""

    @wraps(method)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return method(*args, **kwargs)
        except StoreUnfit as error:
            search = args[0]
            if NAME not in str(error) or not isinstance(search, LadybugSearch) or search.read_only:
                raise
            search.erase_index()
            return method(*args, **kwargs)

    return call


class LadybugSearch:
    """The `GraphSearch` port on an embedded store; see there for what each method promises."""

    def __init__(self, access: LadybugAccess, *, read_only: bool) -> None:
        self._access = access
        self.read_only = read_only
        self._indexes: dict[str, VectorIndex] = {}
        self._text_index: TextIndex | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """Release the full-text index."""
        with self._lock:
            if self._text_index is not None:
                self._text_index.close()
            self._text_index = None

    def erase_index(self) -> None:
        """Delete the full-text indexes of all namespaces, so that they contain nothing that was erased."""
        with self._lock:
            self._text_index = None  # not closed: another thread may be reading it
        path = self._index_path("")
        own = re.compile(rf"{re.escape(path.name.removesuffix('.search'))}(\.[0-9a-f]{{12}})?\.search(-wal|-shm)?")
        for file in sorted(path.parent.iterdir()):
            if own.fullmatch(file.name):
                file.unlink(missing_ok=True)

    def _index_path(self, part: str) -> Path:
        path = Path(os.path.realpath(self._access.location))
        return path.with_name(f"{path.name}{part}.search")

    def index(self, kind: str) -> VectorIndex:
        """Return the current vectors of `queries`, `evidence`, `similar` concepts or `communities`."""
        engine, index = self._access.ready(), self._indexes.get(kind)
        # The version is taken before the vectors, so that a write in between only makes the next call read again.
        version = engine.version
        if index is not None and index.version != version:
            index = self._renewed(kind, index, version)
        if index is None:
            index = VectorIndex.of(version, engine.stream(_VECTORS[kind], namespace=self._access.namespace))
        self._indexes[kind] = index
        return index

    def _renewed(self, kind: str, index: VectorIndex, version: int) -> VectorIndex | None:
        """Return the index with everything written since; None if reading all vectors is necessary or cheaper."""
        changed = self._access.ready().changed_since(index.version)
        if changed is None or len(changed) > max(IDS_AT_ONCE, len(index.ids) // READ_BY_IDS):
            return None
        with self._access.reading() as session:
            statement = f"search_candidates_vectors_{kind}"
            return index.renewed(version, changed, session.run_by_ids(statement, changed, namespace=self._access.namespace))

    def _text(self, session: LadybugTransaction) -> TextIndex:
        """Return the full-text index in the state that a transaction sees."""
        namespace = self._access.namespace
        with self._lock:
            if self._text_index is None:
                part = "" if namespace == DEFAULT_NAMESPACE else f".{sha256(namespace.encode()).hexdigest()[:12]}"
                self._text_index = TextIndex(self._index_path(part), read_only=self.read_only)
            self._text_index.update(session, namespace, revision_key(namespace))
            return self._text_index

    @_repaired
    def prepare(self) -> None:
        """Bring the full-text index up to date, so that the next search need not."""
        with self._access.reading() as session:
            self._text(session)

    @_repaired
    def candidates(
        self, vector: Sequence[float], terms: Sequence[str], k: int, *, source_id: str = "", only: Restriction = EVERYTHING
    ) -> Candidates:
        namespace, numbers = self._access.namespace, np.asarray([vector], dtype=np.float32)
        with self._access.reading() as session:
            text = self._text(session)
            sources = _sources(text, only) if only else None
            near = {kind: self._nearest(kind, text, numbers, k, sources) for kind in ("queries", "evidence")}
            by_words = text.matching("passage", terms, k, sources)
            units = text.matching("unit", terms, k, sources)
            own = session.run("read_sources", namespace=namespace, ids=[source_id])
            rows = session.run_by_ids("search_queries", near["queries"], namespace=namespace)
            names = {row["id"]: row["text"] for row in rows}
        unit_of = dict(text.rows(_UNIT_OF, [json.dumps([*near["evidence"], *by_words])]))
        return Candidates(
            own=bool(own) and (sources is None or source_id in sources),
            queries=tuple(Hit(id_, score, names[id_]) for id_, score in near["queries"].items() if id_ in names),
            found=Found({id_: score for id_, score in near["evidence"].items() if id_ in unit_of}, by_words, units, unit_of),
        )

    def _nearest(
        self, kind: str, text: TextIndex, numbers: Vectors, k: int, sources: frozenset[str] | None
    ) -> dict[str, float]:
        """Return up to `k` ids of queries or evidence with their cosines, of all sources or of these, nearest first."""
        if not numbers.any():
            return {}
        allowed = sources
        if kind == "evidence" and sources is not None:
            rows = text.rows(
                "SELECT p.id FROM passage p JOIN unit u ON u.n = p.unit WHERE u.source_id IN (SELECT value FROM json_each(?))",
                [json.dumps(sorted(sources))],
            )
            allowed = frozenset(id_ for (id_,) in rows)
        return dict(self.index(kind).nearest(numbers, k, among=allowed)[0])

    @_repaired
    def units(self, ids: Sequence[str], vectors: Vectors) -> list[Unit]:
        with self._access.reading() as session:
            text = self._text(session)
        with text.reading() as rows_of:
            heads = rows_of(_UNIT, [json.dumps(list(ids))])
            numbers = json.dumps([head[-1] for head in heads])
            rows = rows_of(_PASSAGE, [numbers])
            fact_rows = rows_of(_FACTS_OF_UNITS, [numbers])
        cosines = self.index("evidence").cosines([row[1] for row in rows], np.asarray(vectors, dtype=np.float32))
        passages: dict[int, list[Passage]] = {}
        for (unit, id_, words, position, start, end, terms), own in zip(rows, cosines.tolist(), strict=True):
            passages.setdefault(unit, []).append(Passage(id_, words, position, start, end, terms, tuple(own)))
        facts_by_unit: dict[str, list[Fact]] = {}
        for row in fact_rows:
            facts_by_unit.setdefault(row[1], []).append(Fact(*row))
        return [_unit(head, passages.get(head[-1], []), facts_by_unit.get(head[0], [])) for head in heads]

    @_repaired
    def around(self, nodes: Sequence[str], limit: int) -> list[Fact]:
        with self._access.reading() as session:
            text = self._text(session)
        found: dict[str, Fact] = {}
        for node in dict.fromkeys(nodes):
            rows = text.rows(_FACTS_OF_NODE, [node, limit, node, limit, limit])
            found |= {row[0]: Fact(*row) for row in rows}
        return list(found.values())

    def subgraphs(self, evidence_ids: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[Subgraph]:
        with self._access.reading() as session:
            return read_parts(session, self._access.namespace, evidence_ids, pairs)


def _sources(text: TextIndex, only: Restriction) -> frozenset[str]:
    """Return the ids of the sources that a restriction allows."""
    rows = text.rows("SELECT id, title, date, tags FROM source")
    return frozenset(id_ for id_, title, date, tags in rows if is_within(only, id_, title, date, json.loads(tags)))


def _unit(head: tuple, passages: Sequence[Passage], facts: Sequence[Fact]) -> Unit:  # type: ignore[type-arg]
    id_, source_id, is_document, title, date, position, start, page, heading, text, terms, _ = head
    if not is_document:
        terms = " ".join([terms, *(passage.terms for passage in passages)])
    place = (position, start, page, tuple(json.loads(heading)))
    return Unit(id_, source_id, bool(is_document), title, date, *place, text, terms, tuple(passages), tuple(facts))
