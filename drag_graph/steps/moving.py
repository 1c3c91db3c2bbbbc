"""A subgraph's ids as hashes of content (`drag_graph.identity`): whether they are, and what they are in another namespace."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from drag_graph.exchange import Stored
from drag_graph.identity import content_id, content_ids, query_id
from drag_graph.model import Aggregation, Evidence, Subgraph, Triple
from drag_graph.steps.surface import predicate_key

MOST_REPEATS = 1000
"""Earlier statements of the same text that one is looked for to repeat, at most."""
_ID = re.compile("[0-9a-f]{32}")
_key = lru_cache(maxsize=10_000)(predicate_key)


def wrong_id(subgraph: Subgraph) -> str:
    """Return, in words, the first id that is not the hash of what it is the id of; "" where all are.

    A teacher call's id hashes more than is kept: it is only looked at whether it may be one.
    """
    query, name = subgraph.query, subgraph.query.namespace
    if query_id(name, query.text, query.options) != query.id:
        return f"the query's id {query.id} is not the hash of its text and options in namespace {name!r}"
    for call in subgraph.calls:
        if not _ID.fullmatch(call.id):
            return f"the teacher call's id {call.id!r} is not one of 32 hexadecimal digits"
    return _wrong_part(subgraph)


def _wrong_part(subgraph: Subgraph) -> str:
    name, own = subgraph.query.namespace, subgraph.query.id
    hashed = content_ids(name, "evidence", own)
    for item in subgraph.evidence:
        if hashed(item.text) != item.id and not repeat_of(item, name):
            return f"the evidence {item.id} is not what its id is the hash of"
    hashed = content_ids(name, "entity", own)
    for entity in subgraph.entities:
        if hashed(entity.name) != entity.id:
            return f"the entity {entity.id} is not what its id is the hash of"
    hashed = content_ids(name, "triple", own)
    for triple in subgraph.triples:
        if hashed(triple.subject_id, _key(triple.predicate), triple.object_id, triple.evidence_id) != triple.id:
            return f"the triple {triple.id} is not what its id is the hash of"
    return _wrong_key(subgraph.triples)


def _wrong_key(triples: Sequence[Triple]) -> str:
    """Return, in words, the first predicate key that canonicalisation cannot have given; "" where all may be right.

    Predicates that say the same share the key of one of them (drag_graph/steps/canonical.py). That one may have been erased, so
    a key may be another than its predicate's own; but what one predicate has, all of its form have, and a key has itself.
    """
    keys: dict[str, str] = {}
    for triple in triples:
        key = triple.predicate_key
        if keys.setdefault(_key(triple.predicate), key) != key:
            return f"the triple {triple.id} has the predicate key {key!r}, and another of its predicate has another"
    for triple in triples:
        if keys.get(triple.predicate_key, triple.predicate_key) != triple.predicate_key:
            return f"the triple {triple.id} has the predicate key {triple.predicate_key!r}, whose own predicate has another"
    return ""


def moved(stored: Stored, namespace: str) -> Stored:
    """Return the same content as it is in another namespace: all ids are hashes that begin with it.

    The id of a teacher call hashes more than is kept: it is shifted by what tells the two queries apart, so that the way back,
    or by a third namespace, leads to the same. Ids must be right (`wrong_id`).
    """
    old = stored.subgraph
    query = old.query.model_copy(update={"id": query_id(namespace, old.query.text, old.query.options), "namespace": namespace})
    own = {"source_id": query.id}
    shift = _number(content_id(old.query.namespace, "call", old.query.id)) ^ _number(content_id(namespace, "call", query.id))
    calls = {item.id: f"{_number(item.id) ^ shift:032x}" for item in old.calls}

    def again_of(call_ids: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(calls[id_] for id_ in call_ids))

    texts = {item.id: (query.id, item.text, *repeat_of(item, old.query.namespace)) for item in old.evidence}
    evidence = {id_: content_id(namespace, "evidence", *parts) for id_, parts in texts.items()}
    entities = {item.id: content_id(namespace, "entity", query.id, item.name) for item in old.entities}
    triples = [
        item.model_copy(
            update={
                **own,
                "subject_id": entities[item.subject_id],
                "object_id": entities[item.object_id],
                "evidence_id": evidence[item.evidence_id],
                "call_ids": again_of(item.call_ids),
            }
        )
        for item in old.triples
    ]
    hashed = content_ids(namespace, "triple", query.id)
    again = [
        item.model_copy(update={"id": hashed(item.subject_id, _key(item.predicate), item.object_id, item.evidence_id)})
        for item in triples
    ]
    new = old.model_copy(
        update={
            "query": query,
            "calls": tuple(
                sorted((item.model_copy(update={**own, "id": calls[item.id]}) for item in old.calls), key=lambda item: item.id)
            ),
            "evidence": tuple(
                item.model_copy(update={**own, "id": evidence[item.id], "call_ids": again_of(item.call_ids)})
                for item in old.evidence
            ),
            "entities": tuple(item.model_copy(update={**own, "id": entities[item.id]}) for item in old.entities),
            "triples": tuple(sorted(again, key=lambda item: (item.rank, item.id))),
        }
    )
    return Stored(new, _moved_statements(stored.aggregation, entities))


def repeat_of(item: Evidence, namespace: str) -> tuple[str, ...]:
    """Return what an exact repeat's id hashes besides the text; nothing for what is no repeat, or not the hash of anything.

    The first statement of a text has a plain id, each later one its number (drag_graph/steps/evidence.py); some may be erased.
    """
    hashed = content_ids(namespace, "evidence", item.source_id, item.text)
    if hashed() == item.id:
        return ()
    numbers = (str(number) for number in range(1, min(item.position, MOST_REPEATS) + 1))
    return next((("repeat", number) for number in numbers if hashed("repeat", number) == item.id), ())


def _number(id_: str) -> int:
    return int(id_, 16)


def _moved_statements(aggregation: Aggregation | None, entities: Mapping[str, str]) -> Aggregation | None:
    """Return the aggregation whose statements have the ids that the edges get: SUBJECT-OBJECT, or with a predicate's key."""
    if aggregation is None or not aggregation.statements:
        return aggregation
    statements = {}
    for edge_id, text in aggregation.statements.items():
        subject, object_, *key = edge_id.split("-", 2)
        statements["-".join((entities.get(subject, subject), entities.get(object_, object_), *key))] = text
    return aggregation.model_copy(update={"statements": statements})
