"""The graph store in Neo4j 5.26 LTS or 2026.x, Community or Enterprise (docs/design.md, sections 3 and 4)."""

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Any

from drag_graph.concurrency.coalesce import RequestCoalescer
from drag_graph.model import Aggregation, Answer, Subgraph
from drag_graph.paging import pages
from drag_graph.ports import checks
from drag_graph.ports.store import (
    Erased,
    IdKind,
    LinkedEdge,
    Problem,
    QuerySummary,
    Replace,
    SaveOutcome,
    Staleness,
    StaleQuery,
)
from drag_graph.stores.neo4j import rows
from drag_graph.stores.neo4j.access import Neo4jAccess
from drag_graph.stores.neo4j.concepts import Neo4jConcepts
from drag_graph.stores.neo4j.connection import IdTaken, Work
from drag_graph.stores.neo4j.search import LEAST_CANDIDATES, Neo4jSearch
from drag_graph.stores.shared.concepts import recount_concepts, touched_concepts
from drag_graph.stores.shared.erase import erase_sources, reduce_source
from drag_graph.stores.shared.mend import mend
from drag_graph.stores.shared.records import answer_records, link, subgraph_records
from drag_graph.stores.shared.rows import answer_of, linked_edge_of

SUBGRAPHS_A_STATEMENT = 50
IDS_A_STATEMENT = 500
RECORDS_A_PAGE = 100
IDS_A_PAGE = 5000
READ_TRIES = 3
"""How often subgraphs are read beside writers before those are made to wait, where what was read is not of one state."""
READ_TOGETHER = 100
READ_SLOTS = 4
"""Subgraphs that one statement reads for several threads at most, and how many such statements are under way at once: readers
that have to wait go together, as a statement costs the client about as much as five subgraphs in it."""


