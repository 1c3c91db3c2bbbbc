"""Erasing in Neo4j: a query, or what teacher calls said about it (`drag_graph.erasing`, docs/adr/0016-erasing.md)."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from drag_graph.adapters import neo4j_rows as rows
from drag_graph.adapters.neo4j_access import Neo4jAccess
from drag_graph.adapters.neo4j_connection import Work
from drag_graph.adapters.neo4j_store import aggregate_subgraphs
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


class Neo4jErasing:
    """The `ErasingStore` port on a namespace of Neo4j; see there for what each method promises."""

    def __init__(self, access: Neo4jAccess) -> None:
        self._access = access
        self._namespace = access.namespace

    def targets(self, selection: Selection, after: str, limit: int) -> list[Target]:
        values = selection.page(self._namespace, after, limit)
        if not selection.model:
            return [Target(row[0]) for row in self._rows("erase_targets", **values)]
        found = self._rows("erase_targets_calls", **values)
        return [Target(id_, tuple(sorted(call_ids))) for id_, call_ids in found]

    def find_calls(self, prefix: str, limit: int = 10) -> list[Target]:
        values = {"namespace": self._namespace, "prefix": prefix, "limit": limit}
        return [Target(source_id, (id_,)) for id_, source_id in self._rows("match_call_ids", **values)]

    def answers_naming(self, source_ids: Sequence[str]) -> dict[str, list[str]]:
        values = {"namespace": self._namespace, "source_ids": list(source_ids)}
        naming: dict[str, list[str]] = {}
        for id_, source_id in self._rows("erase_answers_naming", **values):
            naming.setdefault(source_id, []).append(id_)
        return naming

    def _rows(self, name: str, **values: Any) -> list[list[Any]]:
        """Read what is there by now: what another process has just written is to be found, too."""
        return self._access.reading(lambda work: work.rows(name, **values), current=True)

    def erase(self, target: Target, now: str, *, dry_run: bool = False, answer_ids: Collection[str] | None = None) -> Erased:
        if answer_ids is None:
            answer_ids = self.answers_naming([target.source_id]).get(target.source_id, [])
        naming, before = sorted(answer_ids), Erased()

        def run(work: Work) -> Erased:
            nonlocal before
            erased = _Erasure(work, self._namespace, target, naming, tells_loosened=dry_run).run(now)
            if dry_run:
                raise _NotDone(erased)
            # The second time there is nothing left: the first one's numbers are true.
            if work.perhaps_done and sum(erased.counts.values()) < sum(before.counts.values()):
                return before
            before = erased
            return erased

        try:
            return self._access.writing(run)
        except _NotDone as told:
            return told.erased


class _NotDone(Exception):  # noqa: N818 - it ends a transaction that was only tried
    def __init__(self, erased: Erased) -> None:
        super().__init__("a dry run is rolled back")
        self.erased = erased


class _Erasure:
    """One erasure in the transaction of `work`."""

    def __init__(self, work: Work, namespace: str, target: Target, naming: list[str], *, tells_loosened: bool) -> None:
        self._work = work
        self._target = target
        self._naming = naming
        self._tells_loosened = tells_loosened
        self._mine = {"namespace": namespace, "source_id": target.source_id}
        self._namespace = namespace

    def run(self, now: str) -> Erased:
        # Under the lock nobody writes an answer, or another edition, meanwhile.
        self._work.rows("lock_queries", namespace=self._namespace, source_ids=[self._target.source_id])
        if not self._target.call_ids:
            return self._query()
        found = self._work.rows("read_subgraphs", namespace=self._namespace, source_ids=[self._target.source_id])
        if not found:
            return Erased()
        subgraph = rows.subgraph_of(found[0], self._namespace)
        parts = parts_of(subgraph, self._target.call_ids)
        if parts.everything:
            return self._query()
        return self._parts(subgraph, parts, now) if parts.call_ids else Erased()

    def _query(self) -> Erased:
        answers = self._answers(None)
        namings = self._touched()
        ((_, evidence, entities, calls, triples),) = self._work.rows(
            "erase_subgraphs", namespace=self._namespace, source_ids=[self._target.source_id]
        )
        ((queries,),) = self._work.rows("erase_query", **self._mine)
        counts = {"Query": queries, "Evidence": evidence, "Entity": entities, "TeacherCall": calls, "TRIPLE": triples}
        return self._told(Erased({**counts, "Concept": self._concepts(namings)}, answers), namings, None)

    def _parts(self, subgraph: Subgraph, parts: Parts, now: str) -> Erased:
        answers = self._answers(parts)
        namings = self._touched()
        left = without(subgraph, parts)
        text = self._work.rows("read_aggregation", **self._mine)[0][0]
        aggregation = aggregation_of(text, parts.statements)
        self._work.run(
            "erase_parts",
            **self._mine,
            call_ids=list(parts.call_ids),
            evidence_ids=list(parts.evidence_ids),
            triple_ids=list(parts.triple_ids),
            entity_ids=list(parts.entity_ids),
            edge_ids=list(parts.edge_ids),
            variants=[[id_, list(forms)] for id_, forms in parts.variants.items()],
            calls=[call.id for call in left.calls],
            sizes=[len(part) for part in (left.calls, left.evidence, left.entities, left.triples, left.edges)],
            graph=left.graph,
            expires_at=now if needs_refresh(left, aggregation) else None,
        )
        if aggregation is not None:
            self._work.run("erase_edges", namespace=self._namespace, source_ids=[self._target.source_id])
            aggregate_subgraphs(self._work, self._namespace, [self._target.source_id], aggregation)
        counts = {
            "Evidence": len(parts.evidence_ids),
            "Entity": len(parts.entity_ids),
            "TeacherCall": len(parts.call_ids),
            "TRIPLE": len(parts.triple_ids),
        }
        erased = Erased({"Query": 0, **counts, "Concept": self._concepts(namings)}, answers)
        return self._told(erased, namings, parts)

    def _told(self, erased: Erased, namings: list[Naming], parts: Parts | None) -> Erased:
        return replace(erased, loosened=loosened(namings, parts)) if self._tells_loosened else erased

    def _answers(self, parts: Parts | None) -> frozenset[str]:
        """Erase the answers that rest on the query, or only those that were shown any of these parts; return their ids."""
        found: list[list[Any]] = self._work.rows("erase_answers_resting", **self._mine, answer_ids=self._naming)
        ids = sorted(id_ for id_, *texts in found if parts is None or parts.shown_in(*texts))
        if ids:
            self._work.run("erase_answers", namespace=self._namespace, answer_ids=ids)
        return frozenset(ids)

    def _touched(self) -> list[Naming]:
        """Return what the entities of the query are called; nobody else writes to these concepts from now on."""
        source_ids = [self._target.source_id]
        found = self._work.records("concepts_of_sources", namespace=self._namespace, source_ids=source_ids)
        return [Naming(row["id"], row["entities"], row["entity"], tuple(row["variants"])) for row in found]

    def _concepts(self, namings: list[Naming]) -> int:
        """Erase those of the concepts that no entity refers to any more; return how many. What only these said goes, too."""
        return remove_orphan_concepts(self._work.records, self._namespace, concepts_named(self._namespace, namings))
