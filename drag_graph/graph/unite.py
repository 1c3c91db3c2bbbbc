"""Add a second teacher's subgraph of a source to the stored one (no I/O)."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from drag_graph.graph.name_forms import common_words, entity_key, predicate_key
from drag_graph.graph.opposition import with_opposition
from drag_graph.identity import triple_id
from drag_graph.model import Entity, Evidence, Subgraph, Triple
from drag_graph.values import Value

Item = TypeVar("Item", bound=Value)
_AND = "+"


def united_hash(*hashes: str) -> str:
    """Return the settings hash of a subgraph that was made under several: the sorted set of them."""
    return _AND.join(sorted({part for item in hashes for part in item.split(_AND)}))


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
            "settings_hash": united_hash(stored.settings_hash, added.settings_hash),
            "created_at": added.created_at,
            "expires_at": added.expires_at,
            "blind": stored.blind and added.blind,
            "chunks": _union(stored.chunks, added.chunks),
            "calls": _union(stored.calls, added.calls),
            "evidence": _evidence(stored.evidence, added.evidence),
            "entities": _entities(stored.entities, added.entities),
            "triples": with_opposition(_triples(stored.triples, added.triples)),
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


def _union(ours: Sequence[Item], theirs: Sequence[Item]) -> tuple[Item, ...]:
    return tuple({getattr(item, "id", ""): item for item in (*theirs, *ours)}.values())


def _evidence(ours: Sequence[Evidence], theirs: Sequence[Evidence]) -> tuple[Evidence, ...]:
    merged = {item.id: item for item in ours}
    position, rank = _behind(item.position for item in ours), _behind(item.rank for item in ours)
    for item in theirs:
        there = merged.get(item.id)
        if there is None:
            merged[item.id] = item.model_copy(update={"position": position + item.position, "rank": rank + item.rank})
        else:
            merged[item.id] = there.model_copy(update={"call_ids": _both(there.call_ids, item.call_ids)})
    return tuple(merged.values())


def _triples(ours: Sequence[Triple], theirs: Sequence[Triple]) -> tuple[Triple, ...]:
    merged = {item.id: item for item in ours}
    rank = _behind(item.rank for item in ours)
    for item in theirs:
        there = merged.get(item.id)
        if there is None:
            merged[item.id] = item.model_copy(update={"rank": rank + item.rank})
        else:
            changes = {"call_ids": _both(there.call_ids, item.call_ids), "confidence": max(there.confidence, item.confidence)}
            merged[item.id] = there.model_copy(update=changes)
    return tuple(merged.values())


def _entities(ours: Sequence[Entity], theirs: Sequence[Entity]) -> tuple[Entity, ...]:
    merged = {item.id: item for item in ours}
    for item in theirs:
        there = merged.get(item.id)
        variants = _both(there.variants, item.variants) if there else item.variants
        merged[item.id] = (there or item).model_copy(update={"variants": variants})
    return tuple(merged.values())


def _both(ours: Iterable[str], theirs: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({*ours, *theirs}))


def _behind(numbers: Iterable[int]) -> int:
    return max(numbers, default=-1) + 1
