"""What the embedders share: checked shapes, zero rows for blank texts, and a small memory of vectors and token counts."""

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
"""What a vector in the memory takes besides its numbers: a digest, the head of an array, its place in the order."""


class Remembering:
    """An embedder with a memory by text: at most `REMEMBERED_BYTES`, whatever the dimension and the length of the texts.

    Subclasses give `dimension`, `encode_texts` and `count_of`. A text that two threads ask for at once may be computed twice;
    both get the vector that was remembered first.
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

        Raises MissingExtra, or another ModelError where the model cannot be used.
        """
        keys = {text: _digest(text) for text in texts if text.strip()}
        found = self._recalled(keys)
        missing = [text for text in keys if text not in found]
        if missing:
            rows = _unit_rows(self.encode_texts(missing))
            found |= self._remembered({text: (keys[text], row) for text, row in zip(missing, rows, strict=True)})
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for place, text in enumerate(texts):
            if text in found:
                vectors[place] = found[text]
        return vectors

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of `text`, without a model's own start and end marks."""
        return self._counted(text)

    def encode_texts(self, texts: list[str]) -> Vectors:
        """Return a row a text, of any length but zero; the texts are distinct and none is blank."""
        raise NotImplementedError

    def count_of(self, text: str) -> int:
        """Count the tokens of `text`."""
        raise NotImplementedError

    def _recalled(self, keys: dict[str, bytes]) -> dict[str, Vectors]:
        with self._lock:
            found = {text: self._vectors[key] for text, key in keys.items() if key in self._vectors}
            for text in found:
                self._vectors.move_to_end(keys[text])
        return found

    def _remembered(self, entries: dict[str, tuple[bytes, Vectors]]) -> dict[str, Vectors]:
        """Keep the rows, drop the oldest that are too many, and return what is now the vector of each text."""
        most = REMEMBERED_BYTES // (4 * self.dimension + ENTRY_BYTES)
        with self._lock:
            # A copy of a row, as the row itself would keep the whole array of its call alive.
            kept = {text: self._vectors.setdefault(key, row.copy()) for text, (key, row) in entries.items()}
            while len(self._vectors) > most:
                self._vectors.popitem(last=False)
        return kept


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _unit_rows(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = 1.0
    return np.asarray(vectors / lengths, dtype=np.float32)
