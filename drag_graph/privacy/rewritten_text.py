"""Rewriting texts: replacing findings, decoding full-width letters and HTML references, and counting Latin letters."""

import html
import re
import unicodedata
from collections.abc import Sequence

from drag_graph.ports.private_details import Finding

_ENCODED = re.compile(
    "&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});|[\u3000\uff01-\uff5e\U0001d400-\U0001d7ff]"
)
"""A character reference of HTML; a full-width character; a mathematical letter or digit."""


class Generalised:
    """A text with its findings replaced, and the mapping of places between it and the original."""

    def __init__(self, text: str, findings: Sequence[Finding]) -> None:
        self.text, at = "", 0
        self._moves = [(0, 0)]
        for item in findings:
            self.text += text[at : item.start] + item.replacement
            at = item.end
            self._moves.append((at, len(self.text)))
        self.text += text[at:]

    def place(self, original: int) -> int:
        """Return the place in this text of a place of the original that is not inside a finding."""
        before, after = max(move for move in self._moves if move[0] <= original)
        return original - before + after

    def original(self, place: int) -> int:
        """Return the place in the original of a place of this text that is not inside a replacement."""
        before, after = max(move for move in self._moves if move[1] <= place)
        return place - after + before


def surface(text: str) -> Generalised:
    """Return a text with plain characters, and the mapping of places to the original."""
    plain = [(match.span(), unicodedata.normalize("NFKC", html.unescape(match[0]))) for match in _ENCODED.finditer(text)]
    return Generalised(text, [Finding("", *span, "", "", to) for span, to in plain if len(to) == 1])


def is_latin(text: str) -> bool:
    """Whether most letters in words are Latin. Single letters do not count, because formulas use them as symbols."""
    words = re.findall(r"[^\W\d_]{2,}", surface(text).text)
    latin = [unicodedata.name(letter, "").startswith("LATIN ") for word in words for letter in word]
    return not latin or 2 * sum(latin) > len(latin)
