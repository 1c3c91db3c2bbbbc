"""Plain characters for full-width letters and HTML references, and whether a text is in Latin letters."""

import html
import re
import unicodedata

from drag_graph.ports.private_details import Finding
from drag_graph.privacy.spans import Generalised

_ENCODED = re.compile(
    "&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});|[\u3000\uff01-\uff5e\U0001d400-\U0001d7ff]"
)
"""A character reference of HTML; a full-width character; a mathematical letter or digit."""


def surface(text: str) -> Generalised:
    """Return a text with plain characters, and the mapping of places to the original."""
    plain = [(match.span(), unicodedata.normalize("NFKC", html.unescape(match[0]))) for match in _ENCODED.finditer(text)]
    return Generalised(text, [Finding("", *span, "", "", to) for span, to in plain if len(to) == 1])


def is_latin(text: str) -> bool:
    """Whether most letters in words are Latin. Single letters do not count, because formulas use them as symbols."""
    words = re.findall(r"[^\W\d_]{2,}", surface(text).text)
    latin = [unicodedata.name(letter, "").startswith("LATIN ") for word in words for letter in word]
    return not latin or 2 * sum(latin) > len(latin)
