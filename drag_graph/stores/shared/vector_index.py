"""Nearest vectors by brute force.

The embedded engine needs a declared vector length, but ours depends on the embedder. Neo4j's vector index needs 40 ms for a
vector, so `link` reads all vectors instead if many concepts are new.
"""

import math
import zlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np

from drag_graph.graph.paging import pages
from drag_graph.ports.vectors import Vector, Vectors

BLOCK = 1024
"""Rows read at a time."""
ASKED_AT_ONCE = 512
"""Vectors compared with all others at a time; each needs a row of cosines in memory."""
ERROR = 1e-5
"""Upper bound for the rounding error of a cosine in single precision."""


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """The unit vectors of a namespace's queries, evidence or concepts at one version of the store (single precision)."""

    version: int
    ids: list[str]
    vectors: Vectors
    _place_by_id: dict[str, int] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, version: int, rows: Iterable[dict[str, Any]]) -> "VectorIndex":
        """Return the index of rows with `id` and `embedding`. One embedder fills a namespace, so all have one length."""
        ids: dict[int, list[str]] = {0: []}
        blocks: dict[int, list[Vectors]] = {0: [np.zeros((0, 0), np.float32)]}
        # Lists of Python numbers need eight times the memory, so they are converted block by block.
        for block in pages(rows, BLOCK):
            pairs = sorted(((row["id"], vector_of(row["embedding"])) for row in block), key=_width)
            for width, fitting in groupby(pairs, key=_width):
                group = list(fitting)
                ids.setdefault(width, []).extend(id_ for id_, _ in group)
                numbers = np.asarray([vector for _, vector in group], dtype=np.float32).reshape(len(group), width)
                blocks.setdefault(width, []).append(_units(numbers))
        widest = max(ids)
        return cls(version, ids[widest], np.concatenate(blocks[widest]))

    def renewed(self, version: int, gone: Collection[str], rows: Iterable[dict[str, Any]]) -> "VectorIndex | None":
        """Return the index without the ids that are `gone`, and with these rows (see `of`), which may contain them again.

        Returns None if everything must be read again, because its longest vectors are gone and it lacks the shorter ones.
        """
        without, selected, fresh = frozenset(gone), self, VectorIndex.of(version, rows)
        places = [place for place, id_ in enumerate(self.ids) if id_ not in without]
        if len(places) < len(self.ids):
            selected = VectorIndex(version, [self.ids[place] for place in places], self.vectors[places])
        if max(selected.width, fresh.width) < self.width:
            return None
        if selected.width != fresh.width or not fresh.ids:
            return replace(max(selected, fresh, key=lambda index: index.width), version=version)
        return VectorIndex(version, selected.ids + fresh.ids, np.concatenate([selected.vectors, fresh.vectors]))

    @property
    def width(self) -> int:
        """Length of the vectors; 0 if there are none."""
        return self.vectors.shape[1] if self.ids else 0

    def cosines(self, ids: Sequence[str], vectors: Vectors) -> Vectors:
        """Return a row for each id with its cosine with each vector; 0 if it has no vector, or one of another length."""
        result = np.zeros((len(ids), len(vectors)), dtype=np.float32)
        if vectors.shape[1] == self.width:
            places = self._places()
            pairs = [(row, places[id_]) for row, id_ in enumerate(ids) if id_ in places]
            if pairs:
                rows, own = map(list, zip(*pairs, strict=True))
                result[rows] = _products(_units(vectors), self.vectors[own]).T
        return result

    def _places(self) -> dict[str, int]:
        if not self._place_by_id:
            self._place_by_id.update({id_: place for place, id_ in enumerate(self.ids)})
        return self._place_by_id

    def nearest(
        self, vectors: Vectors, k: int, *, floor: float = -math.inf, among: Collection[str] | None = None
    ) -> list[list[tuple[str, float]]]:
        """Return up to `k` (id, cosine) pairs for each vector, best first, then by id; a zero vector has none.

        With `among`, only these ids are compared.
        """
        if among is not None:
            places = [place for place, id_ in enumerate(self.ids) if id_ in among]
            part = VectorIndex(self.version, [self.ids[place] for place in places], self.vectors[places])
            return part.nearest(vectors, k, floor=floor)
        if k < 1 or vectors.shape[1] != self.width:
            return [[] for _ in vectors]
        return [
            self._nearest(unit, cosines, k, floor) if unit.any() else []
            for start in range(0, len(vectors), ASKED_AT_ONCE)
            for units in [_units(vectors[start : start + ASKED_AT_ONCE])]
            for unit, cosines in zip(units, _products(units, self.vectors), strict=True)
        ]

    def _nearest(self, unit: Vectors, cosines: Vectors, k: int, floor: float) -> list[tuple[str, float]]:
        # In a matrix product, equal rows may differ in the last digits, so candidates get their cosines row by row.
        places = np.flatnonzero(cosines >= floor - ERROR)
        if len(places) > k:
            near = cosines[places]
            places = places[near >= np.partition(near, -k)[-k] - ERROR]
        exact = np.clip((self.vectors[places] * unit).sum(axis=1), -1.0, 1.0)
        pairs = [(self.ids[places[at]], float(exact[at])) for at in np.flatnonzero(exact >= floor)]
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k]


def _units(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32, copy=False)


def _products(units: Vectors, vectors: Vectors) -> Vectors:
    """Return the product of each of `units` with each of `vectors`.

    One vector is compared in this thread. The threads of BLAS gain nothing then, and wait for more work on their processors
    while the search goes on: with 10,000 passages, ten times the processor time of the comparison.
    """
    return np.einsum("ij,kj->ik", units, vectors) if len(units) == 1 else units @ vectors.T


def vector_bytes(vector: Vector) -> bytes:
    """Return a vector in its stored form: single precision, compressed; a zero vector is empty.

    Vectors of `lexical` are mostly zeros, and during a checkpoint the engine needs several times the size of all vectors.
    """
    numbers = np.asarray(vector, dtype=np.float32)
    return zlib.compress(numbers.tobytes(), 1) if numbers.any() else b""


def vector_of(kept: bytes | Sequence[float]) -> Vectors:
    """Return the numbers of a stored vector; a zero vector has none. Vectors of queries are stored as lists."""
    if isinstance(kept, bytes):
        return np.frombuffer(zlib.decompress(kept) if kept else b"", dtype=np.float32)
    return np.asarray(kept, dtype=np.float32)


def _width(pair: tuple[str, Vector]) -> int:
    return len(pair[1])
