"""The base class of embedders: it checks shapes, returns zero rows for blank texts and caches vectors."""

import threading
from collections.abc import Callable, Sequence

import numpy as np

from drag_graph.ports.vectors import Vectors

CACHED_VECTORS = 4_096


class CachingEmbedder:
    """An embedder with a cache of the latest vectors.

    Subclasses implement `dimension` and `encode_texts`. A text that two threads embed at the same time may be
    computed twice; both get the vector that was cached first.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._vectors: dict[str, Vectors] = {}

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        raise NotImplementedError

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 array of shape (len(texts), dimension): rows of length 1, all zero for a blank text.

        Raises ModelError if the model cannot be used.
        """
        return self._embedded(texts, self.encode_texts, self._vectors)

    def _embedded(self, texts: Sequence[str], encode: Callable[[list[str]], Vectors], cache: dict[str, Vectors]) -> Vectors:
        distinct = [text for text in dict.fromkeys(texts) if text.strip()]
        with self._lock:
            vectors = {text: cache[text] for text in distinct if text in cache}
        missing = [text for text in distinct if text not in vectors]
        if missing:
            rows = _unit_rows(encode(missing))
            with self._lock:
                # A copy, because a row would keep the whole array of its call in memory.
                vectors |= {text: cache.setdefault(text, row.copy()) for text, row in zip(missing, rows, strict=True)}
                while len(cache) > CACHED_VECTORS:
                    del cache[next(iter(cache))]
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for place, text in enumerate(texts):
            if text in vectors:
                result[place] = vectors[text]
        return result

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of questions. Only models with a prompt for queries embed them otherwise than documents."""
        return self.embed(texts)

    def encode_texts(self, texts: list[str]) -> Vectors:
        """Return a row for each text, of any length but zero. The texts are distinct and not blank."""
        raise NotImplementedError


def _unit_rows(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = 1.0
    return np.asarray(vectors / lengths, dtype=np.float32)
