"""The graph store in Neo4j 5.26 LTS or 2026.x, Community or Enterprise."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from drag_graph.graph import subgraph_checks as checks
from drag_graph.graph.paging import pages
from drag_graph.model import Aggregation, Answer, Subgraph
from drag_graph.ports.graph_store import Replace, SaveOutcome
from drag_graph.ports.vectors import Vector
from drag_graph.stores.neo4j import neo4j_rows as rows
from drag_graph.stores.neo4j.connection import IdTaken, Work
from drag_graph.stores.neo4j.neo4j_access import Neo4jAccess
from drag_graph.stores.neo4j.neo4j_communities import Neo4jCommunities
from drag_graph.stores.neo4j.neo4j_concepts import Neo4jConcepts
from drag_graph.stores.neo4j.neo4j_registry import Neo4jRegistry
from drag_graph.stores.neo4j.neo4j_search import Neo4jSearch
from drag_graph.stores.shared.shared_communities import open_communities, rejoin_communities
from drag_graph.stores.shared.shared_concepts import recount_concepts, touched_concepts
from drag_graph.stores.shared.shared_store import LAST, SharedStore
from drag_graph.stores.shared.transaction import Row

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

    _writing_tells = True

    @property
    def concepts(self) -> Neo4jConcepts:
        return Neo4jConcepts(self)

    @property
    def communities(self) -> Neo4jCommunities:
        return Neo4jCommunities(self)

    @property
    def search(self) -> Neo4jSearch:
        return Neo4jSearch(self)

    @property
    def registry(self) -> Neo4jRegistry:
        return Neo4jRegistry(self)

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
        members = open_communities(session.run, self._namespace, old)
        if old:
            touched = touched_concepts(session.run, self._namespace, old)
            session.run("erase_subgraphs", **names, source_ids=old)
            recount_concepts(session.run, self._namespace, touched)
        for ids in pages(sorted(wanted), SUBGRAPHS_PER_STATEMENT):
            subgraph_rows = [rows.subgraph_row(wanted[id_], new=id_ not in old) for id_ in ids]
            session.run("save_subgraphs", **names, subgraphs=subgraph_rows)
        rejoin_communities(session.run, self._namespace, members, MEMBERS_PER_STATEMENT)
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
