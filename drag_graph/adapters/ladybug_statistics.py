"""Looking at a whole graph in the embedded store (`drag_graph.statistics`)."""

from collections.abc import Sequence

from drag_graph.adapters.ladybug_access import LadybugAccess
from drag_graph.adapters.ladybug_engine import Session
from drag_graph.statistics import Connections, Link, SharedThing, WeakEdge


class LadybugStatistics:
    """The `StatisticsStore` port on an embedded store; see there for what each method promises."""

    def __init__(self, access: LadybugAccess) -> None:
        self._access = access
        self._namespace = access.namespace

    def degrees(self) -> dict[int, int]:
        with self._access.reading() as session:
            return {row["degree"]: row["number"] for row in session.run("statistics_degrees", namespace=self._namespace)}

    def weakest(self, limit: int) -> list[WeakEdge]:
        with self._access.reading() as session:
            return [WeakEdge(**row) for row in session.run("statistics_weakest", namespace=self._namespace, limit=limit)]

    def shared(self, limit: int) -> list[SharedThing]:
        with self._access.reading() as session:
            found = session.run("statistics_shared", namespace=self._namespace, limit=limit)
        names: dict[str, str] = self.names([row["id"] for row in found])
        return [
            SharedThing(str(row["id"]), names.get(row["id"]) or row["id"], row["queries"], row["entities"]) for row in found
        ]

    def connections(self, after: str, limit: int) -> list[Connections]:
        with self._access.reading() as session:
            found = session.run("statistics_connections", namespace=self._namespace, after=after, limit=limit)
            return [_connections(session, row["id"]) for row in found]

    def names(self, ids: Sequence[str]) -> dict[str, str]:
        if not ids:
            return {}
        mine = {"namespace": self._namespace, "ids": list(ids)}
        with self._access.reading() as session:
            found = session.run("statistics_names_entities", **mine) + session.run("statistics_names", **mine)
        return {row["id"]: row["name"] for row in found}


def _connections(session: Session, query_id: str) -> Connections:
    things = {row["id"]: row["thing"] for row in session.run("statistics_connections_things", query_id=query_id)}
    triples = session.run("statistics_connections_triples", query_id=query_id)
    edges = session.run("statistics_connections_edges", query_id=query_id)
    evidence = session.run("statistics_connections_evidence", query_id=query_id)
    rested = {id_ for row in edges for id_ in row["evidence_ids"]}
    links = [(things[row["source"]], things[row["target"]], row["predicate"], row["id"]) for row in triples]
    return Connections(
        query_id,
        tuple(Link(*link) for link in sorted(links)),
        tuple(sorted((things[row["source"]], things[row["target"]], row["confidence"]) for row in edges)),
        tuple(sorted((row["id"], row["text"]) for row in evidence if row["id"] not in rested)),
    )