class Neo4jStore(Neo4jAccess):
    """The `GraphStore` port on Neo4j; see there for what each method promises."""

    _claimed: tuple[str, int] | None = None
    """The embedder that this store claimed, until it has saved a query: till then another one may take the namespace."""

    @property
    def concepts(self) -> Neo4jConcepts:
        return Neo4jConcepts(self)

    @property
    def search(self) -> Neo4jSearch:
        return Neo4jSearch(self)

    # ---- the embedder

    def embedder(self) -> tuple[str, int] | None:
        found = self.reading(lambda work: work.rows("read_embedder", namespace=self._namespace))
        return (found[0][0], found[0][1]) if found else None

    def claim_embedder(self, name: str, dimension: int) -> None:
        there = self.embedder()
        if there is not None and self._read_only:
            checks.check_embedder(there, (name, dimension), f"namespace {self._namespace!r} of {self.location}")
        else:
            self.writing(lambda work: self._claim(work, name, dimension))
        self._claimed = (name, dimension)

    def _claim(self, work: Work, name: str, dimension: int) -> None:
        ((*found,),) = work.rows("claim_embedder", namespace=self._namespace, embedder=name, dimension=dimension)
        checks.check_embedder((found[0], found[1]), (name, dimension), f"namespace {self._namespace!r} of {self.location}")

    # ---- subgraphs

    def save(self, subgraphs: Sequence[Subgraph], aggregation: Aggregation, *, replace: Replace = False) -> list[SaveOutcome]:
        checks.check(subgraphs, self._namespace)
        if not subgraphs:
            return []
        saving = _Saving(self._namespace, subgraphs, aggregation, replace=replace)
        while True:
            before = saving.stored
            try:
                outcomes = self.writing(lambda work: self._save(work, saving))
            except IdTaken:
                # The query was there, or another writer was faster with it: that shows in the next look. If nothing new shows,
                # the id is taken for good.
                if saving.looks and saving.stored == before:
                    raise
                if not saving.looks:
                    saving.looks, saving.stored = True, None
            else:
                self._claimed = None
                return outcomes

    def _save(self, work: Work, saving: "_Saving") -> list[SaveOutcome]:
        claimed = self._claimed
        if claimed:
            self._claim(work, *claimed)
        return saving.run(work)

    def aggregate(self, source_ids: Sequence[str], aggregation: Aggregation) -> None:
        def run(work: Work) -> None:
            for some in pages(sorted(set(source_ids)), IDS_A_STATEMENT):
                stored = [row[0] for row in work.rows("erase_edges", namespace=self._namespace, source_ids=some)]
                aggregate_subgraphs(work, self._namespace, stored, aggregation)

        self.writing(run)

    def read(self, source_ids: Sequence[str]) -> list[Subgraph]:
        ids = list(dict.fromkeys(source_ids))
        if not ids:
            return []
        by_id: dict[str, Subgraph] = {}
        for attempt in range(READ_TRIES + 1):
            alone = attempt == READ_TRIES
            found = self._subgraphs(ids) if alone else self._reads(ids)
            by_id |= {row[0]["id"]: rows.subgraph_of(row, self._namespace) for row in found if alone or rows.is_whole(row)}
            ids = sorted(row[0]["id"] for row in found if row[0]["id"] not in by_id)
            if not ids:
                break
        return [by_id[id_] for id_ in source_ids if id_ in by_id]

    @cached_property
    def _reads(self) -> RequestCoalescer[list[str], list[list[Any]]]:
        """Takes query ids and returns their rows of `read_subgraphs`."""
        return RequestCoalescer(self._read_together, most=READ_TOGETHER, slots=READ_SLOTS, size=len)

    def _read_together(self, wanted: list[list[str]]) -> list[list[list[Any]]]:
        ids = list(dict.fromkeys(id_ for some in wanted for id_ in some))
        found = self.reading(lambda work: work.rows("read_subgraphs", namespace=self._namespace, source_ids=ids))
        by_id = {row[0]["id"]: row for row in found}
        return [[by_id[id_] for id_ in some if id_ in by_id] for some in wanted]

    def _subgraphs(self, source_ids: list[str]) -> list[list[Any]]:
        """Return the rows of `read_subgraphs` while nobody writes to these queries."""

        def run(work: Work) -> list[list[Any]]:
            work.rows("lock_queries", namespace=self._namespace, source_ids=source_ids)
            return work.rows("read_subgraphs", namespace=self._namespace, source_ids=source_ids)

        return self.writing(run)

    def settings_hashes(self, source_ids: Sequence[str]) -> dict[str, str]:
        ids = sorted(set(source_ids))
        return self.reading(lambda work: _hashes(work, "settings_hashes", self._namespace, ids))

    def stale_queries(self, reason: Staleness, now: str, *, after: str = "", limit: int = 100) -> list[StaleQuery]:
        page = {"namespace": self._namespace, "after": after, "limit": limit}
        if reason == "failed":
            found = self.reading(lambda work: work.rows("failed_queries", **page))
        else:
            found = self.reading(lambda work: work.rows("expired_queries", now=now, **page))
        return [StaleQuery(*row) for row in found]

    def nearest_queries(self, vector: Sequence[float], k: int) -> list[tuple[str, float]]:
        numbers = [float(x) for x in vector]
        if not numbers or k < 1:
            return []

        def run(work: Work) -> list[list[Any]]:
            found: list[list[Any]] = []
            if any(numbers):
                candidates = max(LEAST_CANDIDATES, 4 * k)
                found = work.rows("nearest_queries", namespace=self._namespace, vector=numbers, candidates=candidates, k=k)
            if len(found) < k:  # the index is of all namespaces, and this one's are farther away, or it has so few
                found = work.rows("nearest_queries_exact", namespace=self._namespace, vector=numbers, k=k)
            return found

        return [(id_, max(-1.0, min(1.0, cosine))) for id_, cosine in self.reading(run)]

    def match_ids(self, kind: IdKind, prefix: str, limit: int = 10) -> list[str]:
        name = f"match_{kind}_ids"
        found = self.reading(lambda work: work.rows(name, namespace=self._namespace, prefix=prefix, limit=limit))
        return [row[0] for row in found]

    def list_queries(self, limit: int = 100, offset: int = 0) -> list[QuerySummary]:
        found = self.reading(lambda work: work.rows("list_queries", namespace=self._namespace, limit=limit, offset=offset))
        return [QuerySummary(id_, text, tuple(options or ()), *rest) for id_, text, options, *rest in found]

    def counts(self) -> dict[str, int]:
        return dict(self.reading(lambda work: work.rows("counts", namespace=self._namespace)))

    # ---- answers

    def save_answers(self, answers: Sequence[Answer]) -> frozenset[str]:
        checks.check_answers(answers, self._namespace)
        if not answers:
            return frozenset()
        written = [rows.answer_row(answer) for answer in sorted(answers, key=lambda answer: answer.id)]
        # Of two answers with one id the first stays; sorting is stable.
        once = list({row[0]["id"]: row for row in reversed(written)}.values())[::-1]
        source_ids = sorted({id_ for _, ids, *_ in once for id_ in ids})
        values = {"namespace": self._namespace, "answers": once, "source_ids": source_ids}
        ((kept,),) = self.writing(lambda work: work.rows("save_answers", **values))
        return checks.dropped(answers, kept)

    def read_answer(self, answer_id: str) -> Answer | None:
        found = self.reading(lambda work: work.rows("read_answer", namespace=self._namespace, answer_id=answer_id))
        return answer_of(self._namespace, found[0][0]) if found else None

    def list_answers(self, source_id: str = "", limit: int = 100) -> list[Answer]:
        values = {"namespace": self._namespace, "source_id": source_id, "limit": limit}
        return [answer_of(self._namespace, row[0]) for row in self.reading(lambda work: work.rows("list_answers", **values))]

    def erase(self, source_ids: Sequence[str]) -> Erased:
        ids, first = sorted(set(source_ids)), Erased()

        def run(work: Work) -> Erased:
            nonlocal first
            # Under the lock nobody writes an answer, or another edition, meanwhile.
            stored = list(_hashes(work, "lock_queries", self._namespace, ids))

            def parts() -> dict[str, int]:
                found = work.records("erase_subgraphs", namespace=self._namespace, source_ids=stored)
                counts = {label: sum(row[label] for row in found) for label in ("Evidence", "Entity", "TeacherCall", "TRIPLE")}
                ((queries,),) = work.rows("erase_sources", namespace=self._namespace, source_ids=stored)
                return {"Query": queries, **counts}

            erased = erase_sources(work.records, self._namespace, stored, parts) if stored else Erased()
            # The second time there is nothing left: the first one's numbers are true.
            first = first if work.perhaps_done and not stored else erased
            return first

        return self.writing(run) if ids else Erased()

    def reduce(self, before: Subgraph, after: Subgraph, gone: Collection[str]) -> Erased | None:
        checks.check([after], self._namespace)
        id_, first = before.source_id, None

        def run(work: Work) -> Erased | None:
            nonlocal first
            work.rows("lock_queries", namespace=self._namespace, source_ids=[id_])
            found = work.rows("read_subgraphs", namespace=self._namespace, source_ids=[id_])
            if [rows.subgraph_of(row, self._namespace) for row in found] != [before]:
                return first if work.perhaps_done else None
            aggregation = after.aggregation or Aggregation()
            saving = _Saving(self._namespace, [after], aggregation, replace=True)
            first = reduce_source(work.records, before, after, gone, lambda: saving.write(work, {id_: after}, [id_]))
            return first

        return self.writing(run)

    def linked_edges(self) -> Iterator[LinkedEdge]:
        for page in self._pages("linked_edges"):
            for _, edges in page:
                yield from map(linked_edge_of, edges)

    # ---- checking and exporting

    def verify(self) -> list[Problem]:
        problems = []
        for name in checks.CHECKS:
            found = self.reading(lambda work, name=name: work.rows(name, namespace=self._namespace))  # type: ignore[misc]
            problems += [checks.problem(name, str(row[0]), *row[1:]) for row in found]
        return problems

    def mend(self, check: str, ids: Sequence[str]) -> int:
        return self.writing(lambda work: mend(work.records, self._namespace, check, ids))

    def source_ids(self) -> Iterator[str]:
        for page in self._pages("records_queries", IDS_A_PAGE):
            yield from (row[0] for row in page)

    def records(self, *, vectors: bool = True) -> Iterator[dict[str, Any]]:
        for page in self._pages("records_queries"):
            ids = [row[0] for row in page]
            for subgraph in self.read(ids):
                yield from subgraph_records(subgraph)
            links = self.reading(lambda work, ids=ids: work.rows("records_links", namespace=self._namespace, source_ids=ids))  # type: ignore[misc]
            for type_, source, target, properties in links:
                yield {**link(type_, source, target, self._namespace), "properties": properties}
        for page in self._pages("records_answers"):
            for properties, source_ids, evidence_ids in page:
                yield from answer_records(answer_of(self._namespace, properties), source_ids, evidence_ids)
        yield from self.concepts.records(vectors=vectors)

    def _pages(self, name: str, limit: int = 0) -> Iterator[list[list[Any]]]:
        """Yield pages of rows, by id. Each is a transaction of its own, so that a slow reader holds none open."""
        after = ""
        while True:
            values = {"namespace": self._namespace, "after": after, "limit": limit or RECORDS_A_PAGE}
            page = self.reading(lambda work, values=values: work.rows(name, **values))  # type: ignore[misc]
            if page:
                yield page
            if len(page) < (limit or RECORDS_A_PAGE):
                return
            last = page[-1][0]
            after = last if isinstance(last, str) else last["id"]


