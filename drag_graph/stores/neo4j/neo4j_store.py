"""The graph store in Neo4j 5.26 LTS or 2026.x, Community or Enterprise."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

from drag_graph.errors import StoreError, StoreLocked
from drag_graph.graph import subgraph_checks as checks
from drag_graph.graph.paging import pages
from drag_graph.model import Aggregation, Answer, Subgraph
from drag_graph.ports.community_store import CommunityHit
from drag_graph.ports.graph_store import Replace, SaveOutcome
from drag_graph.ports.site_registry import SummaryHit
from drag_graph.ports.vectors import Vector, Vectors
from drag_graph.stores.neo4j import neo4j_rows as rows
from drag_graph.stores.neo4j.connection import IdTaken, Work
from drag_graph.stores.neo4j.neo4j_access import Neo4jAccess
from drag_graph.stores.neo4j.neo4j_search import LEAST_CANDIDATES, Neo4jSearch
from drag_graph.stores.shared import shared_parts
from drag_graph.stores.shared.shared_concepts import SharedConcepts, recount_concepts, touched_concepts
from drag_graph.stores.shared.shared_store import LAST, SharedStore
from drag_graph.stores.shared.transaction import Result, Row, Run, Transaction
from drag_graph.stores.shared.vector_index import VectorIndex


class Neo4jRegistry(shared_parts.SharedRegistry):
    """The `SiteRegistry` port on Neo4j."""

    def _lock(self, session: Transaction, site_id: str) -> bool:
        return bool(session.run("lock_site", namespace=self._namespace, id=site_id))

    def nearest(self, vector: Sequence[float], k: int, *, without: str = "") -> list[SummaryHit]:
        numbers = [float(number) for number in vector]
        if k < 1 or not any(numbers):  # a zero vector matches nothing, and the index refuses it
            return []
        candidates = max(LEAST_NEIGHBOURS, 4 * k)
        (row,) = self._rows("nearest_summaries", vector=numbers, candidates=candidates, k=k, without=without)
        if len(row["hits"]) < k:  # summaries of other namespaces or of the site itself may have taken the places
            (row,) = self._rows("nearest_summaries_exact", vector=numbers, k=k, without=without)
        return [shared_parts.hit_of(hit, hit["score"]) for hit in row["hits"]]


class Neo4jCommunities(shared_parts.SharedCommunities):
    """The `CommunityStore` port on Neo4j."""

    def nearest(self, vector: Sequence[float], k: int) -> list[CommunityHit]:
        if not any(vector) or k < 1:
            return []  # a zero vector matches nothing, and the index refuses it
        values = {"vector": [float(x) for x in vector], "candidates": max(LEAST_CANDIDATES, 4 * k), "k": k}
        return shared_parts.hits_of(self._rows("nearest_communities", **values), k)


LEASE_SECONDS = 60
"""How long a silent linker excludes others; each of its writes restarts this time."""
LEAST_NEIGHBOURS = 40
"""Minimum number of candidates from the vector index, which covers all namespaces and is inexact for few."""
READS_PER_SEARCH = 100
"""Number of vectors that are read in the time of one search of the vector index."""
_HINT = "Wait until that run has ended, then run the same command again."


class Neo4jConcepts(SharedConcepts):
    """The `ConceptStore` port on Neo4j.

    A linker holds a lease on a node of the namespace, with a number that grows with each linker. Every write checks that number
    in the same transaction, so that a linker writes nothing more after another one has taken over.
    """

    _token = 0

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        token, until = self._access.in_writing(lambda work: self._lease(work, 0))
        if not token:
            when = datetime.fromtimestamp(until / 1000, UTC).isoformat(timespec="seconds")
            raise StoreLocked(f"{self._place} is being linked by another process (lease until {when}).", hint=_HINT)
        self._token = token
        try:
            yield
        finally:
            self._token = 0
            # If the server is away, the lease expires.
            with suppress(StoreError):
                self._access.in_writing(lambda work: self._lease(work, token, seconds=0))

    def _lease(self, work: Work, token: int, seconds: int = LEASE_SECONDS) -> tuple[int, int]:
        """Take the lease (`token` 0) or renew it. Return the token (0 if another linker has it) and the end of the lease."""
        (row,) = work.run("link_lease", namespace=self._namespace, token=token, milliseconds=1000 * seconds)
        return row["token"], row["until"]

    @property
    def _place(self) -> str:
        return f"Namespace {self._namespace!r} of {self._access.location}"

    def _writing(self, work: Callable[[Run], Result], changed_vectors: Collection[str]) -> Result:
        del changed_vectors  # no vectors are kept in this process
        token = self._token

        def run(session: Work) -> Result:
            if token and not self._lease(session, token)[0]:
                raise StoreLocked(
                    f"{self._place} was taken over by another process, because this run did not renew its lease in time.",
                    hint=_HINT,
                )
            return work(session.run)

        return self._access.in_writing(run)

    def nearest_concepts(self, vectors: Vectors, k: int, *, floor: float = -1.0) -> Iterator[list[tuple[str, float]]]:
        (row,) = self._rows("count_concepts")
        index = self._all_vectors() if len(vectors) * READS_PER_SEARCH >= row["number"] else None
        for start in range(0, len(vectors), self.vectors_at_once):
            page = vectors[start : start + self.vectors_at_once]
            yield from index.nearest(page, k, floor=floor) if index else self._nearest(page, k, floor)

    def _all_vectors(self) -> VectorIndex:
        def rows() -> Iterator[Row]:
            for page in self._pages(vectors=True):
                self._writing(lambda _run: None, ())  # renews the lease
                yield from (row for row in page if row["embedding"])

        return VectorIndex.of(0, rows())

    def _nearest(self, vectors: Vectors, k: int, floor: float) -> list[list[tuple[str, float]]]:
        """Search the vector index."""
        neighbours: list[list[tuple[str, float]]] = [[] for _ in vectors]
        # A zero vector matches nothing, and the index refuses it.
        positions = [position for position, vector in enumerate(vectors) if vector.any()]
        candidates, hidden = max(LEAST_NEIGHBOURS, 4 * k), []
        for row in self._rows("nearest_concepts", vectors=vectors[positions].tolist(), candidates=candidates):
            position = positions[row["position"]]
            neighbours[position] = _ranked(row["found"], k, floor)
            if len(neighbours[position]) < k and row["seen"] == candidates and row["farthest"] >= floor:
                hidden.append(position)
        # The index covers all namespaces. If others may have hidden matches of this one, all of its vectors are compared.
        if hidden:
            for row in self._rows("nearest_concepts_exact", vectors=vectors[hidden].tolist(), k=k, floor=floor):
                neighbours[hidden[row["position"]]] = _ranked(row["found"], k, floor)
        return neighbours


def _ranked(pairs: list[tuple[str, float]], k: int, floor: float) -> list[tuple[str, float]]:
    near = [(id_, max(-1.0, min(1.0, cosine))) for id_, cosine in pairs if id_ is not None and cosine >= floor]
    return sorted(near, key=lambda pair: (-pair[1], pair[0]))[:k]


SUBGRAPHS_PER_STATEMENT = 50
IDS_PER_STATEMENT = 500
MEMBERS_PER_STATEMENT = 1000
ROWS_PER_PAGE = 100
SAVE_TRIES = 10
"""Attempts at a save while others write the same sources."""
READ_TRIES = 3
"""Attempts to read a consistent state alongside writers. After these, the writers are locked out."""


class Neo4jStore(Neo4jAccess, SharedStore[Work]):
    """The `GraphStore` port on Neo4j; see there for what each method promises."""

    parts = (Neo4jConcepts, Neo4jCommunities, Neo4jRegistry)
    _writing_tells = True

    @property
    def search(self) -> Neo4jSearch:
        return Neo4jSearch(self)

    # ---- subgraphs

    def save(
        self,
        subgraphs: Sequence[Subgraph],
        aggregation: Aggregation,
        *,
        replace: Replace = False,
        vectors: Mapping[str, Vector] | None = None,
    ) -> list[SaveOutcome]:
        for _ in range(SAVE_TRIES - 1):
            try:
                return super().save(subgraphs, aggregation, replace=replace, vectors=vectors)
            except IdTaken:
                continue  # another writer was faster, which the next try sees, or the id is taken for good
        return super().save(subgraphs, aggregation, replace=replace, vectors=vectors)

    def aggregate(self, source_ids: Sequence[str], aggregation: Aggregation) -> None:
        self.in_writing(lambda session: self._aggregate(session, set(source_ids), aggregation))

    def _aggregate(self, session: Work, source_ids: Iterable[str], aggregation: Aggregation) -> None:
        """Derive the simple edges of sources again."""
        settings = {**aggregation.model_dump(), "document_top_k": aggregation.of_documents().top_k}
        for page in pages(sorted(source_ids), IDS_PER_STATEMENT):
            session.run("aggregate", namespace=self._namespace, source_ids=page, **settings)

    def read(self, source_ids: Sequence[str]) -> list[Subgraph]:
        ids = list(dict.fromkeys(source_ids))
        if not ids:
            return []
        by_id: dict[str, Subgraph] = {}
        for attempt in range(READ_TRIES + 1):
            alone = attempt == READ_TRIES
            found_rows = self._subgraphs(ids, alone=alone)
            by_id |= {
                row["head"]["id"]: rows.subgraph_of(row, self._namespace) for row in found_rows if alone or rows.is_whole(row)
            }
            ids = sorted(row["head"]["id"] for row in found_rows if row["head"]["id"] not in by_id)
            if not ids:
                break
        return [by_id[id_] for id_ in source_ids if id_ in by_id]

    def _subgraphs(self, source_ids: list[str], *, alone: bool) -> list[Row]:
        """Return the rows of `read_subgraphs`; `alone`, while nobody writes to these sources."""

        def run(work: Work) -> list[Row]:
            if alone:
                self._lock_sources(work, source_ids)
            return work.run("read_subgraphs", namespace=self._namespace, source_ids=source_ids)

        return self.in_writing(run) if alone else self.in_reading(run)

    def save_answers(self, answers: Sequence[Answer]) -> frozenset[str]:
        checks.check_answers(answers, self._namespace)
        if not answers:
            return frozenset()
        answer_rows = [rows.answer_row(answer) for answer in sorted(answers, key=lambda answer: answer.id)]
        # Of two answers with one id the first stays, because sorting is stable.
        once = list({row[0]["id"]: row for row in reversed(answer_rows)}.values())[::-1]
        source_ids = sorted({id_ for _, ids, *_ in once for id_ in ids})
        values = {"namespace": self._namespace, "answers": once, "source_ids": source_ids}
        (outcome,) = self.in_writing(lambda work: work.run("save_answers", **values))
        return checks.dropped(answers, outcome["kept"])

    # ---- what the shared store asks

    def _read_in(self, session: Work, source_ids: Sequence[str]) -> list[Subgraph]:
        subgraph_rows = session.run("read_subgraphs", namespace=self._namespace, source_ids=list(source_ids))
        return [rows.subgraph_of(row, self._namespace) for row in subgraph_rows]

    def _lock_sources(self, session: Work, source_ids: Sequence[str]) -> dict[str, str]:
        locked = session.run("lock_sources", namespace=self._namespace, ids=list(source_ids))
        return {row["id"]: row["settings_hash"] for row in locked}

    def _write(self, session: Work, wanted: Mapping[str, Subgraph], replaced: Sequence[str], aggregation: Aggregation) -> None:
        names, old = {"namespace": self._namespace}, sorted(replaced)
        members = shared_parts.open_communities(session.run, self._namespace, old)
        if old:
            touched = touched_concepts(session.run, self._namespace, old)
            session.run("erase_subgraphs", **names, source_ids=old)
            recount_concepts(session.run, self._namespace, touched)
        for ids in pages(sorted(wanted), SUBGRAPHS_PER_STATEMENT):
            subgraph_rows = [rows.subgraph_row(wanted[id_], new=id_ not in old) for id_ in ids]
            session.run("save_subgraphs", **names, subgraphs=subgraph_rows)
        shared_parts.rejoin_communities(session.run, self._namespace, members, MEMBERS_PER_STATEMENT)
        self._aggregate(session, wanted, aggregation)
        if old:
            session.run("relink_answers", **names, source_ids=old)

    def _erase_parts(self, session: Work, source_ids: Sequence[str]) -> Mapping[str, int]:
        counts: Counter[str] = Counter()
        for row in session.run("erase_subgraphs", namespace=self._namespace, source_ids=list(source_ids)):
            counts.update({label: row[label] for label in ("Evidence", "Entity", "TeacherCall", "TRIPLE")})
        for row in session.run("erase_sources", namespace=self._namespace, source_ids=list(source_ids)):
            counts[row["label"]] = row["number"]
        return counts

    def _links(self) -> Iterator[Row]:
        for row in self._stream("records_links"):
            yield from row["links"]

    def _stream(self, name: str) -> Iterator[Row]:
        """Yield rows by id, page by page. Each page is its own transaction, so that a slow reader keeps none open."""
        values: dict[str, Any] = {"namespace": self._namespace, "after": "", "limit": ROWS_PER_PAGE}
        if name == "find_answers":
            values |= {"until": LAST, "prefix": ""}
        while page := self.in_reading(lambda work: work.run(name, **values)):
            yield from page
            values["after"] = max(row["id"] for row in page)
