"""The base of all embedders: checked shapes, zero rows for blank texts, and a small cache of vectors and token counts."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from drag_graph.ports.vectors import Vectors

REMEMBERED_BYTES = 8_000_000
REMEMBERED_COUNTS = 4_096
ENTRY_BYTES = 400
"""Memory of a cached vector in addition to its numbers: a digest, the head of an array, its entry in the order."""


class Remembering:
    """An embedder with a cache of up to `REMEMBERED_BYTES`, whatever the dimension and the length of the texts.

    Subclasses implement `dimension`, `encode_texts` and `count_of`. A text that two threads embed at the same time may be
    computed twice; both get the vector that was cached first.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._vectors: OrderedDict[bytes, Vectors] = OrderedDict()
        self._counted = lru_cache(maxsize=REMEMBERED_COUNTS)(self.count_of)

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        raise NotImplementedError

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 array of shape (len(texts), dimension): rows of length 1, all zero for a blank text.

        Raises ModelError if the model cannot be used.
        """
        keys = {text: _digest(text) for text in texts if text.strip()}
        vectors_by_text = self._cached(keys)
        missing = [text for text in keys if text not in vectors_by_text]
        if missing:
            rows = _unit_rows(self.encode_texts(missing))
            vectors_by_text |= self._add({text: (keys[text], row) for text, row in zip(missing, rows, strict=True)})
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for place, text in enumerate(texts):
            if text in vectors_by_text:
                vectors[place] = vectors_by_text[text]
        return vectors

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of `text`, without a model's own start and end marks."""
        return self._counted(text)

    def encode_texts(self, texts: list[str]) -> Vectors:
        """Return a row for each text, of any length but zero. The texts are distinct and not blank."""
        raise NotImplementedError

    def count_of(self, text: str) -> int:
        """Count the tokens of `text`."""
        raise NotImplementedError

    def _cached(self, keys: dict[str, bytes]) -> dict[str, Vectors]:
        with self._lock:
            cached = {text: self._vectors[key] for text, key in keys.items() if key in self._vectors}
            for text in cached:
                self._vectors.move_to_end(keys[text])
        return cached

    def _add(self, entries: dict[str, tuple[bytes, Vectors]]) -> dict[str, Vectors]:
        """Cache the rows, drop the oldest beyond the limit, and return the vector of each text."""
        most = REMEMBERED_BYTES // (4 * self.dimension + ENTRY_BYTES)
        with self._lock:
            # A copy, because a row would keep the whole array of its call in memory.
            added = {text: self._vectors.setdefault(key, row.copy()) for text, (key, row) in entries.items()}
            while len(self._vectors) > most:
                self._vectors.popitem(last=False)
        return added


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _unit_rows(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = 1.0
    return np.asarray(vectors / lengths, dtype=np.float32)
