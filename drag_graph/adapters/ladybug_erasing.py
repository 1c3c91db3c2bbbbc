"""Erasing in the embedded store: a query, or what teacher calls said about it (docs/adr/0016-erasing.md)."""

from typing import Any

from drag_graph.adapters.ladybug_engine import Session
from drag_graph.adapters.ladybug_store import LadybugStore
from drag_graph.erasing import Erased, Parts, Selection, Target, aggregation_of, needs_refresh, parts_of, without
from drag_graph.model import Subgraph


class LadybugErasing:
    """The `ErasingStore` port on an embedded store; see there for what each method promises."""

    def __init__(self, store: LadybugStore) -> None:
        self._store = store
        self._namespace = store.namespace

    def targets(self, selection: Selection, after: str, limit: int) -> list[Target]:
        values = {
            "namespace": self._namespace,
            "domain": selection.domain,
            "source_id": selection.source_id,
            "created_before": selection.created_before,
            "after": after,
            "limit": limit,
        }
        with self._store.reading() as session:
            if not selection.model:
                return [Target(row["id"]) for row in session.run("erase_targets", **values)]
            found = session.run("erase_targets_calls", model=selection.model, **values)
        return [Target(row["id"], tuple(sorted(row["call_ids"]))) for row in found]

    def find_calls(self, prefix: str, limit: int = 10) -> list[Target]:
        with self._store.reading() as session:
            found = session.run("match_call_ids", namespace=self._namespace, prefix=prefix, limit=limit)
        return [Target(row["query_id"], (row["id"],)) for row in found]

    def erase(self, target: Target, now: str, *, dry_run: bool = False) -> Erased:
        try:
            with self._store.writing() as session:
                erased = self._erase(session, target, now)
                _require_wanted(erased, dry_run=dry_run)
                return erased
        except _NotDone as told:
            return told.erased

    def _erase(self, session: Session, target: Target, now: str) -> Erased:
        if not target.call_ids:
            return self._query(session, target.query_id)
        found = self._store.read_in(session, [target.query_id])
        if not found:
            return Erased()
        parts = parts_of(found[0], target.call_ids)
        if parts.everything:
            return self._query(session, target.query_id)
        return self._parts(session, found[0], parts, now) if parts.call_ids else Erased()

    def _query(self, session: Session, query_id: str) -> Erased:
        mine = {"namespace": self._namespace, "query_id": query_id}
        answers = self._answers(session, query_id, None)
        concepts = self._touched(session, query_id)
        triples = session.run("erase_subgraphs_triples", **mine)[0]["number"]
        counts = {
            label: session.run(name, **mine)[0]["number"]
            for label, name in (
                ("Evidence", "erase_subgraphs"),
                ("Entity", "erase_subgraphs_entities"),
                ("TeacherCall", "erase_subgraphs_calls"),
                ("Query", "erase_query"),
            )
        }
        return Erased({**counts, "TRIPLE": triples, "Concept": self._concepts(session, concepts)}, answers)

    def _parts(self, session: Session, subgraph: Subgraph, parts: Parts, now: str) -> Erased:
        query_id = subgraph.query.id
        mine = {"namespace": self._namespace, "query_id": query_id}
        answers = self._answers(session, query_id, parts)
        concepts = self._touched(session, query_id)
        left = without(subgraph, parts)
        aggregation = aggregation_of(session.run("read_aggregation", **mine)[0]["aggregation"], parts.statements)
        gone = {
            "erase_parts_edges": parts.edge_ids,
            "erase_parts_triples": parts.triple_ids,
            "erase_parts_evidence": parts.evidence_ids,
            "erase_parts_entities": parts.entity_ids,
            "erase_parts_calls": parts.call_ids,
        }
        for name, ids in gone.items():
            if ids:
                session.run(name, **mine, ids=list(ids))
        for id_, forms in parts.variants.items():
            session.run("erase_parts_variants", namespace=self._namespace, entity_id=id_, variants=list(forms))
        session.run(
            "erase_parts",
            **mine,
            calls=[call.id for call in left.calls],
            graph=left.graph,
            expires_at=now if needs_refresh(left, aggregation) else "",
        )
        if aggregation is not None:
            session.run("erase_edges", **mine)
            self._store.aggregate_in(session, [query_id], aggregation)
        counts = {
            "Evidence": len(parts.evidence_ids),
            "Entity": len(parts.entity_ids),
            "TeacherCall": len(parts.call_ids),
            "TRIPLE": len(parts.triple_ids),
        }
        return Erased({"Query": 0, **counts, "Concept": self._concepts(session, concepts)}, answers)

    def _answers(self, session: Session, query_id: str, parts: Parts | None) -> frozenset[str]:
        """Erase the answers that rest on the query, or only those that were shown any of these parts; return their ids."""
        found = session.run("erase_answers_resting", namespace=self._namespace, query_id=query_id)
        ids = [row["id"] for row in found if parts is None or parts.shown_in(row["line_json"], row["snapshot"])]
        if ids:
            session.run("erase_answers", namespace=self._namespace, answer_ids=ids)
        return frozenset(ids)

    def _touched(self, session: Session, query_id: str) -> list[str]:
        found = session.run("erase_concepts_touched", namespace=self._namespace, query_id=query_id)
        return sorted(row["id"] for row in found)

    def _concepts(self, session: Session, concept_ids: list[str]) -> int:
        """Erase those of these concepts that no entity refers to any more, and count the others' entities anew."""
        if not concept_ids:
            return 0
        changed: list[dict[str, Any]] = session.run("erase_concepts", namespace=self._namespace, concept_ids=concept_ids)
        if not changed:
            return 0
        clusters = sorted({row["cluster"] for row in changed if row["cluster"]})
        if clusters:
            session.run("erase_concepts_clusters", namespace=self._namespace, clusters=clusters)
        left = [{"id": row["id"], "entities": row["entities"]} for row in changed if row["entities"]]
        if left:
            session.run("erase_concepts_counts", namespace=self._namespace, rows=left)
        gone = [row["id"] for row in changed if not row["entities"]]
        if gone:
            session.run("erase_concepts_neighbours", namespace=self._namespace, concept_ids=gone)
            session.run("erase_concepts_nodes", namespace=self._namespace, concept_ids=gone)
        return len(gone)


class _NotDone(Exception):  # noqa: N818 - it ends a transaction that was only tried
    def __init__(self, erased: Erased) -> None:
        super().__init__("a dry run is rolled back")
        self.erased = erased


def _require_wanted(erased: Erased, *, dry_run: bool) -> None:
    """Raise _NotDone, which rolls the transaction back, in a dry run."""
    if dry_run:
        raise _NotDone(erased)
