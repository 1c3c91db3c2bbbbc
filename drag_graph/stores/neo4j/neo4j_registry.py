"""Sites and their summaries in Neo4j, searched with a vector index in one statement."""

from collections.abc import Sequence

from drag_graph.ports.site_registry import SummaryHit
from drag_graph.stores.shared.shared_registry import SharedRegistry, hit_of
from drag_graph.stores.shared.transaction import Transaction

LEAST_CANDIDATES = 40
"""Minimum number of candidates from the vector index, which covers all namespaces and is inexact for few."""


class Neo4jRegistry(SharedRegistry):
    """The `SiteRegistry` port on Neo4j."""

    def _lock(self, session: Transaction, site_id: str) -> bool:
        return bool(session.run("lock_site", namespace=self._namespace, id=site_id))

    def nearest(self, vector: Sequence[float], k: int, *, without: str = "") -> list[SummaryHit]:
        numbers = [float(number) for number in vector]
        if k < 1 or not any(numbers):  # a zero vector matches nothing, and the index refuses it
            return []
        candidates = max(LEAST_CANDIDATES, 4 * k)
        (row,) = self._rows("nearest_summaries", vector=numbers, candidates=candidates, k=k, without=without)
        if len(row["hits"]) < k:  # summaries of other namespaces or of the site itself may have taken the places
            (row,) = self._rows("nearest_summaries_exact", vector=numbers, k=k, without=without)
        return [hit_of(hit, hit["score"]) for hit in row["hits"]]
