"""How a text reads, whatever its characters are written as, and whether the detectors can read it."""

import html
import re
import unicodedata

from drag_graph.ports.private_details import Finding
from drag_graph.privacy.spans import Generalised

_WRITTEN = re.compile(
    "&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});|[\u3000\uff01-\uff5e\U0001d400-\U0001d7ff]"
)
"""A character as HTML writes it; one of full width; a letter or digit of mathematics."""


def surface(text: str) -> Generalised:
    """Return a text with the plain character for what is written for one, and how places in both correspond."""
    plain = [(match.span(), unicodedata.normalize("NFKC", html.unescape(match[0]))) for match in _WRITTEN.finditer(text)]
    return Generalised(text, [Finding("", *span, "", "", to) for span, to in plain if len(to) == 1])


def is_latin(text: str) -> bool:
    """Whether most letters in the words of a text are Latin ones. A letter alone is a symbol of a formula."""
    words = re.findall(r"[^\W\d_]{2,}", surface(text).text)
    latin = [unicodedata.name(letter, "").startswith("LATIN ") for word in words for letter in word]
    return not latin or 2 * sum(latin) > len(latin)
