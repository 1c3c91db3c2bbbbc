"""Ids as hashes of content (`drag_graph.identity`): find wrong ones, and compute those of another namespace."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import Any

from drag_graph.graph.name_forms import predicate_key
from drag_graph.identity import chunk_id, content_id
from drag_graph.model import Evidence, Subgraph

MOST_REPEATS = 1000
"""Maximum number of earlier statements with the same text."""
_ID = re.compile("[0-9a-f]{32}")
_key = lru_cache(maxsize=10_000)(predicate_key)


def wrong_ids(subgraph: Subgraph) -> Iterator[tuple[str, str]]:
    """Yield (id, kind) of parts whose id is not the hash of their content. For teacher calls only the form is checked."""
    source, name, own = subgraph.source, subgraph.source.namespace, subgraph.source_id
    if source.id_in(name) != own:
        yield own, "document" if subgraph.document else "query"
    for chunk in subgraph.chunks:
        if chunk_id(name, own, chunk.position, chunk.text) != chunk.id:
            yield chunk.id, "chunk"
    yield from ((call.id, "teacher call") for call in subgraph.calls if not _ID.fullmatch(call.id))
    for item in subgraph.evidence:
        if content_id(name, "evidence", own, item.text) != item.id and not repeat_of(item, name):
            yield item.id, "evidence"
    hashed = partial(content_id, name, "entity", own)
    yield from ((entity.id, "entity") for entity in subgraph.entities if hashed(entity.name) != entity.id)
    hashed = partial(content_id, name, "triple", own)
    for triple in subgraph.triples:
        if hashed(triple.subject_id, _key(triple.predicate), triple.object_id, triple.evidence_id) != triple.id:
            yield triple.id, "triple"
    for edge in subgraph.edges:
        if not f"{edge.id}-".startswith(f"{edge.subject_id}-{edge.object_id}-"):
            yield edge.id, "simple edge"


def repeat_of(item: Evidence, namespace: str) -> tuple[str, ...]:
    """Return what the id of an exact repeat hashes in addition to the text; nothing for other evidence.

    The first statement of a text has a plain id, and each later one hashes its number (`evidence_step.py`). Some may be erased.
    """
    hashed = partial(content_id, namespace, "evidence", item.source_id, item.text)
    numbers = (str(number) for number in range(1, min(item.position, MOST_REPEATS) + 1))
    return next((("repeat", number) for number in numbers if hashed("repeat", number) == item.id), ())


def is_evidence_id(id_: str, namespace: str, source_id: str, text: str) -> bool:
    """Return whether an id is the hash of an evidence's text, as `wrong_ids` checks it."""
    hashed = partial(content_id, namespace, "evidence", source_id, text)
    return hashed() == id_ or any(hashed("repeat", str(number)) == id_ for number in range(1, MOST_REPEATS + 1))


def moved(subgraph: Subgraph, namespace: str) -> Subgraph:
    """Return the subgraph in another namespace, which is part of all ids. Ids must be right (`wrong_ids`).

    The id of a teacher call hashes more than is stored, so it is shifted by the difference between the two sources. Moving
    back, also through a third namespace, gives the same id.
    """
    there, source = subgraph.source.namespace, subgraph.source
    own = source.id_in(namespace)
    shift = int(content_id(there, "call", source.id), 16) ^ int(content_id(namespace, "call", own), 16)
    ids = {source.id: own}
    ids |= {chunk.id: chunk_id(namespace, own, chunk.position, chunk.text) for chunk in subgraph.chunks}
    ids |= {call.id: f"{int(call.id, 16) ^ shift:032x}" for call in subgraph.calls}
    for item in subgraph.evidence:
        plain = content_id(there, "evidence", source.id, item.text) == item.id
        ids[item.id] = content_id(namespace, "evidence", own, item.text, *(() if plain else repeat_of(item, there)))
    ids |= {entity.id: content_id(namespace, "entity", own, entity.name) for entity in subgraph.entities}
    hashed = partial(content_id, namespace, "triple", own)
    for triple in subgraph.triples:
        key = _key(triple.predicate)
        ids[triple.id] = hashed(ids[triple.subject_id], key, ids[triple.object_id], ids[triple.evidence_id])
    # Edges are left out, because they are derived again. No other text looks like an id of 32 hexadecimal digits.
    document = subgraph.model_dump(exclude={"edges": True, "source": {"metadata"}})
    new = Subgraph.model_validate(_renamed(document, ids))
    metadata = {} if subgraph.document else {"metadata": subgraph.query.metadata}
    return new.model_copy(
        update={
            "source": new.source.model_copy(update={"namespace": namespace, **metadata}),
            "calls": tuple(sorted(new.calls, key=lambda item: item.id)),
            "triples": tuple(sorted(new.triples, key=lambda item: (item.rank, item.id))),
        }
    )


def _renamed(value: Any, ids: Mapping[str, str]) -> Any:
    """Return a document with the ids in it replaced, also where they are parts of an edge's id."""
    if isinstance(value, str):
        return ids.get(value, value)
    if isinstance(value, dict):
        return {_edge_renamed(key, ids): _renamed(entry, ids) for key, entry in value.items()}
    return [_renamed(entry, ids) for entry in value] if isinstance(value, (list, tuple)) else value


def _edge_renamed(key: str, ids: Mapping[str, str]) -> str:
    subject, _, tail = key.partition("-")
    object_, dash, more = tail.partition("-")
    return f"{ids[subject]}-{ids.get(object_, object_)}{dash}{more}" if subject in ids else key
