"""The content of a subgraph from outside: what it must satisfy beyond its types, and how it differs from a stored one."""

from typing import Any

from drag_graph.errors import QueryInvalid
from drag_graph.graph.aggregate import with_statements
from drag_graph.manage.canonical_export import VOLATILE
from drag_graph.manage.content_ids import wrong_ids
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
