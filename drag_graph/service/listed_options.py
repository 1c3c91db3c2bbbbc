"""Recognise the options of a question that lists them in its text: `A) water B) air`, `A. ...` or `(A) ...`."""

import re
from itertools import pairwise

from drag_graph.model import LABELS

_ASKS = "?\uff1f:\uff1a\n"
_MARKS = {r"([A-Z])\)": f"{_ASKS}.!", r"\(([A-Z])\)": f"{_ASKS}.!", r"([A-Z])\.": _ASKS}
"""How a letter is marked, and the characters that can be before the first one. `A.` may also be an initial of a name."""
_PLACES = (r"^[ \t]*", r"(?:^|(?<=\s))")


def listed_options(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a question without its options, and these; the whole text and none if it does not list at least two.

    Options stand one a line, or in a row. Their letters are in order from A and all marked alike. What follows the line of the
    last option belongs to the question.
    """
    for mark, before in _MARKS.items():
        for place in _PLACES:
            found = list(re.finditer(f"{place}{mark}[ \t]+(?=\\S)", text, re.MULTILINE))
            if not found[1:] or "".join(match[1] for match in found) != LABELS[: len(found)]:
                continue
            stem = text[: found[0].start()].rstrip(" \t")
            last, _, rest = text[found[-1].end() :].partition("\n")
            parts = [*(text[one.end() : other.start()] for one, other in pairwise(found)), last]
            options = tuple(" ".join(part.split()).strip(" ,;") for part in parts)
            if stem.strip() and stem[-1] in before and all(options):
                return f"{stem.strip()}\n{rest.strip()}".strip(), options
    return text, ()
