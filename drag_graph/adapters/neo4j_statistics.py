"""Looking at a whole graph in Neo4j (`drag_graph.statistics`)."""

from collections.abc import Sequence
from typing import Any

from drag_graph.adapters.neo4j_access import Neo4jAccess
from drag_graph.statistics import Connections, Link, SharedThing, WeakEdge


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
        return [SharedThing(id_, names.get(id_, id_), queries, entities) for id_, queries, entities in found]

    def connections(self, after: str, limit: int) -> list[Connections]:
        return [
            Connections(
                id_,
                tuple(Link(*link) for link in sorted(triples)),
                tuple((source, target, confidence) for source, target, confidence in sorted(edges)),
                tuple((evidence_id, text) for evidence_id, text in sorted(unused)),
            )
            for id_, triples, edges, unused in self._rows("statistics_connections", after=after, limit=limit)
        ]

    def names(self, ids: Sequence[str]) -> dict[str, str]:
        wanted = list(ids)
        if not wanted:
            return {}
        return dict(self._rows("statistics_names_entities", ids=wanted)) | dict(self._rows("statistics_names", ids=wanted))

    def _rows(self, name: str, **parameters: Any) -> list[list[Any]]:
        return self._access.reading(lambda work: work.rows(name, namespace=self._access.namespace, **parameters))
