"""The parts of a graph store that work over statements with the same names and rows in every dialect."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Generic

from drag_graph.graph import subgraph_checks as checks
from drag_graph.graph.paging import iter_subgraphs, pages
from drag_graph.model import Aggregation, Answer, Subgraph
from drag_graph.ports import graph_store as port
from drag_graph.ports.vectors import Vector
from drag_graph.stores.shared import shared_concepts, shared_parts
from drag_graph.stores.shared.shared_rows import answer_of, answer_records, link, linked_edge_of, subgraph_records
from drag_graph.stores.shared.transaction import Access, EngineTransaction, Row, Run, run_by_ids

VECTORS_AT_ONCE = 100
LAST = "\uffff"
"""Sorts after every id."""


class SharedStore(Access, Generic[EngineTransaction]):
    """The `GraphStore` port, except for the abstract methods; the contract of each method is there."""

    _namespace: str
    _read_only: bool
    _writing_tells = False
    """Whether only a write detects a read-only store; an embedded file is checked when it is opened."""
    _claimed: tuple[str, int] | None = None
    """The embedder that this store claimed. Until it has saved a source, another one may claim the namespace."""

    parts: tuple[type[shared_concepts.SharedConcepts], type[shared_parts.SharedCommunities], type[shared_parts.SharedRegistry]]
    """The classes of the engine's concepts, communities and sites."""

    @property
    def concepts(self) -> shared_concepts.SharedConcepts:
        """See GraphStore."""
        return self.parts[0](self)

    @property
    def communities(self) -> shared_parts.SharedCommunities:
        """See GraphStore."""
        return self.parts[1](self)

    @property
    def registry(self) -> shared_parts.SharedRegistry:
        """See GraphStore."""
        return self.parts[2](self)

    def prepare_search(self) -> None:
        """See GraphStore. Neo4j's own indexes are always up to date."""

    @property
    def corrections(self) -> shared_parts.SharedCorrections:
        """See GraphStore."""
        return shared_parts.SharedCorrections(self, self._stream)

    def __exit__(self, *exc: object) -> None:
        self.close()

    @abstractmethod
    def _read_in(self, session: EngineTransaction, source_ids: Sequence[str]) -> list[Subgraph]:
        """Do what `read` does, within a writing transaction that has locked these sources."""

    @abstractmethod
    def _lock_sources(self, session: EngineTransaction, source_ids: Sequence[str]) -> dict[str, str]:
        """Lock these sources until the transaction ends. Return the settings hashes of the stored ones by id."""

    @abstractmethod
    def _write(
        self, session: EngineTransaction, wanted: Mapping[str, Subgraph], replaced: Sequence[str], aggregation: Aggregation
    ) -> None:
        """Write and aggregate these subgraphs; those that are `replaced` are erased first."""

    @abstractmethod
    def _erase_parts(self, session: EngineTransaction, source_ids: Sequence[str]) -> Mapping[str, int]:
        """Erase sources with their parts, except answers and concepts. Return the numbers by label and type."""

    @abstractmethod
    def _stream(self, name: str) -> Iterator[Row]:
        """Yield the rows of a statement that covers the whole namespace, without blocking writers."""

    @abstractmethod
    def _links(self) -> Iterator[Row]:
        """Yield the relationships outside of subgraphs that have no properties: type, source, target."""

    # ---- the embedder

    def embedder(self, claimed: tuple[str, int] | None = None) -> tuple[str, int] | None:
        rows = self.in_reading(lambda session: session.run("read_embedder", namespace=self._namespace))
        existing = (rows[0]["embedder"], rows[0]["dimension"]) if rows else None
        if claimed is None:
            return existing
        if existing is not None and self._read_only:
            checks.check_embedder(existing, claimed, self.place)
        elif existing != claimed or self._writing_tells:
            self.in_writing(lambda session: self._claim(session, claimed))
        self._claimed = claimed
        return claimed

    def _claim(self, session: EngineTransaction, wanted: tuple[str, int] | None) -> None:
        session.changed_vectors = ()
        if wanted is not None:
            name, dimension = wanted
            (row,) = session.run("claim_embedder", namespace=self._namespace, embedder=name, dimension=dimension)
            checks.check_embedder((row["embedder"], row["dimension"]), wanted, self.place)

    @property
    def place(self) -> str:
        """Namespace and store, for messages."""
        return f"namespace {self._namespace!r} of {self.location}"

    # ---- sources and answers

    def sources(
        self, wanted: port.SourceFilter = port.ALL_SOURCES, *, after: str = "", limit: int = 1000
    ) -> list[port.StoredSource]:
        if limit < 1:
            return []
        if wanted.ids is not None:
            ids = sorted(id_ for id_ in set(wanted.ids) if id_ > after)[:limit]
            rows = self._rows("read_sources", ids=ids) if ids else []
        else:
            conditions = {name: getattr(wanted, name) for name in ("input_id", "expired_before", "has_failed")}
            rows = self._rows("find_sources", **_bounds(wanted.prefix, after), **conditions, limit=limit)
        return sorted((port.StoredSource(**row | {"tags": tuple(row["tags"] or ())}) for row in rows), key=lambda item: item.id)

    def creation_times(self) -> dict[str, str]:
        (row,) = self._rows("creation_times")
        return dict(row["sources"])

    def answers(self, source_id: str = "", *, prefix: str = "", limit: int = 100, whole: bool = False) -> list[Answer]:
        if limit < 1:
            return []
        if prefix:
            rows = sorted(self._rows("find_answers", **_bounds(prefix), limit=limit), key=lambda row: str(row["id"]))
        else:
            rows = self._rows("list_answers", source_id=source_id, whole=whole, limit=limit)
        return [answer_of(self._namespace, row) for row in rows]

    def _rows(self, name: str, **values: Any) -> list[Row]:
        return self.in_reading(lambda session: session.run(name, namespace=self._namespace, **values))

    # ---- saving

    def save(
        self,
        subgraphs: Sequence[Subgraph],
        aggregation: Aggregation,
        *,
        replace: port.Replace = False,
        vectors: Mapping[str, Vector] | None = None,
    ) -> list[port.SaveOutcome]:
        checks.check(subgraphs, self._namespace)
        if not subgraphs:
            return []
        ids, first = sorted({subgraph.source_id for subgraph in subgraphs}), list[port.SaveOutcome]()

        def work(session: EngineTransaction) -> list[port.SaveOutcome]:
            nonlocal first
            self._claim(session, self._claimed)
            hashes = self._lock_sources(session, ids)
            outcomes, wanted = self._planned(session, subgraphs, hashes, replace)
            replaced = [id_ for id_ in wanted if id_ in hashes]
            # Replacing also changes vectors of evidence and of concepts.
            evidence = (item.id for graph in wanted.values() for item in graph.evidence)
            evidence_vectors = {id_: vectors[id_] for id_ in evidence if id_ in vectors} if vectors else {}
            session.changed_vectors = None if replaced else {*wanted, *evidence_vectors}
            self._write(session, wanted, replaced, aggregation)
            self.concepts.save_vectors(session.run, evidence_vectors)
            if session.perhaps_done and first:
                # This try found the work of an earlier one, whose outcomes are the right ones.
                pairs = zip(first, outcomes, strict=True)
                outcomes = [before if now == "unchanged" else now for before, now in pairs]
            first = outcomes
            return outcomes

        outcomes = self.in_writing(work)
        self._claimed = None
        return outcomes

    def _planned(
        self, session: EngineTransaction, subgraphs: Sequence[Subgraph], stored: Mapping[str, str], replace: port.Replace
    ) -> tuple[list[port.SaveOutcome], dict[str, Subgraph]]:
        """Return the outcomes, and the subgraphs to write by source id; of two for one source, the last one counts."""
        hashes, wanted, outcomes = dict(stored), dict[str, Subgraph](), list[port.SaveOutcome]()
        for subgraph in subgraphs:
            id_, edition = subgraph.source_id, subgraph
            outcome = checks.outcome_of(hashes.get(id_), subgraph, replace=replace)
            if outcome == "added":
                existing = wanted[id_] if id_ in wanted else self._read_in(session, [id_])[0]
                outcome, edition = checks.added(existing, subgraph)
            outcomes.append(outcome)
            if outcome in ("created", "replaced", "added"):
                wanted[id_], hashes[id_] = edition, edition.settings_hash
        return outcomes, wanted

    # ---- erasing

    def erase(self, ids: Sequence[str], reductions: Sequence[port.Reduction] = ()) -> port.Erased:
        checks.check([item.after for item in reductions], self._namespace)
        first = port.Erased()

        def work(session: EngineTransaction) -> port.Erased:
            nonlocal first
            # Under the lock nobody writes an answer, or another edition, meanwhile.
            hashes = self._lock_sources(session, sorted({*ids, *(item.before.source_id for item in reductions)}))
            sources = sorted(hashes.keys() & set(ids))
            other_ids = sorted(set(ids) - hashes.keys())
            parts = list[port.Erased]()
            if number := self.registry.erase_sites(session, other_ids):
                parts.append(port.Erased({"Edge": number}))
            if sources:
                parts.append(self._erase_sources(session, sources))
            parts += [self._reduce(session, item) for item in reductions]
            erased = port.Erased.sum_of(parts)
            self.corrections.erase(session.run, sources, erased.answer_ids)
            if session.perhaps_done and not sources and len(erased.stale) == len(reductions):
                return first  # an earlier try, whose end nobody heard of, has done the work
            first = erased
            return first

        return self.in_writing(work) if ids or reductions else first

    def _erase_sources(self, session: EngineTransaction, source_ids: Sequence[str]) -> port.Erased:
        """Erase sources, the answers that rest on them, and concepts and communities that are left without an entity.

        Answers are found by the sources that they name, even if their links are lost. Communities that lose their summaries are
        counted.
        """
        run, namespace = session.run, self._namespace
        answer_ids = [row["id"] for row in run("answers_naming", namespace=namespace, source_ids=source_ids)]
        if answer_ids:
            run("erase_answers", namespace=namespace, answer_ids=answer_ids)
        touched = shared_concepts.touched_concepts(run, namespace, source_ids)
        open_ids = {row["community"] for row in shared_parts.open_communities(run, namespace, source_ids)}
        counts = dict(self._erase_parts(session, source_ids))
        run_by_ids(run, "remove_empty_communities", open_ids, namespace=namespace)
        counts |= {"Concept": self._remove_concepts(run, touched), "Community": len(open_ids)}
        return port.Erased(counts, frozenset(answer_ids))

    def _reduce(self, session: EngineTransaction, item: port.Reduction) -> port.Erased:
        """Replace a subgraph by its reduction. The remaining parts keep their vectors and concepts."""
        id_, after, run, namespace = item.before.source_id, item.after, session.run, self._namespace
        if self._read_in(session, [id_]) != [item.before]:
            return port.Erased(stale=frozenset([id_]))
        touched = shared_concepts.touched_concepts(run, namespace, [id_])
        linked = run("concepts_of_sources", namespace=namespace, source_ids=[id_])
        vectors = run("evidence_vectors", namespace=namespace, ids=[part.id for part in after.evidence])
        open_ids = {row["community"] for row in shared_parts.open_communities(run, namespace, [id_])}
        self._write(session, {id_: after}, [id_], after.aggregation or Aggregation())
        entities = {part.id for part in after.entities}
        if links := [{"entity": row["entity"], "concept": row["id"]} for row in linked if row["entity"] in entities]:
            run("link_entities", namespace=namespace, rows=links)
        for page in pages(vectors, VECTORS_AT_ONCE):
            run("save_evidence_vectors", namespace=namespace, rows=page)
        return port.Erased({"Concept": self._remove_concepts(run, touched), "Community": len(open_ids)})

    def _remove_concepts(self, run: Run, touched: Sequence[str]) -> int:
        """Remove touched concepts without entities, and those whose last entity was in a replaced document."""
        ids = [*touched, *shared_concepts.abandoned_concepts(run, self._namespace)]
        return shared_concepts.remove_orphan_concepts(run, self._namespace, ids)

    # ---- looking, checking and exporting

    def counts(self) -> dict[str, int]:
        return dict.fromkeys(checks.COUNTED, 0) | {row["name"]: row["number"] for row in self._rows("counts")}

    def linked_edges(self, community_id: str = "") -> Iterator[port.LinkedEdge]:
        if community_id:
            yield from sorted(map(linked_edge_of, self._rows("community_edges", id=community_id)), key=attrgetter("id"))
            return
        for row in self._stream("linked_edges"):
            # A row is an edge or all edges of a source, depending on the engine.
            yield from map(linked_edge_of, row.get("edges", [row]))

    def verify(self) -> list[port.Problem]:
        rows = ((name, row) for name in checks.CHECKS for row in self._rows(name))
        return list(dict.fromkeys(checks.problem(name, *row.values()) for name, row in rows))

    def records(self, *, vectors: bool = True) -> Iterator[dict[str, Any]]:
        for subgraph in iter_subgraphs(self):
            yield from subgraph_records(subgraph)
        for row in self._stream("find_answers"):
            answered, used = row.pop("answered", ()), row.pop("used", ())
            yield from answer_records(answer_of(self._namespace, row), answered, used)
        for row in self._links():
            yield link(row["type"], row["source"], row["target"], self._namespace)
        yield from self.concepts.records(vectors=vectors)
        yield from self.communities.records(vectors=vectors)
        yield from self.corrections.records()


def _bounds(prefix: str, after: str = "") -> dict[str, str]:
    """Return bounds that let an index find the ids that begin with `prefix` (and some others), and `prefix`."""
    return {"after": max(after, prefix[:-1]), "until": prefix + LAST, "prefix": prefix}
