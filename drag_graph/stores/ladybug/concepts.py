"""The concepts of a namespace of an embedded store (docs/adr/0023-linking.md)."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from drag_graph.errors import StoreLocked
from drag_graph.ports.vectors import Vectors
from drag_graph.stores.ladybug.access import LadybugAccess
from drag_graph.stores.ladybug.vectors import VectorIndex
from drag_graph.stores.shared.concepts import SharedConcepts

VECTORS_A_BLOCK = 512
"""Vectors compared with all others at once: so many rows of cosines are in memory together."""

_linked: dict[tuple[str, str], str] = {}
"""The threads that link, by file and namespace; other processes are kept out by the lock on the file."""
_linked_lock = threading.Lock()


class LadybugConcepts(SharedConcepts):
    """The `ConceptStore` port on an embedded store."""

    # The engine handles the rows that a statement was first planned with again in every later call.
    rows_at_once = 32
    vectors_at_once = 4

    def __init__(self, access: LadybugAccess) -> None:
        super().__init__(access)
        self._engine = access.ready
        self._index: VectorIndex | None = None

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        place = os.path.realpath(self._access.location), self._namespace
        with _linked_lock:
            if place in _linked:
                where, who = f"namespace {self._namespace!r} of {self._access.location}", f"thread {_linked[place]}"
                raise StoreLocked(f"{where} is being linked by {who} of this process", hint="It is free when that ends.")
            _linked[place] = threading.current_thread().name
        try:
            yield
        finally:
            del _linked[place]

    def nearest_concepts(self, vectors: Vectors, k: int, *, floor: float = -1.0) -> list[list[tuple[str, float]]]:
        index = self._vectors()
        found: list[list[tuple[str, float]]] = []
        for start in range(0, len(vectors), VECTORS_A_BLOCK):
            found += _nearest(index, vectors[start : start + VECTORS_A_BLOCK], k, floor)
        return found

    def _vectors(self) -> VectorIndex:
        engine, index = self._engine(), self._index
        if index is None or index.version != engine.version:
            # The version is taken before the vectors, so that a write in between only makes the next call read again.
            stream = engine.stream("search_candidates_concept_vectors", namespace=self._namespace)
            index = self._index = VectorIndex.of(engine.version, stream)
        return index


def _nearest(index: VectorIndex, vectors: Vectors, k: int, floor: float) -> list[list[tuple[str, float]]]:
    if k < 1 or not index.ids or vectors.shape[1] != index.vectors.shape[1]:
        return [[] for _ in vectors]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    found = []
    for cosines, length in zip(units @ index.vectors.T, lengths[:, 0], strict=True):
        # All that are at least as near as the k-th, so that equal cosines are put in order by id.
        least = max(floor, float(np.partition(cosines, -k)[-k])) if k < len(index.ids) else floor
        places = np.flatnonzero(cosines >= least).tolist() if length else []
        pairs = [(index.ids[place], max(-1.0, min(1.0, float(cosines[place])))) for place in places]
        found.append(sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k])
    return found
