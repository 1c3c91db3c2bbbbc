"""The embedded graph store: Cypher in this process, on one file, by the `ladybug` package (docs/decisions/0001-stores.md)."""

import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from drag_graph.errors import StoreLocked
from drag_graph.graph import subgraph_checks as checks
from drag_graph.model import Aggregation, Answer, Subgraph
from drag_graph.ports.community_store import CommunityHit
from drag_graph.ports.site_registry import SummaryHit
from drag_graph.ports.vectors import Vectors
from drag_graph.stores.ladybug import subgraphs
from drag_graph.stores.ladybug.engine import READ_PATIENCE
from drag_graph.stores.ladybug.ladybug_access import LadybugAccess
from drag_graph.stores.ladybug.ladybug_search import LadybugSearch
from drag_graph.stores.ladybug.ladybug_transaction import LadybugTransaction
from drag_graph.stores.ladybug.subgraphs import read_subgraphs
from drag_graph.stores.shared.shared_concepts import SharedConcepts
from drag_graph.stores.shared.shared_parts import SharedCommunities, SharedRegistry, hit_of, hits_of
from drag_graph.stores.shared.shared_store import LAST, SharedStore
from drag_graph.stores.shared.transaction import ALL, NamespacePart, Result, Row, Run, Transaction
from drag_graph.stores.shared.vector_index import ASKED_AT_ONCE


class LadybugPart(NamespacePart):
    """A part of a store with vector search."""

    _access: "LadybugStore"


class LadybugRegistry(LadybugPart, SharedRegistry):
    """The `SiteRegistry` port on an embedded store."""

    rows_at_once = 16
    """Kept small because the engine processes the rows of a statement's first call again in every later call."""

    def _lock(self, session: Transaction, site_id: str) -> bool:
        return bool(session.run("read_sites", namespace=self._namespace, ids=[site_id]))  # one transaction writes at a time

    def nearest(self, vector: Sequence[float], k: int, *, without: str = "") -> list[SummaryHit]:
        if k < 1 or not any(vector):
            return []
        wanted = k
        while True:
            pairs = dict(self._access.search.index("summaries").nearest(np.asarray([vector], dtype=np.float32), wanted)[0])
            with self._access.reading() as session:
                found = session.run_by_ids("read_summaries", pairs, namespace=self._namespace)
            rows = {row["id"]: row for row in found if row["site_id"] != without}
            if len(rows) >= k or len(pairs) < wanted:
                return [hit_of(rows[id_], score) for id_, score in pairs.items() if id_ in rows][:k]
            wanted *= 4  # summaries of the site itself, or erased ones, were among the nearest


class LadybugCommunities(LadybugPart, SharedCommunities):
    """The `CommunityStore` port on an embedded store."""

    # The engine processes the rows that a statement was planned with again in every later call. But calls that join entities
    # to communities get slower with their number, so these should be few.
    rows_at_once = 256
    vectors_at_once = 32

    def nearest(self, vector: Sequence[float], k: int) -> list[CommunityHit]:
        scores = dict(self._access.search.index("communities").nearest(np.asarray([vector], dtype=np.float32), k)[0])
        rows = self._rows("read_communities", ids=list(scores)) if scores else []
        return hits_of(({**row, "score": scores[row["id"]]} for row in rows), k)


_linked: dict[tuple[str, str], str] = {}
"""The threads that link, by file and namespace. The lock on the file excludes other processes."""
_linked_lock = threading.Lock()


class LadybugConcepts(LadybugPart, SharedConcepts):
    """The `ConceptStore` port on an embedded store."""

    # The engine processes the rows that a statement was planned with again in every later call.
    rows_at_once = 32
    vectors_at_once = 32

    def _writing(self, work: Callable[[Run], Result], changed_vectors: Collection[str]) -> Result:
        with self._access.writing() as session:
            session.changed_vectors, session.changed_links = changed_vectors, True
            return work(session.run)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        place = os.path.realpath(self._access.location), self._namespace
        with _linked_lock:
            if place in _linked:
                where, who = f"Namespace {self._namespace!r} of {self._access.location}", f"thread {_linked[place]}"
                raise StoreLocked(f"{where} is being linked by {who} of this process.", hint="Wait until it ends.")
            _linked[place] = threading.current_thread().name
        try:
            yield
        finally:
            del _linked[place]

    def nearest_concepts(self, vectors: Vectors, k: int, *, floor: float = -1.0) -> Iterator[list[tuple[str, float]]]:
        index = self._access.search.index("similar")
        for start in range(0, len(vectors), ASKED_AT_ONCE):
            yield from index.nearest(vectors[start : start + ASKED_AT_ONCE], k, floor=floor)


