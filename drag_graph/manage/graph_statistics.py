"""Groups of things in the whole graph, and their names.

A *thing* is a cluster of concepts, a concept without a cluster, or, before linking, an entity (`GraphStore.linked_edges`).
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from drag_graph.ports.graph_store import LinkedEdge


@dataclass(frozen=True, slots=True)
class Group:
    """Connected things, by id, the number of simple edges among them, and a name."""

    members: tuple[str, ...]
    edges: int
    name: str = ""


def names_of(edges: Iterable[LinkedEdge], ids: Collection[str]) -> dict[str, str]:
    """Return the most frequent name of each of these things."""
    names: dict[str, Counter[str]] = {id_: Counter() for id_ in ids}
    for edge in edges:
        for id_, name in ((edge.source, edge.source_name), (edge.target, edge.target_name)):
            if id_ in names:
                names[id_][name] += 1
    return {id_: min(counts, key=lambda name: (-counts[name], name)) for id_, counts in names.items() if counts}
