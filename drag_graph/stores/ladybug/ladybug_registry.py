"""Sites and their summaries in an embedded store. Vectors are compared in memory, as in `LadybugSearch`."""

from collections.abc import Sequence

import numpy as np

from drag_graph.graph.paging import pages
from drag_graph.ports.site_registry import SummaryHit
from drag_graph.stores.ladybug.ladybug_search import IDS_AT_ONCE, LadybugPart
from drag_graph.stores.shared.shared_registry import SharedRegistry, hit_of
from drag_graph.stores.shared.transaction import Row, Transaction


class LadybugRegistry(LadybugPart, SharedRegistry):
    """The `SiteRegistry` port on an embedded store."""

    rows_at_once = 16
    """Kept small because the engine processes the rows of a statement's first call again in every later call."""

    def _lock(self, session: Transaction, site_id: str) -> bool:
        return bool(session.run("read_sites", namespace=self._namespace, ids=[site_id]))  # one transaction writes at a time

    def nearest(self, vector: Sequence[float], k: int, *, without: str = "") -> list[SummaryHit]:
        if k < 1 or not any(vector):
            return []
        wanted = k
        while True:
            pairs = dict(self._index("summaries").nearest(np.asarray([vector], dtype=np.float32), wanted)[0])
            rows = {row["id"]: row for row in self._rows_of("read_summaries", list(pairs)) if row["site_id"] != without}
            if len(rows) >= k or len(pairs) < wanted:
                return [hit_of(rows[id_], score) for id_, score in pairs.items() if id_ in rows][:k]
            wanted *= 4  # summaries of the site itself, or erased ones, were among the nearest

    def _rows_of(self, name: str, ids: Sequence[str]) -> list[Row]:
        return [row for page in pages(ids, IDS_AT_ONCE) for row in self._rows(name, ids=page)]
