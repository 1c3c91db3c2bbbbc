"""The embedded graph store: Cypher in this process, on one file, by the `ladybug` package (docs/design.md, section 4)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from drag_graph.graph.proof import proof_of
from drag_graph.model import Aggregation, Answer, Subgraph
from drag_graph.ports import checks
from drag_graph.stores.ladybug import rows
from drag_graph.stores.ladybug.access import LadybugAccess
from drag_graph.stores.ladybug.concepts import LadybugConcepts
from drag_graph.stores.ladybug.engine import READ_PATIENCE, Row, Session
from drag_graph.stores.ladybug.read import read_subgraphs
from drag_graph.stores.ladybug.search import LadybugSearch
from drag_graph.stores.shared.aggregation import aggregation_text
from drag_graph.stores.shared.concepts import recount_concepts, touched_concepts
from drag_graph.stores.shared.rows import answer_row, evidence_again, source_row
from drag_graph.stores.shared.store import LAST, SharedStore

ERASURE = {
    "TRIPLE": "erase_subgraphs_triples",
    "Evidence": "erase_subgraphs",
    "Entity": "erase_subgraphs_entities",
    "TeacherCall": "erase_subgraphs_calls",
    "Chunk": "erase_subgraphs_chunks",
    "Query": "erase_sources",
}
"""What erases a source, by what each of these statements counts."""

ALL = 2**62
"""More rows than there are."""
ERASED = ("erase_subgraphs", "erase_subgraphs_chunks", "erase_subgraphs_entities", "erase_subgraphs_calls")
ROWS_AT_ONCE = 32
HEADS_AT_ONCE = 4
"""Rows unwound by one call; of queries, which carry vectors, fewer. The engine keeps the rows that a statement was first
planned with and handles them again in every later call, so that one large batch would slow down each small one after it."""


class LadybugStore(LadybugAccess, SharedStore[Session]):
    """The `GraphStore` port on a file; see there for what each method promises."""

    _search: LadybugSearch | None = None

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

    def aggregate(self, source_ids: Sequence[str], aggregation: Aggregation) -> None:
        if not source_ids:
            return
        with self.writing() as session:
            stored = self._lock_sources(session, source_ids)
            for id_ in stored:
                session.run("erase_edges", namespace=self._namespace, source_id=id_)
            self._aggregate(session, list(stored), aggregation)

    def read(self, source_ids: Sequence[str]) -> list[Subgraph]:
        if not source_ids:
            return []
        return self.in_reading(lambda session: self._read_in(session, source_ids))

    def save_answers(self, answers: Sequence[Answer]) -> frozenset[str]:
        if not answers:
            return frozenset()
        checks.check_answers(answers, self._namespace)
        with self.writing(keeps_vectors=True) as session:
            there = {row["id"] for row in session.run("save_answers_stored", answer_ids=_distinct(a.id for a in answers))}
            stored = self._lock_sources(session, (id_ for answer in answers for id_ in answer.source_ids)).keys()
            new = [answer for answer in answers if stored >= set(answer.source_ids) and answer.id not in there]
            fresh = {answer.id: answer for answer in reversed(_proven(session, new))}
            written = {"save_answers": [answer_row(answer) for answer in fresh.values()]}
            self._write_rows(session, written | rows.answer_links(fresh.values()))
        kept = fresh.keys() | {answer.id for answer in answers if answer.id in there and stored >= set(answer.source_ids)}
        return checks.dropped(answers, kept)

    def _read_in(self, session: Session, source_ids: Sequence[str]) -> list[Subgraph]:
        return read_subgraphs(session, self._namespace, source_ids)

    def _lock_sources(self, session: Session, source_ids: Iterable[str]) -> dict[str, str]:
        found = session.run("read_sources", namespace=self._namespace, ids=_distinct(source_ids))
        return {row["id"]: row["settings_hash"] for row in found}

    def _erase_parts(self, session: Session, source_ids: Sequence[str]) -> Mapping[str, int]:
        counts: Counter[str] = Counter()
        for id_ in source_ids:
            for label, name in ERASURE.items():
                counts[label] += session.run(name, namespace=self._namespace, source_id=id_)[0]["number"]
        return counts

    def _stream(self, name: str) -> Iterator[Row]:
        more = {"after": "", "until": LAST, "prefix": "", "limit": ALL} if name == "find_answers" else {}
        return self.ready().stream(name, namespace=self._namespace, **more)

    def _links(self) -> Iterator[Row]:
        yield from self._stream("records_links")
        yield from self._stream("records_links_concepts")

    def _write(
        self, session: Session, wanted: Mapping[str, Subgraph], replaced: Sequence[str], aggregation: Aggregation
    ) -> None:
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
        self._aggregate(session, list(wanted), aggregation)

    def _relink_answers(self, session: Session, subgraph: Subgraph) -> None:
        """Link the answers to a replaced query to that evidence they were shown which is there again."""
        again = {item.id for item in subgraph.evidence}
        found = session.run("relink_answers", source_id=subgraph.source_id)
        self._write_rows(session, {"save_answers_evidence": evidence_again(found, again)})

    def _aggregate(self, session: Session, source_ids: Sequence[str], aggregation: Aggregation) -> None:
        """Make the simple edges of sources that have none, in this transaction."""
        stored = session.run("read_sources", namespace=self._namespace, ids=list(source_ids)) if source_ids else []
        documents = {row["id"] for row in stored if row["is_document"]}
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
