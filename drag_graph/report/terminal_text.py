"""Text that is safe to print on a terminal."""

import unicodedata

_BIDIRECTIONAL = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the direction of the text after them."""


def printable(text: str) -> str:
    """Return a text with escapes for the characters that control the terminal or the direction of text."""
    return "".join(
        f"\\u{ord(one):04x}" if one in _BIDIRECTIONAL or (unicodedata.category(one) == "Cc" and one not in "\n\t") else one
        for one in text
    )
