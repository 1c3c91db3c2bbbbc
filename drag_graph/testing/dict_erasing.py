"""Erasing in the store in memory (`drag_graph.testing.dict_store`)."""

from collections.abc import Collection, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING

from drag_graph.erasing import (
    Erased,
    Naming,
    Selection,
    Target,
    loosened,
    needs_refresh,
    parts_of,
    without,
)
from drag_graph.model import Answer
from drag_graph.testing.builders import expected
from drag_graph.testing.dict_concepts import written

if TYPE_CHECKING:
    from drag_graph.testing.dict_store import Content, DictStore


class DictErasing:
    """The `ErasingStore` port over dictionaries."""

    def __init__(self, store: "DictStore") -> None:
        self._store = store

    def targets(self, selection: Selection, after: str, limit: int) -> list[Target]:
        found = []
        with self._store.content() as content:
            for id_, graph in sorted(content.subgraphs.items()):
                calls = tuple(call.id for call in graph.calls if call.model == selection.model)
                if (
                    id_ > after
                    and selection.domain in ("", graph.query.domain)
                    and selection.input_id in ("", graph.query.input_id)
                    and (not selection.created_before or "" < graph.created_at < selection.created_before)
                    and (calls or not selection.model)
                ):
                    found.append(Target(id_, tuple(sorted(calls)) if selection.model else ()))
        return found[:limit]

    def find_calls(self, prefix: str, limit: int = 10) -> list[Target]:
        with self._store.content() as content:
            calls = [(call.id, id_) for id_, graph in content.subgraphs.items() for call in graph.calls]
        return [Target(source_id, (id_,)) for id_, source_id in sorted(calls) if id_.startswith(prefix)][:limit]

    def answers_naming(self, source_ids: Sequence[str]) -> dict[str, list[str]]:
        with self._store.content() as content:
            answers = list(content.answers.values())
        return {id_: [item.id for item in answers if id_ in item.source_ids] for id_ in source_ids}

    def erase(self, target: Target, now: str, *, dry_run: bool = False, answer_ids: Collection[str] | None = None) -> Erased:
        del answer_ids
        with self._store.content() as content:
            graph = content.subgraphs.get(target.source_id)
            resting = [item for item in content.answers.values() if target.source_id in item.source_ids]
            if graph is None:
                return self._gone(content, resting, {}, dry_run=dry_run)
            links = deepcopy(content.links) if dry_run else content.links
            concepts = len(links.concepts)
            namings = [
                Naming(links.refers[item.id], links.concepts[links.refers[item.id]].entities, item.id, item.variants)
                for item in graph.entities
                if item.id in links.refers
            ]
            parts = parts_of(graph, target.call_ids)
            if not target.call_ids or parts.everything:
                counts = {
                    "Query": 1,
                    "Evidence": len(graph.evidence),
                    "Entity": len(graph.entities),
                    "TeacherCall": len(graph.calls),
                    "TRIPLE": len(graph.triples),
                }
                links.forget(
                    graph, {item.id for item in graph.entities} | {item.id for item in graph.evidence}, written(content)
                )
                counts["Concept"] = concepts - len(links.concepts)
                if not dry_run:
                    del content.subgraphs[target.source_id]
                return self._gone(content, resting, counts, dry_run=dry_run, told=loosened(namings, None))
            if not parts.call_ids:
                return Erased()
            links.forget(graph, {*parts.entity_ids, *parts.evidence_ids}, written(content))
            left, aggregation = without(graph, parts), content.aggregations.get(target.source_id)
            if aggregation is not None:
                left = expected(left, aggregation.model_copy(update={"statements": dict(parts.statements)}))
            if needs_refresh(left, aggregation):
                left = left.model_copy(update={"expires_at": now})
            if not dry_run:
                content.subgraphs[target.source_id] = left
            resting = [item for item in resting if parts.shown_in(item.model_dump_json())]
            counts = {
                "Query": 0,
                "Evidence": len(parts.evidence_ids),
                "Entity": len(parts.entity_ids),
                "TeacherCall": len(parts.call_ids),
                "TRIPLE": len(parts.triple_ids),
                "Concept": concepts - len(links.concepts),
            }
            return self._gone(content, resting, counts, dry_run=dry_run, told=loosened(namings, parts))

    @staticmethod
    def _gone(
        content: "Content",
        resting: list[Answer],
        counts: dict[str, int],
        *,
        dry_run: bool,
        told: dict[str, tuple[int, int]] | None = None,
    ) -> Erased:
        for item in [] if dry_run else resting:
            del content.answers[item.id]
        zero = dict.fromkeys(("Query", "Evidence", "Entity", "TeacherCall", "TRIPLE", "Concept"), 0)
        return Erased(zero | counts, frozenset(item.id for item in resting), (told or {}) if dry_run else {})
