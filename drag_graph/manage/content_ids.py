"""Ids as hashes of content (`drag_graph.identity`): find wrong ones."""

import re
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

from drag_graph.errors import QueryInvalid
from drag_graph.graph.aggregate import with_statements
from drag_graph.graph.name_forms import predicate_key
from drag_graph.identity import chunk_id, content_id, triple_id
from drag_graph.manage.canonical_export import VOLATILE
from drag_graph.model import Subgraph
from drag_graph.values import Value


def check_content(graph: Subgraph, dimension: int) -> None:
    """Raise QueryInvalid if ids or vector of a subgraph are wrong. `dimension` is that of the embedder, 0 if there is none."""
    if graph.embedding and len(graph.embedding) != dimension:
        expected = f"that of the embedder has {dimension}" if dimension else "the head names no embedder"
        raise QueryInvalid(f"The embedding has {len(graph.embedding)} numbers, but {expected}.")
    for id_, kind in wrong_ids(graph):
        raise QueryInvalid(f"{kind} {id_}: the id is not the hash of the content.")
    if graph.aggregation is None:
        raise QueryInvalid("The key `aggregation` is missing: it says how the simple edges are derived.")


def difference(stored: Subgraph, given: Subgraph) -> str:
    """Return what differs between two subgraphs of one source, as a message; "" if the content is the same.

    Times, latencies, costs and vectors do not count as content.
    """
    if stored.settings_hash != given.settings_hash:
        return "it was made under other settings"
    for name in Subgraph.model_fields.keys() - {"settings_hash", "status", "graph", "edges", "aggregation", *VOLATILE}:
        if _lasting(getattr(stored, name)) != _lasting(getattr(given, name)):
            return f"{name} differs"
    if with_statements(stored).aggregation != given.aggregation:
        return "its simple edges are derived differently"
    return ""


def _lasting(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_lasting(item) for item in value]
    if isinstance(value, Value):
        return {name: entry for name, entry in vars(value).items() if name not in VOLATILE}
    return value


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
        if not is_evidence_id(item.id, name, own, item.text, item.position):
            yield item.id, "evidence"
    hashed = partial(content_id, name, "entity", own)
    yield from ((entity.id, "entity") for entity in subgraph.entities if hashed(entity.name) != entity.id)
    for triple in subgraph.triples:
        ends = (triple.subject_id, triple.object_id)
        if triple_id(name, own, ends, _key(triple.predicate), triple.evidence_id) != triple.id:
            yield triple.id, "triple"
    for edge in subgraph.edges:
        if not f"{edge.id}-".startswith(f"{edge.subject_id}-{edge.object_id}-"):
            yield edge.id, "simple edge"


def is_evidence_id(id_: str, namespace: str, source_id: str, text: str, repeats: int = MOST_REPEATS) -> bool:
    """Return whether an id is the hash of an evidence's text, which up to `repeats` earlier statements may have.

    The first statement of a text has a plain id, and each later one hashes its number (`evidence_step.py`). Some may be erased.
    """
    hashed = partial(content_id, namespace, "evidence", source_id, text)
    numbers = range(1, min(repeats, MOST_REPEATS) + 1)
    return hashed() == id_ or any(hashed("repeat", str(number)) == id_ for number in numbers)
