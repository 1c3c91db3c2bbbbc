"""Evidence that a model wrote as a numbered or bulleted list although asked for JSON (docs/design.md, section 8). No I/O."""

import re
from collections.abc import Iterator

from drag_graph.model import FRAMINGS

_MARK = re.compile(
    r"\s*(?:#{1,6}\s+)?(?:[-*\u2022]|\(?\d{1,3}[.):]|\[\d{1,3}\]|(?:evidence|fact|statement)\s+\d{1,3}\s*[.:)-])\s+(?=\S)",
    re.IGNORECASE,
)
_NAMES = "|".join(FRAMINGS)
_FRAMING = re.compile(
    rf"(?:[(\[](?P<inner>{_NAMES})[)\]][ \t]*:?"
    rf"|(?P<bare>{_NAMES})(?:\s+(?:evidence|facts?|statements?))?(?:\s*:|\s+[-\u2013\u2014](?=\s)|(?=\s*\Z)))\s*",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"\bet al\b|https?://|\bdoi:", re.IGNORECASE)
_ADDRESSED = re.compile(r"\b(?:you|your|please)\b|\bI(?:'m|\u2019m|'ll| am| can| will| would| need| have| do)\b", re.IGNORECASE)
_CODE = re.compile(r'[{}|]|"\w+"\s*:')
_WORD = re.compile(r"\w+")
_SPACELESS = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_FEWEST_WORDS, _FEWEST_WITHOUT_STOP, _FEWEST_SIGNS = 4, 6, 8
_LEAST = 2


def listed_evidence(body: str) -> tuple[list[dict[str, str]], list[str]]:
    """Return the statements of a list in `body` with their framings, and why other entries are none.

    The first is empty where there is no such list: fewer than two statements, or no more than half of the entries are one.
    A heading or label that names a framing counts for what follows it.
    """
    usable: list[dict[str, str]] = []
    discarded: list[str] = []
    for place, (framing, text) in enumerate(_entries(body)):
        problem = _problem(text)
        if problem:
            discarded.append(f"evidence[{place}]: {problem}")
        else:
            usable.append({"text": text, "framing": framing})
    if len(usable) < max(_LEAST, len(discarded) + 1):
        return [], []
    return usable, discarded


def _entries(body: str) -> Iterator[tuple[str, str]]:
    """Yield (framing, text) of each entry: its marked line and the lines that follow it without a gap."""
    heading, framing = "", ""
    parts: list[str] = []
    for raw in [*body.splitlines(), ""]:
        line = raw.replace("**", "").replace("__", "")
        mark = _MARK.match(line)
        if parts and (mark or not line.strip()):
            yield framing or heading, " ".join(parts)
            parts = []
        if parts:
            parts.append(line.strip())
        elif line.strip():
            framing, text = _labelled(line[mark.end() :].strip() if mark else line.strip(" #\t"))
            if mark and text:
                parts = [text]
            elif mark or not text:  # a framing's name alone says something about what follows it
                heading = framing


def _labelled(line: str) -> tuple[str, str]:
    found = _FRAMING.match(line)
    return ((found["inner"] or found["bare"]).lower(), line[found.end() :].strip()) if found else ("", line)


def _problem(text: str) -> str:
    """Return why an entry is no statement, or ""."""
    if _CODE.search(text):
        return "it is no plain text"
    if text.endswith((":", "?", ",")):
        return "it is no statement"
    if _REFERENCE.search(text):
        return "it is a reference"
    if _ADDRESSED.search(text):
        return "it addresses the reader"
    if _SPACELESS.search(text):
        return "" if len(text) >= _FEWEST_SIGNS else "it is too short for a statement"
    fewest = _FEWEST_WORDS if text.endswith((".", "!", '."')) else _FEWEST_WITHOUT_STOP
    return "" if len(_WORD.findall(text)) >= fewest else "it is too short for a statement"
