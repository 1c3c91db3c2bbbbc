"""Looking at the whole graph of the store in memory, where nothing is linked: things are entities."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from drag_graph.model import Subgraph
from drag_graph.statistics import Connections, Link, SharedThing, WeakEdge

if TYPE_CHECKING:
    from drag_graph.testing.dict_store import DictStore


class DictStatistics:
    """The `StatisticsStore` port over dictionaries."""

    def __init__(self, store: "DictStore") -> None:
        self._store = store

    def degrees(self) -> dict[int, int]:
        ends = Counter(end for graph in self._graphs() for edge in graph.edges for end in (edge.subject_id, edge.object_id))
        return dict(Counter(ends[item.id] for graph in self._graphs() for item in graph.entities))

    def weakest(self, limit: int) -> list[WeakEdge]:
        edges = [edge for graph in self._graphs() for edge in graph.edges]
        edges.sort(key=lambda edge: (edge.confidence, edge.id))
        return [WeakEdge(edge.id, edge.query_id, edge.statement, edge.confidence, edge.support) for edge in edges[:limit]]

    def shared(self, limit: int) -> list[SharedThing]:
        del limit
        return []

    def connections(self, after: str, limit: int) -> list[Connections]:
        shown = {line.ref for answer in self._store.list_answers(limit=1_000_000) for line in answer.lines}
        return [_connections(graph, shown) for graph in self._graphs() if graph.query.id > after][:limit]

    def names(self, ids: Sequence[str]) -> dict[str, str]:
        return {item.id: item.name for graph in self._graphs() for item in graph.entities if item.id in ids}

    def _graphs(self) -> list[Subgraph]:
        return self._store.read(self._store.match_ids("query", "", limit=1_000_000))


def _connections(graph: Subgraph, shown: set[str]) -> Connections:
    rested = {id_ for edge in graph.edges for id_ in edge.evidence_ids} | shown
    links = sorted((item.subject_id, item.object_id, item.predicate, item.id) for item in graph.triples)
    return Connections(
        graph.query.id,
        tuple(Link(*link) for link in links),
        tuple(sorted((edge.subject_id, edge.object_id, edge.confidence) for edge in graph.edges)),
        tuple(sorted((item.id, item.text) for item in graph.evidence if item.kept and item.id not in rested)),
    )
