"""The embedded graph store: Cypher in this process, on one file, by the `ladybug` package (docs/design.md, section 4)."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from drag_graph.graph.proof import proof_of
from drag_graph.model import Aggregation, Answer, Subgraph
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
from drag_graph.stores.ladybug import rows
from drag_graph.stores.ladybug.access import LadybugAccess
from drag_graph.stores.ladybug.concepts import LadybugConcepts
from drag_graph.stores.ladybug.engine import READ_PATIENCE, Row, Session
from drag_graph.stores.ladybug.read import read_subgraphs
from drag_graph.stores.ladybug.search import LadybugSearch
from drag_graph.stores.shared.aggregation import aggregation_text
from drag_graph.stores.shared.concepts import recount_concepts, touched_concepts
from drag_graph.stores.shared.erase import erase_sources, reduce_source
from drag_graph.stores.shared.mend import mend
from drag_graph.stores.shared.records import answer_records, subgraph_records
from drag_graph.stores.shared.rows import answer_of, answer_row, evidence_again, linked_edge_of, source_row

ERASURE = {
    "TRIPLE": "erase_subgraphs_triples",
    "Evidence": "erase_subgraphs",
    "Entity": "erase_subgraphs_entities",
    "TeacherCall": "erase_subgraphs_calls",
    "Chunk": "erase_subgraphs_chunks",
    "Query": "erase_sources",
}
"""What erases a source, by what each of these statements counts."""

SOURCES_A_PAGE = 100
COUNTED = (
    *("Query", "Evidence", "Entity", "TeacherCall", "Chunk", "Document", "Concept", "Answer"),
    *(
        "HAS_EVIDENCE",
        "MENTIONS",
        "GENERATED_BY",
        "FROM_CHUNK",
        "HAS_CHUNK",
        "TRIPLE",
        "RELATED",
        "REFERS_TO",
        "SAME_AS",
        "ANSWERS",
        "USED",
    ),
)
"""The labels and relationship types of docs/design.md, section 3; the engine leaves out what is not there."""
ERASED = ("erase_subgraphs", "erase_subgraphs_chunks", "erase_subgraphs_entities", "erase_subgraphs_calls")
ROWS_AT_ONCE = 32
HEADS_AT_ONCE = 4
"""Rows unwound by one call; of queries, which carry vectors, fewer. The engine keeps the rows that a statement was first
planned with and handles them again in every later call, so that one large batch would slow down each small one after it."""


class LadybugStore(LadybugAccess):
    """The `GraphStore` port on a file; see there for what each method promises."""

    _search: LadybugSearch | None = None
    _claimed: tuple[str, int] | None = None
    """The embedder that this store claimed, until it has saved a query: till then another one may take the namespace."""

    def _release(self) -> None:
        self._search = None
        super()._release()

    def compact(self, patience: float = READ_PATIENCE) -> None:
        """Put a new file with what is live in the place of this one (`Engine.compact`): what was erased is in no file then."""
        self.ready().compact(patience)

    @property
    def search(self) -> LadybugSearch:
        if self._search is None:
            self._search = LadybugSearch(self)
        return self._search

    @property
    def concepts(self) -> LadybugConcepts:
        return LadybugConcepts(self)

    def embedder(self) -> tuple[str, int] | None:
        with self.reading() as session:
            found = session.run("read_embedder", namespace=self._namespace)
        return (found[0]["embedder"], found[0]["dimension"]) if found else None

    def claim_embedder(self, name: str, dimension: int) -> None:
        there = self.embedder()
        if there is not None and self._read_only:
            checks.check_embedder(there, (name, dimension), self._place)
        if there != (name, dimension):
            with self.writing() as session:
                self._claim(session, name, dimension)
        self._claimed = (name, dimension)

    def _claim(self, session: Session, name: str, dimension: int) -> None:
        (found,) = session.run("claim_embedder", namespace=self._namespace, embedder=name, dimension=dimension)
        checks.check_embedder((found["embedder"], found["dimension"]), (name, dimension), self._place)

    @property
    def _place(self) -> str:
        return f"namespace {self._namespace!r} of {self.location}"

    def save(self, subgraphs: Sequence[Subgraph], aggregation: Aggregation, *, replace: Replace = False) -> list[SaveOutcome]:
        checks.check(subgraphs, self._namespace)
        if not subgraphs:
            return []
        with self.writing() as session:
            outcomes, wanted, stored = self._planned(session, subgraphs, replace)
            self._write(session, wanted, [id_ for id_ in wanted if id_ in stored])
            self.aggregate_in(session, list(wanted), aggregation)
        self._claimed = None
        return outcomes

    def _planned(
        self, session: Session, subgraphs: Sequence[Subgraph], replace: Replace
    ) -> tuple[list[SaveOutcome], dict[str, Subgraph], dict[str, str]]:
        """Return what is to become of each subgraph, what is to be written by id, and the settings hashes that are there."""
        claimed = self._claimed
        if claimed:
            self._claim(session, *claimed)
        stored = self._settings_hashes(session, [subgraph.source_id for subgraph in subgraphs])
        hashes, wanted, outcomes = dict(stored), dict[str, Subgraph](), list[SaveOutcome]()
        for subgraph in subgraphs:
            id_ = subgraph.source_id
            outcome, made = checks.outcome_of(hashes.get(id_), subgraph, replace=replace), subgraph
            if outcome == "added":
                there = wanted[id_] if id_ in wanted else self.read_in(session, [id_])[0]
                outcome, made = checks.added(there, subgraph)
            outcomes.append(outcome)
            if outcome in ("created", "replaced", "added"):
                wanted[id_], hashes[id_] = made, made.settings_hash
        return outcomes, wanted, stored

    def aggregate(self, source_ids: Sequence[str], aggregation: Aggregation) -> None:
        if not source_ids:
            return
        with self.writing() as session:
            stored = self._settings_hashes(session, source_ids)
            for id_ in stored:
                session.run("erase_edges", namespace=self._namespace, source_id=id_)
            self.aggregate_in(session, list(stored), aggregation)

    def read(self, source_ids: Sequence[str]) -> list[Subgraph]:
        if not source_ids:
            return []
        with self.reading() as session:
            return self.read_in(session, source_ids)

    def read_in(self, session: Session, source_ids: Iterable[str]) -> list[Subgraph]:
        """Return what `read` does, as it is in this transaction."""
        return read_subgraphs(session, self._namespace, source_ids)

    def settings_hashes(self, source_ids: Sequence[str]) -> dict[str, str]:
        if not source_ids:
            return {}
        with self.reading() as session:
            return self._settings_hashes(session, source_ids)

    def stale_queries(self, reason: Staleness, now: str, *, after: str = "", limit: int = 100) -> list[StaleQuery]:
        if limit < 1:
            return []
        page = {"namespace": self._namespace, "after": after, "limit": limit}
        with self.reading() as session:
            found = (
                session.run("failed_queries", **page) if reason == "failed" else session.run("expired_queries", now=now, **page)
            )
        return [StaleQuery(**row) for row in found]

    def nearest_queries(self, vector: Sequence[float], k: int) -> list[tuple[str, float]]:
        return self.search.nearest("queries", vector, k)

    def match_ids(self, kind: IdKind, prefix: str, limit: int = 10) -> list[str]:
        if limit < 1:
            return []
        name = f"match_{kind}_ids"
        with self.reading() as session:
            return [row["id"] for row in session.run(name, namespace=self._namespace, prefix=prefix, limit=limit)]

    def list_queries(self, limit: int = 100, offset: int = 0) -> list[QuerySummary]:
        if limit < 1:
            return []
        with self.reading() as session:
            return [
                QuerySummary(
                    **{**row, "options": tuple(row["options"])}, **session.run("list_queries_sizes", source_id=row["id"])[0]
                )
                for row in session.run("list_queries", namespace=self._namespace, limit=limit, offset=offset)
            ]

    def counts(self) -> dict[str, int]:
        with self.reading() as session:
            found = {row["name"]: row["number"] for row in session.run("counts", namespace=self._namespace)}
        return dict.fromkeys(COUNTED, 0) | found

    def save_answers(self, answers: Sequence[Answer]) -> frozenset[str]:
        if not answers:
            return frozenset()
        checks.check_answers(answers, self._namespace)
        with self.writing(keeps_vectors=True) as session:
            there = {row["id"] for row in session.run("save_answers_stored", answer_ids=_distinct(a.id for a in answers))}
            stored = self._settings_hashes(session, (id_ for answer in answers for id_ in answer.source_ids)).keys()
            new = [answer for answer in answers if stored >= set(answer.source_ids) and answer.id not in there]
            fresh = {answer.id: answer for answer in reversed(_proven(session, new))}
            written = {"save_answers": [answer_row(answer) for answer in fresh.values()]}
            self._write_rows(session, written | rows.answer_links(fresh.values()))
        kept = fresh.keys() | {answer.id for answer in answers if answer.id in there and stored >= set(answer.source_ids)}
        return checks.dropped(answers, kept)

    def read_answer(self, answer_id: str) -> Answer | None:
        with self.reading() as session:
            found = session.run("read_answer", namespace=self._namespace, answer_id=answer_id)
        return answer_of(self._namespace, found[0]) if found else None

    def list_answers(self, source_id: str = "", limit: int = 100) -> list[Answer]:
        if limit < 1:
            return []
        with self.reading() as session:
            found = session.run("list_answers", namespace=self._namespace, source_id=source_id, limit=limit)
        return [answer_of(self._namespace, row) for row in found]

    def erase(self, source_ids: Sequence[str]) -> Erased:
        with self.writing() as session:
            stored = list(self._settings_hashes(session, source_ids))

            def parts() -> Counter[str]:
                counts: Counter[str] = Counter()
                for id_ in stored:
                    for label, name in ERASURE.items():
                        counts[label] += session.run(name, namespace=self._namespace, source_id=id_)[0]["number"]
                return counts

            return erase_sources(session.run, self._namespace, stored, parts)

    def reduce(self, before: Subgraph, after: Subgraph, gone: Collection[str]) -> Erased | None:
        checks.check([after], self._namespace)
        id_ = before.source_id
        with self.writing() as session:
            if self.read_in(session, [id_]) != [before]:
                return None

            def write() -> None:
                self._write(session, {id_: after}, [id_])
                self.aggregate_in(session, [id_], after.aggregation or Aggregation())

            return reduce_source(session.run, before, after, gone, write)

    def linked_edges(self) -> Iterator[LinkedEdge]:
        for row in self.ready().stream("linked_edges", namespace=self._namespace):
            yield linked_edge_of(row)

    def verify(self) -> list[Problem]:
        found: dict[Problem, None] = {}
        with self.reading() as session:
            for name in checks.CHECKS:
                for row in session.run(name, namespace=self._namespace):
                    found[checks.problem(name, *row.values())] = None
        return list(found)

    def mend(self, check: str, ids: Sequence[str]) -> int:
        with self.writing() as session:
            return mend(session.run, self._namespace, check, ids)

    def source_ids(self) -> Iterator[str]:
        for row in self.ready().stream("records_queries", namespace=self._namespace):
            yield row["id"]

    def records(self, *, vectors: bool = True) -> Iterator[dict[str, Any]]:
        engine = self.ready()
        ids = [row["id"] for row in engine.stream("records_queries", namespace=self._namespace)]
        for start in range(0, len(ids), SOURCES_A_PAGE):
            for subgraph in self.read(ids[start : start + SOURCES_A_PAGE]):
                yield from subgraph_records(subgraph)
        for row in engine.stream("records_answers", namespace=self._namespace):
            yield from answer_records(answer_of(self._namespace, row), (), ())
        for row in engine.stream("records_links", namespace=self._namespace):
            yield rows.link_record(self._namespace, row)
        yield from self.concepts.records(vectors=vectors)
        for row in self.concepts.links():
            yield rows.link_record(self._namespace, row)

    def _settings_hashes(self, session: Session, source_ids: Iterable[str]) -> dict[str, str]:
        found = session.run("settings_hashes", namespace=self._namespace, source_ids=_distinct(source_ids))
        return {row["id"]: row["settings_hash"] for row in found}

    def _write(self, session: Session, wanted: dict[str, Subgraph], replaced: Sequence[str]) -> None:
        touched = touched_concepts(session.run, self._namespace, replaced)
        for id_ in replaced:
            for name in ERASED:
                session.run(name, namespace=self._namespace, source_id=id_)
        recount_concepts(session.run, self._namespace, touched)
        for is_document, names in rows.HEADS.items():
            heads = {id_: source_row(item) for id_, item in wanted.items() if (item.document is not None) == is_document}
            old, new = [heads[id_] for id_ in replaced if id_ in heads], [heads[id_] for id_ in heads if id_ not in replaced]
            self._write_rows(session, dict(zip(names, (new, old), strict=True)))
        self._write_rows(session, rows.subgraph_rows(wanted.values()))
        for id_ in replaced:
            self._relink_answers(session, wanted[id_])

    def _relink_answers(self, session: Session, subgraph: Subgraph) -> None:
        """Link the answers to a replaced query to that evidence they were shown which is there again."""
        again = {item.id for item in subgraph.evidence}
        found = session.run("relink_answers", source_id=subgraph.source_id)
        self._write_rows(session, {"save_answers_evidence": evidence_again(found, again)})

    def aggregate_in(self, session: Session, source_ids: Sequence[str], aggregation: Aggregation) -> None:
        """Make the simple edges of sources that have none, in this transaction."""
        stored = session.run("settings_hashes", namespace=self._namespace, source_ids=list(source_ids)) if source_ids else []
        documents = {row["id"] for row in stored if row["kind"] == "document"}
        edges, marks = list[Row](), dict[str, list[Row]](mark_graphs=[], mark_graphs_documents=[])
        for id_ in source_ids:
            claims = session.run("aggregate", namespace=self._namespace, source_id=id_, merge=aggregation.merge)
            own = aggregation.of_documents() if id_ in documents else aggregation
            made, kind = rows.edge_rows(id_, claims, own)
            edges += made
            mark = {"id": id_, "graph": kind, "aggregation": aggregation_text(own)}
            marks["mark_graphs_documents" if id_ in documents else "mark_graphs"].append(mark)
        plain, disputed = [row for row in edges if not row["contradicts"]], [row for row in edges if row["contradicts"]]
        self._write_rows(session, {"save_edges": plain, "save_edges_disputed": disputed, **marks})

    def _write_rows(self, session: Session, by_statement: dict[str, list[Row]]) -> None:
        """Run each statement over its rows, a few at a time, and not at all where there are none."""
        for name, items in by_statement.items():
            step = HEADS_AT_ONCE if name in (*rows.HEADS[False], *rows.HEADS[True]) else ROWS_AT_ONCE
            for start in range(0, len(items), step):
                session.run(name, rows=[{**row, "namespace": self._namespace} for row in items[start : start + step]])


def _proven(session: Session, answers: Sequence[Answer]) -> list[Answer]:
    """Return the answers that rest on nothing that is not stored."""
    proofs = [proof_of(answer) for answer in answers]
    wanted = {
        "save_answers_proof": sorted({id_ for proof in proofs for id_ in proof.evidence_ids}),
        "save_answers_proof_calls": sorted({id_ for proof in proofs for id_ in proof.call_ids}),
        "save_answers_proof_triples": _distinct(
            id_ for answer, proof in zip(answers, proofs, strict=True) for id_ in answer.source_ids if proof.triple_ids
        ),
    }
    evidence, calls, triples = (
        {row["id"] for row in session.run(name, ids=ids)} if ids else set[str]() for name, ids in wanted.items()
    )
    return [
        answer
        for answer, proof in zip(answers, proofs, strict=True)
        if proof.evidence_ids <= evidence and proof.triple_ids <= triples and proof.call_ids <= calls
    ]


def _distinct(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(items))