class LadybugStore(LadybugAccess, SharedStore[LadybugTransaction]):
    """The `GraphStore` port on a file; see there for what each method promises."""

    parts = (LadybugConcepts, LadybugCommunities, LadybugRegistry)
    _search: LadybugSearch | None = None

    def _release(self) -> None:
        if self._search is not None:
            self._search.close()
        self._search = None
        super()._release()

    def compact(self, patience: float = READ_PATIENCE) -> None:
        """Put a new file with what is live in the place of this one (`Engine.compact`): what was erased is in no file then."""
        self.search.erase_index()  # first: a kill after the compaction must not leave it
        self.ready().compact(patience)
        self.search.erase_index()  # again: a reader that began before the erasure may have made it from what it saw

    @property
    def search(self) -> LadybugSearch:
        if self._search is None:
            self._search = LadybugSearch(self, read_only=self._read_only)
        return self._search

    def prepare_search(self) -> None:
        self.search.prepare()

    def aggregate(self, source_ids: Sequence[str], aggregation: Aggregation) -> None:
        if not source_ids:
            return
        with self.writing() as session:
            session.changed_vectors, session.changed_edges = (), True
            rows = session.run("read_sources", namespace=self._namespace, ids=list(dict.fromkeys(source_ids)))
            for source in rows:
                session.run("aggregate_erase", namespace=self._namespace, source_id=source["id"])
            are_documents = {source["id"]: source["is_document"] for source in rows}
            subgraphs.write_edges(session, self._namespace, are_documents, aggregation)

    def read(self, source_ids: Sequence[str]) -> list[Subgraph]:
        if not source_ids:
            return []
        return self.in_reading(lambda session: self._read_in(session, source_ids))

    def save_answers(self, answers: Sequence[Answer]) -> frozenset[str]:
        if not answers:
            return frozenset()
        checks.check_answers(answers, self._namespace)
        with self.writing() as session:
            session.changed_vectors = ()
            source_ids = self._lock_sources(session, (id_ for answer in answers for id_ in answer.source_ids)).keys()
            stored_ids = subgraphs.write_answers(
                session, self._namespace, [item for item in answers if source_ids >= set(item.source_ids)]
            )
        return checks.dropped(answers, stored_ids)

    def _read_in(self, session: LadybugTransaction, source_ids: Sequence[str]) -> list[Subgraph]:
        return read_subgraphs(session, self._namespace, source_ids)

    def _lock_sources(self, session: LadybugTransaction, source_ids: Iterable[str]) -> dict[str, str]:
        rows = session.run("read_sources", namespace=self._namespace, ids=list(dict.fromkeys(source_ids)))
        return {row["id"]: row["settings_hash"] for row in rows}

    def _erase_parts(self, session: LadybugTransaction, source_ids: Sequence[str]) -> Mapping[str, int]:
        session.changed_links = True  # of concepts that other sources share
        return subgraphs.erase_parts(session, self._namespace, source_ids)

    def _stream(self, name: str) -> Iterator[Row]:
        more = {"after": "", "until": LAST, "prefix": "", "limit": ALL} if name == "find_answers" else {}
        return self.ready().stream(name, namespace=self._namespace, **more)

    def _links(self) -> Iterator[Row]:
        yield from self._stream("records_links")
        yield from self._stream("records_links_concepts")

    def _write(
        self, session: LadybugTransaction, wanted: Mapping[str, Subgraph], replaced: Sequence[str], aggregation: Aggregation
    ) -> None:
        session.changed_links |= bool(replaced)
        subgraphs.write_subgraphs(session, self._namespace, wanted, replaced, aggregation)
