"""Looking at a whole graph in the embedded store (`drag_graph.statistics`)."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from drag_graph.adapters.ladybug_access import LadybugAccess
from drag_graph.statistics import Said, SharedThing, UnusedEvidence, WeakEdge

AT_ONCE = 200
"""Queries, or concepts, that one statement looks at; of one cluster all."""


class LadybugStatistics:
    """The `StatisticsStore` port on an embedded store; see there for what each method promises.

    The engine has no index but the ids, so that a page would be a scan: ids are found by one scan, streamed.
    """

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

    def edges(self) -> Iterator[tuple[str, str, float]]:
        for row in self._access.ready().stream("statistics_edges", namespace=self._namespace):
            yield row["source"], row["target"], row["confidence"]

    def said(self) -> Iterator[Said]:
        # What begins at an entity that nothing was joined with is all in its query; what begins at a cluster is all over.
        stream, mine = self._access.ready().stream, {"namespace": self._namespace}
        queries = ([row["id"]] for row in stream("records_queries_ids", **mine))
        members = groupby(stream("statistics_said_members", **mine), key=itemgetter("cluster"))
        clusters = ([row["id"] for row in group] for _, group in members)
        for name, parts in (("statistics_said", queries), ("statistics_said_clusters", clusters)):
            for ids in _together(parts):
                with self._access.reading() as session:
                    found = session.run(name, ids=ids)
                for row in found:
                    yield Said(row["source"], row["target"], dict(zip(row["predicates"], row["triple_ids"], strict=True)))

    def unused(self, limit: int) -> tuple[int, list[UnusedEvidence]]:
        number, examples = 0, list[UnusedEvidence]()
        with self._access.reading() as session:
            for query in self._access.ready().stream("records_queries_ids", namespace=self._namespace):
                id_ = query["id"]
                kept = session.run("statistics_unused", source_id=id_)
                rested = {item for row in session.run("statistics_unused_rested", source_id=id_) for item in row["ids"] or ()}
                unused = [row for row in kept if row["id"] not in rested]
                number += len(unused)
                examples += [UnusedEvidence(row["id"], id_, row["text"]) for row in unused[: limit - len(examples)]]
        return number, examples

    def broken(self) -> int:
        with self._access.reading() as session:
            return sum(row["number"] for row in session.run("statistics_broken", namespace=self._namespace))

    def names(self, ids: Sequence[str]) -> dict[str, str]:
        if not ids:
            return {}
        mine = {"namespace": self._namespace, "ids": list(ids)}
        with self._access.reading() as session:
            found = session.run("statistics_names_entities", **mine) + session.run("statistics_names", **mine)
        return {row["id"]: row["name"] for row in found}


def _together(parts: Iterable[list[str]]) -> Iterator[list[str]]:
    """Yield the ids of parts, of as many together as are not too many for one statement."""
    some: list[str] = []
    for part in parts:
        some += part
        if len(some) >= AT_ONCE:
            yield some
            some = []
    if some:
        yield some
