"""The communities of a Neo4j namespace (docs/decisions/0010-communities.md)."""

from collections.abc import Sequence

from drag_graph.ports.community_store import CommunityHit
from drag_graph.stores.neo4j.neo4j_search import LEAST_CANDIDATES
from drag_graph.stores.shared.shared_communities import SharedCommunities, hits_of


class Neo4jCommunities(SharedCommunities):
    """The `CommunityStore` port on Neo4j."""

    def nearest(self, vector: Sequence[float], k: int) -> list[CommunityHit]:
        if not any(vector) or k < 1:
            return []  # a zero vector matches nothing, and the index refuses it
        values = {"vector": [float(x) for x in vector], "candidates": max(LEAST_CANDIDATES, 4 * k), "k": k}
        return hits_of(self._rows("nearest_communities", **values), k)
