"""Nearest queries by brute force: the engine compares only vectors whose length is declared, and ours varies by embedder."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from drag_graph.paging import pages
from drag_graph.ports.vectors import Vectors

BLOCK = 1024
"""Rows that are read at once."""


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """The unit vectors of a namespace's queries at one version of the store (single precision)."""

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
            for width, fitting in groupby(sorted(block, key=_width), key=_width):
                some = list(fitting)
                ids.setdefault(width, []).extend(row["id"] for row in some)
                numbers = np.asarray([row["embedding"] for row in some], dtype=np.float32).reshape(len(some), width)
                blocks.setdefault(width, []).append(_units(numbers))
        widest = max(ids)
        return cls(version, ids[widest], np.concatenate(blocks[widest]))

    def nearest(self, vector: Sequence[float], k: int) -> list[tuple[str, float]]:
        """Return up to `k` (id, cosine) pairs, nearest first, then by id; a vector of zeros has cosine 0 with every other."""
        if k < 1 or not self.ids or len(vector) != self.vectors.shape[1]:
            return []
        cosines = self.vectors @ _units(np.asarray([vector], dtype=np.float32))[0]
        if k < len(self.ids):
            # All that are at least as near as the k-th, so that equal cosines are put in order by id.
            limit = np.partition(cosines, -k)[-k]
            places = np.flatnonzero(cosines >= limit).tolist()
        else:
            places = list(range(len(self.ids)))
        pairs = [(self.ids[place], max(-1.0, min(1.0, float(cosines[place])))) for place in places]
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k]


def _units(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32, copy=False)


def _width(row: dict[str, Any]) -> int:
    return len(row["embedding"])
