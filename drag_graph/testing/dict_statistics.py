"""Looking at the whole graph of the store in memory, where nothing is linked: things are entities."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from drag_graph.model import Subgraph
from drag_graph.statistics import Said, SharedThing, UnusedEvidence, WeakEdge

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
        return [WeakEdge(edge.id, edge.source_id, edge.statement, edge.confidence, edge.support) for edge in edges[:limit]]

    def shared(self, limit: int) -> list[SharedThing]:
        del limit
        return []

    def edges(self) -> Iterator[tuple[str, str, float]]:
        yield from ((edge.subject_id, edge.object_id, edge.confidence) for graph in self._graphs() for edge in graph.edges)

    def said(self) -> Iterator[Said]:
        for graph in self._graphs():
            of_pair: dict[tuple[str, str], dict[str, list[str]]] = {}
            for item in graph.triples:
                predicates = of_pair.setdefault((item.subject_id, item.object_id), {})
                predicates.setdefault(item.predicate, []).append(item.id)
            yield from (Said(*pair, found) for pair, found in of_pair.items() if len(found) > 1)

    def unused(self, limit: int) -> tuple[int, list[UnusedEvidence]]:
        shown = {line.ref for answer in self._store.list_answers(limit=1_000_000) for line in answer.lines}
        rested = {id_ for graph in self._graphs() for edge in graph.edges for id_ in edge.evidence_ids} | shown
        kept = [item for graph in self._graphs() for item in graph.kept_evidence if item.id not in rested]
        found = sorted((item.source_id, item.id, item.text) for item in kept)
        return len(found), [UnusedEvidence(id_, source_id, text) for source_id, id_, text in found[:limit]]

    def broken(self) -> int:
        return 0

    def names(self, ids: Sequence[str]) -> dict[str, str]:
        return {item.id: item.name for graph in self._graphs() for item in graph.entities if item.id in ids}

    def _graphs(self) -> list[Subgraph]:
        return self._store.read(self._store.match_ids("query", "", limit=1_000_000))
