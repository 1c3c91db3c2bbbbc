"""The communities of a namespace of an embedded store (docs/decisions/0010-communities.md)."""

from collections.abc import Sequence

import numpy as np

from drag_graph.ports.community_store import CommunityHit
from drag_graph.stores.ladybug.ladybug_search import LadybugPart
from drag_graph.stores.shared.shared_communities import SharedCommunities, hits_of


class LadybugCommunities(LadybugPart, SharedCommunities):
    """The `CommunityStore` port on an embedded store."""

    # The engine processes the rows that a statement was planned with again in every later call. But calls that join entities
    # to communities get slower with their number, so these should be few.
    rows_at_once = 256
    vectors_at_once = 32

    def nearest(self, vector: Sequence[float], k: int) -> list[CommunityHit]:
        (pairs,) = self._index("communities").nearest(np.asarray([vector], dtype=np.float32), k)
        scores = dict(pairs)
        rows = self._rows("read_communities", ids=list(scores)) if scores else []
        return hits_of(({**row, "score": scores[row["id"]]} for row in rows), k)
