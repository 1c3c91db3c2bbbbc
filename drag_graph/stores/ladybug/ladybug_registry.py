"""The edges of a namespace of an embedded store: the vectors of their summaries are compared here, as `LadybugSearch` does."""

from collections.abc import Sequence

import numpy as np

from drag_graph.graph.paging import pages
from drag_graph.ports.site_registry import SummaryHit
from drag_graph.stores.ladybug.ladybug_access import LadybugAccess
from drag_graph.stores.ladybug.ladybug_search import IDS_AT_ONCE, READ_BY_IDS
from drag_graph.stores.ladybug.vector_index import VectorIndex
from drag_graph.stores.shared.shared_registry import SharedRegistry, hit_of
from drag_graph.stores.shared.transaction import Row, Transaction


class LadybugRegistry(SharedRegistry):
    """The `EdgeRegistry` port on an embedded store."""

    rows_at_once = 16
    """The engine handles the rows that a statement was first planned with again in every later call."""

    def __init__(self, access: LadybugAccess) -> None:
        super().__init__(access)
        self._engine_of = access.ready
        self._kept: VectorIndex | None = None

    def _lock(self, session: Transaction, edge_id: str) -> bool:
        return bool(session.run("read_edges", namespace=self._namespace, ids=[edge_id]))  # one transaction writes at a time

    def nearest(self, vector: Sequence[float], k: int, *, without: str = "") -> list[SummaryHit]:
        if k < 1 or not any(vector):
            return []
        wanted = k
        while True:
            pairs = dict(self._index().nearest(np.asarray([vector], dtype=np.float32), wanted)[0])
            found = {row["id"]: row for row in self._rows_of("read_summaries", list(pairs)) if row["edge_id"] != without}
            if len(found) >= k or len(pairs) < wanted:
                return [hit_of(found[id_], score) for id_, score in pairs.items() if id_ in found][:k]
            wanted *= 4  # the edge's own, or what was erased meanwhile, took their places

    def _index(self) -> VectorIndex:
        """Return the vectors as they are now."""
        engine, index = self._engine_of(), self._kept
        # The version is taken before the vectors, so that a write in between only makes the next call read again.
        version = engine.version
        if index is not None and index.version != version:
            changed = engine.changed_since(index.version)
            few = changed is not None and len(changed) <= max(IDS_AT_ONCE, len(index.ids) // READ_BY_IDS)
            rows = self._rows_of("read_summary_vectors", sorted(changed)) if changed and few else []
            index = index.renewed(version, changed, rows) if changed is not None and few else None
        if index is None:
            index = VectorIndex.of(version, engine.stream("summary_vectors", namespace=self._namespace))
        self._kept = index
        return index

    def _rows_of(self, name: str, ids: Sequence[str]) -> list[Row]:
        return [row for page in pages(ids, IDS_AT_ONCE) for row in self._read(name, ids=page)]