class _Saving:
    """One `save`: what it found stored and what became of each subgraph. `run` may be repeated, as transactions may."""

    def __init__(self, namespace: str, subgraphs: Sequence[Subgraph], aggregation: Aggregation, *, replace: Replace) -> None:
        self._namespace = namespace
        self._replace = replace
        self._subgraphs = subgraphs
        self._aggregation = aggregation
        self._ids = sorted({subgraph.source_id for subgraph in subgraphs})
        self._outcomes: list[SaveOutcome] = []
        self.stored: dict[str, str] | None = None
        self.looks = len(subgraphs) > 1 or bool(replace)
        """Whether to ask first what is there. One alone is tried: who distils has asked before, and it is mostly new."""

    def run(self, work: Work) -> list[SaveOutcome]:
        """Write what is not there under its settings, and aggregate that, in the transaction of `work`."""
        looks = self.looks or work.perhaps_done
        self.stored = _hashes(work, "settings_hashes", self._namespace, self._ids) if looks else {}
        outcomes, changed = self._plan(work, self.stored)
        replaced = sorted(changed.keys() & self.stored.keys())
        if replaced:
            # Under the lock the truth may be another: someone else may have replaced or erased it in between.
            locked = _hashes(work, "lock_queries", self._namespace, replaced)
            self.stored = {id_: hash_ for id_, hash_ in self.stored.items() if id_ not in replaced} | locked
            outcomes, changed = self._plan(work, self.stored)
            replaced = sorted(changed.keys() & self.stored.keys())
        self.write(work, changed, replaced)
        if work.perhaps_done and self._outcomes:
            # Then this run found its own work of before: what it did then is the answer.
            pairs = zip(self._outcomes, outcomes, strict=True)
            outcomes = [first if second == "unchanged" else second for first, second in pairs]
        self._outcomes = outcomes
        return outcomes

    def _plan(self, work: Work, stored: dict[str, str]) -> tuple[list[SaveOutcome], dict[str, Subgraph]]:
        """Return each subgraph's outcome, and what is to be written, by query id (of two for one query the last)."""
        current = dict(stored)
        outcomes: list[SaveOutcome] = []
        changed: dict[str, Subgraph] = {}
        for subgraph in self._subgraphs:
            id_ = subgraph.source_id
            outcome, made = checks.outcome_of(current.get(id_), subgraph, replace=self._replace), subgraph
            if outcome == "added":
                if id_ not in changed:
                    (row,) = work.rows("read_subgraphs", namespace=self._namespace, source_ids=[id_])
                    changed[id_] = rows.subgraph_of(row, self._namespace)
                outcome, made = checks.added(changed.pop(id_), subgraph)
            outcomes.append(outcome)
            if outcome in ("created", "replaced", "added"):
                current[id_], changed[id_] = made.settings_hash, made
        return outcomes, changed

    def write(self, work: Work, changed: dict[str, Subgraph], replaced: list[str]) -> None:
        """Write these subgraphs, those that are `replaced` in the place of what is stored, and aggregate them."""
        names = {"namespace": self._namespace}
        if replaced:
            work.run("replace_queries", queries=[rows.source_properties(changed[id_]) for id_ in replaced])
            touched = touched_concepts(work.records, self._namespace, replaced)
            work.rows("erase_subgraphs", **names, source_ids=replaced)
            recount_concepts(work.records, self._namespace, touched)
        there = set(replaced)
        documents = {id_ for id_, subgraph in changed.items() if subgraph.document is not None}
        for ids in pages(sorted(changed), SUBGRAPHS_A_STATEMENT):
            written = [rows.subgraph_row(changed[id_], new=id_ not in there) for id_ in ids]
            work.run("save_subgraphs", **names, subgraphs=written)
        for ids in pages(sorted(changed), IDS_A_STATEMENT):
            aggregate_subgraphs(work, self._namespace, ids, self._aggregation, documents)
        if replaced:
            work.run("relink_answers", **names, source_ids=replaced)


def _hashes(work: Work, name: str, namespace: str, source_ids: list[str]) -> dict[str, str]:
    return {row[0]: row[1] for row in work.rows(name, namespace=namespace, source_ids=source_ids)} if source_ids else {}


def aggregate_subgraphs(
    work: Work, namespace: str, source_ids: list[str], aggregation: Aggregation, documents: Collection[str] | None = None
) -> None:
    """Make the simple edges of sources that have none. `documents` are those that are documents; None: the store is asked."""
    if documents is None:
        found = work.rows("settings_hashes", namespace=namespace, source_ids=source_ids)
        documents = {id_ for id_, _, is_document in found if is_document}
    for wanted, own in (
        ([id_ for id_ in source_ids if id_ not in documents], aggregation),
        ([id_ for id_ in source_ids if id_ in documents], aggregation.of_documents()),
    ):
        if wanted:
            work.run(
                "aggregate",
                namespace=namespace,
                source_ids=wanted,
                strategy=own.strategy,
                merge=own.merge,
                threshold=own.threshold,
                top_k=own.top_k,
                statements=own.statements,
            )
