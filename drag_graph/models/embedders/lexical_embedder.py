"""The embedder that needs nothing but numpy."""

import math
import re
import zlib
from collections import Counter
from functools import lru_cache
from typing import Any

import numpy as np

from drag_graph.graph.search_terms import SIGNS, UNSPACED, folded, parts_of
from drag_graph.models.embedders.embedding_cache import CachingEmbedder
from drag_graph.ports.vectors import Vectors

_WORD = re.compile(rf"[\w{SIGNS}]+(?:'[\w{SIGNS}]+)*")
_ENDING = re.compile(r"(?<=\w{3})(?:ies|(?<=[sxzh])es|(?<![sui])s|ing|ed|y)$")
_PIECE = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+|[^\w\s]")
# Function words say little about the topic of a text. They weigh less, but remain, so that no text becomes empty.
_FUNCTION_WORDS = frozenset(
    """
    a an and are as at be been being but by can could did do does for from had has have he her his how i if in into is it
    its may me might more most my of on or our she should so some such than that the their them then there these they this
    those to was we were what when where which who whom why will with would you your
    """.split()  # noqa: SIM905 - a word list reads better as words
)


class LexicalEmbedder(CachingEmbedder):
    """Hashed words and character n-grams: no weights, no torch, the same vectors on every machine.

    A text is the sum of its words, weighted by 1 + log(count) and, for function words, by 0.2. A word is a hashed feature
    without its common ending (weight 1) and its character 3- and 4-grams (weight 0.7 together). So `cell` and `cells` are
    similar, but `car` and `automobile` are not: it compares spelling, not meaning. Accents do not count, and in scripts
    without spaces every pair of neighbouring characters is a word.
    """

    def __init__(self, dimension: int = 1024) -> None:
        super().__init__()
        self.name = f"lexical/2-{dimension}"
        self._dimension = dimension
        self._features = lru_cache(maxsize=65_536)(self._word_features)

    @property
    def dimension(self) -> int:
        return self._dimension

    def encode_texts(self, texts: list[str]) -> Vectors:
        rows = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            # A text without words is one feature, so that its vector is not zero.
            counts = Counter(part for word in _WORD.findall(folded(text)) for part in parts_of(word)) or Counter([text.strip()])
            places, values = [], []
            for word, times in counts.items():
                where, what = self._features(word)
                places.append(where)
                values.append(what * ((1.0 + math.log(times)) * (0.2 if word in _FUNCTION_WORDS else 1.0)))
            rows[row] = np.bincount(np.concatenate(places), weights=np.concatenate(values), minlength=self._dimension)
        return rows

    def _word_features(self, word: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        framed = f"<{word[:64]}>"
        grams = [framed[start : start + size] for size in (3, 4) for start in range(len(framed) - size + 1)] or [framed]
        hashes = [zlib.crc32(part.encode("utf-8", "surrogatepass")) for part in (f"w:{_ENDING.sub('', word)}", *grams)]
        weights = np.array([1.0] + [0.7 / math.sqrt(len(grams))] * len(grams))
        signs = np.array([1.0 if value & 0x80000000 else -1.0 for value in hashes])
        return np.array([value % self._dimension for value in hashes]), weights * signs

    def count_tokens(self, text: str) -> int:
        return len(_PIECE.findall(text))
