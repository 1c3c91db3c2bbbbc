"""Looking at a whole graph in Neo4j (`drag_graph.statistics`)."""

from collections.abc import Iterator, Sequence
from typing import Any

from drag_graph.adapters.neo4j_access import Neo4jAccess
from drag_graph.statistics import Said, SharedThing, UnusedEvidence, WeakEdge

PAGE = 200
"""Queries, or clusters, that are looked at in one round trip."""


class Neo4jStatistics:
    """The `StatisticsStore` port on a namespace of Neo4j; see there for what each method promises."""

    def __init__(self, access: Neo4jAccess) -> None:
        self._access = access

    def degrees(self) -> dict[int, int]:
        return dict(self._rows("statistics_degrees"))

    def weakest(self, limit: int) -> list[WeakEdge]:
        return [WeakEdge(*row) for row in self._rows("statistics_weakest", limit=limit)]

    def shared(self, limit: int) -> list[SharedThing]:
        found = self._rows("statistics_shared", limit=limit)
        names = self.names([row[0] for row in found])
        return [SharedThing(id_, names.get(id_) or id_, queries, entities) for id_, queries, entities in found]

    def edges(self) -> Iterator[tuple[str, str, float]]:
        for _, edges in self._pages("statistics_edges"):
            yield from (tuple(edge) for edge in edges)

    def said(self) -> Iterator[Said]:
        # What begins at an entity that nothing was joined with is all in its query; what begins at a cluster is all over.
        for name in ("statistics_said", "statistics_said_clusters"):
            for _, pairs in self._pages(name):
                for source, target, said in pairs:
                    yield Said(source, target, {predicate: tuple(ids) for predicate, ids in said})

    def unused(self, limit: int) -> tuple[int, list[UnusedEvidence]]:
        ((number,),) = self._rows("statistics_unused")
        return number, [UnusedEvidence(*row) for row in self._rows("statistics_unused_examples", limit=limit)]

    def broken(self) -> int:
        return sum(row[0] for row in self._rows("statistics_broken"))

    def names(self, ids: Sequence[str]) -> dict[str, str]:
        wanted = list(ids)
        if not wanted:
            return {}
        return dict(self._rows("statistics_names_entities", ids=wanted)) | dict(self._rows("statistics_names", ids=wanted))

    def _pages(self, name: str) -> Iterator[list[Any]]:
        """Yield the rows of a statement that is paged by their first column. Each page is a transaction of its own."""
        after = ""
        while page := self._rows(name, after=after, limit=PAGE):
            yield from page
            after = page[-1][0]

    def _rows(self, name: str, **parameters: Any) -> list[list[Any]]:
        return self._access.reading(lambda work: work.rows(name, namespace=self._access.namespace, **parameters))
