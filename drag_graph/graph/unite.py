"""Add a second teacher's subgraph of a source to the stored one (no I/O)."""

from collections.abc import Sequence
from typing import Any, TypeVar

from drag_graph.graph.contradictions import with_opposition
from drag_graph.graph.name_forms import common_words, entity_key, predicate_key
from drag_graph.identity import triple_id
from drag_graph.model import Chunk, Entity, Evidence, Subgraph, TeacherCall, Triple

Part = TypeVar("Part", bound=Chunk | TeacherCall | Evidence | Entity | Triple)
_AND = "+"
"""Separator of the sorted settings hashes of a subgraph that was distilled under several settings."""


def is_made_under(stored: str, settings_hash: str) -> bool:
    """Whether a subgraph with the hash `stored` was made under these settings, perhaps among others."""
    return settings_hash in stored.split(_AND)


def united(stored: Subgraph, added: Subgraph) -> Subgraph:
    """Return a subgraph with the content of both. What both have is there once, with the calls of both.

    New parts come after stored ones, by position and rank. An added entity whose name differs from a stored one only in case,
    number or article is the stored one. A triple of both keeps the higher confidence; the aggregation merges the confidences
    of teachers in a claim.
    """
    added = _under_stored_names(stored, added)
    return stored.model_copy(
        update={
            "settings_hash": _AND.join(sorted({*stored.settings_hash.split(_AND), *added.settings_hash.split(_AND)})),
            "created_at": added.created_at,
            "expires_at": added.expires_at,
            "blind": stored.blind and added.blind,
            "chunks": _merged(stored.chunks, added.chunks),
            "calls": _merged(stored.calls, added.calls),
            "evidence": _merged(stored.evidence, added.evidence, numbers=("position", "rank"), sets=("call_ids",)),
            "entities": _merged(stored.entities, added.entities, sets=("variants",)),
            "triples": with_opposition(_merged(stored.triples, added.triples, numbers=("rank",), sets=("call_ids",))),
        }
    )


def _under_stored_names(stored: Subgraph, added: Subgraph) -> Subgraph:
    common = common_words([entity.name for entity in (*stored.entities, *added.entities)])
    by_key = {entity_key(entity.name, common): entity for entity in stored.entities}
    same = {entity.id: by_key.get(entity_key(entity.name, common), entity) for entity in added.entities}
    triples = []
    for item in added.triples:
        subject, object_ = same[item.subject_id], same[item.object_id]
        if subject.id == object_.id:
            continue  # its ends are one thing under the stored names
        names = {"subject_id": subject.id, "subject": subject.name, "object_id": object_.id, "object": object_.name}
        if item != (renamed := item.model_copy(update=names)):
            parts = (item.source_id, (subject.id, object_.id), predicate_key(item.predicate), item.evidence_id)
            renamed = renamed.model_copy(update={"id": triple_id(added.source.namespace, *parts)})
        triples.append(renamed)
    entities = []
    for entity in added.entities:
        kept = same[entity.id]
        entities.append(kept.model_copy(update={"variants": tuple(sorted({entity.name, *entity.variants} - {kept.name}))}))
    return added.model_copy(update={"triples": tuple(triples), "entities": tuple(entities)})


def _merged(
    ours: Sequence[Part], theirs: Sequence[Part], *, numbers: Sequence[str] = (), sets: Sequence[str] = ()
) -> tuple[Part, ...]:
    """Merge parts by id. The fields `numbers` of new parts continue after ours; a shared part unites the fields `sets`."""
    merged: dict[str, Any] = {item.id: item for item in ours}
    first = {name: max((getattr(item, name) for item in ours), default=-1) + 1 for name in numbers}
    for item in theirs:
        part = merged.get(item.id, item)
        changes: dict[str, Any] = {name: tuple(sorted({*getattr(part, name), *getattr(item, name)})) for name in sets}
        if item.id not in merged:
            changes = {name: number + getattr(item, name) for name, number in first.items()}
        elif isinstance(part, Triple) and isinstance(item, Triple):
            changes["confidence"] = max(part.confidence, item.confidence)
        merged[item.id] = part.model_copy(update=changes)
    return tuple(merged.values())
