"""Erasing in the embedded store: a query, or what teacher calls said about it (docs/adr/0016-erasing.md)."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from drag_graph.adapters.ladybug_engine import Session
from drag_graph.adapters.ladybug_store import LadybugStore
from drag_graph.erasing import (
    Erased,
    Naming,
    Parts,
    Selection,
    Target,
    aggregation_of,
    concepts_named,
    loosened,
    needs_refresh,
    parts_of,
    without,
)
from drag_graph.model import Subgraph
from drag_graph.stores.shared.concepts import remove_orphan_concepts


class LadybugErasing:
    """The `ErasingStore` port on an embedded store; see there for what each method promises."""

    def __init__(self, store: LadybugStore) -> None:
        self._store = store
        self._namespace = store.namespace

    def targets(self, selection: Selection, after: str, limit: int) -> list[Target]:
        values = selection.page(self._namespace, after, limit)
        with self._store.reading() as session:
            if not selection.model:
                return [Target(row["id"]) for row in session.run("erase_targets", **values)]
            found = session.run("erase_targets_calls", **values)
        return [Target(row["id"], tuple(sorted(row["call_ids"]))) for row in found]

    def find_calls(self, prefix: str, limit: int = 10) -> list[Target]:
        with self._store.reading() as session:
            found = session.run("match_call_ids", namespace=self._namespace, prefix=prefix, limit=limit)
        return [Target(row["source_id"], (row["id"],)) for row in found]

    def answers_naming(self, source_ids: Sequence[str]) -> dict[str, list[str]]:
        naming: dict[str, list[str]] = {}
        if source_ids:
            with self._store.reading() as session:
                found = session.run("erase_answers_naming", namespace=self._namespace, source_ids=list(source_ids))
            for row in found:
                naming.setdefault(row["source_id"], []).append(row["id"])
        return naming

    def erase(self, target: Target, now: str, *, dry_run: bool = False, answer_ids: Collection[str] | None = None) -> Erased:
        if answer_ids is None:
            answer_ids = self.answers_naming([target.source_id]).get(target.source_id, [])
        try:
            with self._store.writing() as session:
                erasure = _Erasure(self._store, session, target, sorted(answer_ids))
                erased = erasure.run(now)
                if dry_run:
                    erased = replace(erased, loosened=erasure.loosened)
                _require_wanted(erased, dry_run=dry_run)
                return erased
        except _NotDone as told:
            return told.erased


class _Erasure:
    """One erasure in the writing transaction of `session`. `loosened` tells, once it ran, of concepts that stay."""

    def __init__(self, store: LadybugStore, session: Session, target: Target, naming: list[str]) -> None:
        self._store = store
        self._session = session
        self._target = target
        self._naming = naming
        self._namespace = store.namespace
        self._mine = {"namespace": store.namespace, "source_id": target.source_id}
        self.loosened: dict[str, tuple[int, int]] = {}

    def run(self, now: str) -> Erased:
        if not self._target.call_ids:
            return self._query()
        found = self._store.read_in(self._session, [self._target.source_id])
        if not found:
            return Erased()
        parts = parts_of(found[0], self._target.call_ids)
        if parts.everything:
            return self._query()
        return self._parts(found[0], parts, now) if parts.call_ids else Erased()

    def _query(self) -> Erased:
        answers = self._answers(None)
        namings = self._touched(None)
        triples = self._session.run("erase_subgraphs_triples", **self._mine)[0]["number"]
        counts = {
            label: self._session.run(name, **self._mine)[0]["number"]
            for label, name in (
                ("Evidence", "erase_subgraphs"),
                ("Entity", "erase_subgraphs_entities"),
                ("TeacherCall", "erase_subgraphs_calls"),
                ("Query", "erase_query"),
            )
        }
        return Erased({**counts, "TRIPLE": triples, "Concept": self._concepts(namings)}, answers)

    def _parts(self, subgraph: Subgraph, parts: Parts, now: str) -> Erased:
        session, mine = self._session, self._mine
        answers = self._answers(parts)
        namings = self._touched(parts)
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
            self._store.aggregate_in(session, [subgraph.query.id], aggregation)
        counts = {
            "Evidence": len(parts.evidence_ids),
            "Entity": len(parts.entity_ids),
            "TeacherCall": len(parts.call_ids),
            "TRIPLE": len(parts.triple_ids),
        }
        return Erased({"Query": 0, **counts, "Concept": self._concepts(namings)}, answers)

    def _answers(self, parts: Parts | None) -> frozenset[str]:
        """Erase the answers that rest on the query, or only those that were shown any of these parts; return their ids."""
        found = {row["id"]: row for row in self._session.run("erase_answers_resting", **self._mine)}
        if missing := [id_ for id_ in self._naming if id_ not in found]:
            named = self._session.run("erase_answers_resting_named", namespace=self._namespace, answer_ids=missing)
            found |= {row["id"]: row for row in named}
        ids = [id_ for id_, row in found.items() if parts is None or parts.shown_in(row["line_json"], row["snapshot"])]
        if ids:
            self._session.run("erase_answers", namespace=self._namespace, answer_ids=ids)
        return frozenset(ids)

    def _touched(self, parts: Parts | None) -> list[Naming]:
        """Return what the entities of the query are called."""
        found = self._session.run("concepts_of_sources", namespace=self._namespace, source_ids=[self._target.source_id])
        namings = [Naming(row["id"], row["entities"], row["entity"], tuple(row["variants"])) for row in found]
        self.loosened = loosened(namings, parts)
        return namings

    def _concepts(self, namings: list[Naming]) -> int:
        """Erase those of the concepts that no entity refers to any more; return how many. What only these said goes, too."""
        return remove_orphan_concepts(self._session.run, self._namespace, concepts_named(self._namespace, namings))


class _NotDone(Exception):  # noqa: N818 - it ends a transaction that was only tried
    def __init__(self, erased: Erased) -> None:
        super().__init__("a dry run is rolled back")
        self.erased = erased


def _require_wanted(erased: Erased, *, dry_run: bool) -> None:
    """Raise _NotDone, which rolls the transaction back, in a dry run."""
    if dry_run:
        raise _NotDone(erased)
