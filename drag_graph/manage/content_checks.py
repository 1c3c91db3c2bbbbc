"""The content of a subgraph from outside: what it must satisfy beyond its types, and how it differs from a stored one."""

import math
import re
from contextlib import suppress
from datetime import datetime
from typing import Any

from drag_graph.errors import QueryInvalid
from drag_graph.graph.aggregate import edge_ids, with_statements
from drag_graph.manage.canonical_export import VOLATILE
from drag_graph.manage.content_ids import wrong_ids
from drag_graph.model import Subgraph
from drag_graph.values import Value

UNIT = 1e-3
"""Tolerance for the length of a unit vector; single precision needs less."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", re.ASCII)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""Control characters that a terminal would execute: all but tabs and line ends."""


def check_text(name: str, text: str) -> None:
    """Raise QueryInvalid for control characters, and for a time that is not in UTC and the stored form."""
    if _CONTROL.search(text):
        raise QueryInvalid(f"{name} contains control characters.")
    if name in ("created_at", "expires_at") and text and not _is_time(text):
        raise QueryInvalid(f"{name} {text[:50]!r} is not a UTC time such as 2026-01-31T12:00:00+00:00.")


def _is_time(text: str) -> bool:
    with suppress(ValueError):
        return _TIME.fullmatch(text) is not None and bool(datetime.fromisoformat(text))
    return False


def check_content(graph: Subgraph, dimension: int) -> None:
    """Raise QueryInvalid if ids, names, vector or statements of a subgraph do not fit together.

    `dimension` is that of the embedder, 0 if there is none.
    """
    _check_vector(graph, dimension)
    names = {entity.id: entity.name for entity in graph.entities}
    for triple in graph.triples:
        if (names[triple.subject_id], names[triple.object_id]) != (triple.subject, triple.object):
            raise QueryInvalid(f"Triple {triple.id}: its subject or object has another name than the entity.")
    for id_, kind in wrong_ids(graph):
        raise QueryInvalid(f"{kind} {id_}: the id is not the hash of the content.")
    _check_statements(graph)


def _check_vector(graph: Subgraph, dimension: int) -> None:
    vector = graph.embedding
    if not vector:
        return
    if len(vector) != dimension:
        expected = f"that of the embedder has {dimension}" if dimension else "the head names no embedder"
        raise QueryInvalid(f"The embedding has {len(vector)} numbers, but {expected}.")
    length = math.hypot(*vector)
    if graph.lost_vector or not (abs(length - 1.0) <= UNIT or length == 0.0):
        raise QueryInvalid(f"The embedding is not a unit vector: its length is {length:.4g}.")


def _check_statements(graph: Subgraph) -> None:
    aggregation = graph.aggregation
    if aggregation is None:
        raise QueryInvalid("The key `aggregation` is missing: it says how the simple edges are derived.")
    own = {id_ for triple in graph.triples for id_ in edge_ids(triple, aggregation.strategy)}
    for id_, text in aggregation.statements.items():
        if id_ not in own:
            raise QueryInvalid(f"In aggregation.statements, {id_!r} is not an edge of these triples.")
        if not text.strip():
            raise QueryInvalid(f"In aggregation.statements, the statement of {id_} is empty.")


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
