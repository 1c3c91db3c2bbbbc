"""The nearest vectors by brute force: the engine compares only vectors of a declared length, and ours varies by embedder."""

import math
import zlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from drag_graph.graph.paging import pages
from drag_graph.ports.vectors import Vector, Vectors

BLOCK = 1024
"""Rows that are read at once."""
ASKED_AT_ONCE = 512
"""Vectors compared with all others at once: so many rows of cosines are in memory together."""
ERROR = 1e-5
"""More than a cosine of single precision may be wrong by."""


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """The unit vectors of a namespace's queries, evidence or concepts at one version of the store (single precision)."""

    version: int
    ids: list[str]
    vectors: Vectors

    @classmethod
    def of(cls, version: int, rows: Iterable[dict[str, Any]]) -> "VectorIndex":
        """Return the index of rows with `id` and `embedding`. One embedder fills a namespace, so all have one length."""
        ids: dict[int, list[str]] = {0: []}
        blocks: dict[int, list[Vectors]] = {0: [np.zeros((0, 0), np.float32)]}
        # A list of Python's numbers takes eight times the room, so there are never more of these than a block.
        for block in pages(rows, BLOCK):
            pairs = sorted(((row["id"], vector_of(row["embedding"])) for row in block), key=_width)
            for width, fitting in groupby(pairs, key=_width):
                some = list(fitting)
                ids.setdefault(width, []).extend(id_ for id_, _ in some)
                numbers = np.asarray([vector for _, vector in some], dtype=np.float32).reshape(len(some), width)
                blocks.setdefault(width, []).append(_units(numbers))
        widest = max(ids)
        return cls(version, ids[widest], np.concatenate(blocks[widest]))

    def renewed(self, version: int, gone: Collection[str], rows: Iterable[dict[str, Any]]) -> "VectorIndex | None":
        """Return the index without what is `gone`, and with these rows (see `of`), which may bring some of it back.

        Returns None where all are to be read: its longest vectors are gone, and it does not know the shorter ones.
        """
        without, kept, fresh = frozenset(gone), self, VectorIndex.of(version, rows)
        places = [place for place, id_ in enumerate(self.ids) if id_ not in without]
        if len(places) < len(self.ids):
            kept = VectorIndex(version, [self.ids[place] for place in places], self.vectors[places])
        if max(kept.width, fresh.width) < self.width:
            return None
        if kept.width != fresh.width or not fresh.ids:
            return replace(max(kept, fresh, key=lambda index: index.width), version=version)
        return VectorIndex(version, kept.ids + fresh.ids, np.concatenate([kept.vectors, fresh.vectors]))

    @property
    def width(self) -> int:
        """How many numbers a vector has; 0 where there is none."""
        return self.vectors.shape[1] if self.ids else 0

    def nearest(self, vectors: Vectors, k: int, *, floor: float = -math.inf) -> list[list[tuple[str, float]]]:
        """Return of each vector up to `k` (id, cosine) pairs, nearest first, then by id; none of a vector of zeros."""
        if k < 1 or vectors.shape[1] != self.width:
            return [[] for _ in vectors]
        return [
            self._nearest(unit, cosines, k, floor) if unit.any() else []
            for start in range(0, len(vectors), ASKED_AT_ONCE)
            for units in [_units(vectors[start : start + ASKED_AT_ONCE])]
            for unit, cosines in zip(units, units @ self.vectors.T, strict=True)
        ]

    def _nearest(self, unit: Vectors, cosines: Vectors, k: int, floor: float) -> list[tuple[str, float]]:
        # In a product the last digits of equal rows differ by their places: what may be among the k gets a cosine row by row.
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


def vector_bytes(vector: Vector) -> bytes:
    """Return a vector as it is kept: compressed, in single precision; one of zeros is empty.

    Those of `lexical` are mostly zeros. In a checkpoint the engine has several times the size of all vectors in memory.
    """
    numbers = np.asarray(vector, dtype=np.float32)
    return zlib.compress(numbers.tobytes(), 1) if numbers.any() else b""


def vector_of(kept: bytes | Sequence[float]) -> Vectors:
    """Return the numbers of a vector as it is kept; none where it was all zeros. Those of queries are kept as lists."""
    if isinstance(kept, bytes):
        return np.frombuffer(zlib.decompress(kept) if kept else b"", dtype=np.float32)
    return np.asarray(kept, dtype=np.float32)


def _width(pair: tuple[str, Vector]) -> int:
    return len(pair[1])
