"""The reason that a server gives for refusing a request, in one line that holds nothing of the request and no secret."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

LONGEST_REASON = 200
_HIDDEN = "\u2026"
_WRAPPED = re.compile(r"^(?:litellm\.\w+: )?(?:\w+Exception - )?")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]*@|\?\S*=\S*|\b(?:bearer|basic)\s+\S+", re.IGNORECASE)
_KEY = re.compile(r"(?=[\w.+/=-]*\d)(?=[\w.+/=-]*[A-Za-z])[\w.+/=-]{16,}|\b(?:sk|pk|key|token)-[\w-]+", re.IGNORECASE)
_LINE_BREAK = re.compile(r"\\+[nrtbf]")
"""How a line break or the like is written where a server quotes the request as JSON or Python would."""
_WORD = re.compile(r"\w+")
_REPEATED = re.compile(rf"{_HIDDEN}(?:[^\w{_HIDDEN}]{{0,3}}{_HIDDEN})+")
_SHORT = 4
_PLAIN = frozenset(["does", "from", "have", "must", "only", "such", "than", "that", "this", "when", "will", "with", "your"])


def reason_of(errors: Iterable[BaseException], sent: str, key: str) -> str:
    """Return what the server says in the first of `errors` (a chain) that quotes it; "" where it says nothing.

    Left out are `key`, what looks like a key or credentials, and each word of `sent`, but for the short and common ones.
    """
    said = next((text for error in errors if (text := _message(error))), "")
    said = _ESCAPE.sub(lambda code: chr(int(code[1], 16)), _WRAPPED.sub("", said))
    said = _LINE_BREAK.sub(" ", said)
    said = " ".join("".join(sign if sign.isprintable() else " " for sign in said).split())
    if key:
        said = said.replace(key, _HIDDEN)
    said = _KEY.sub(_HIDDEN, _CREDENTIALS.sub(_HIDDEN, said))
    known = {word.casefold() for word in _WORD.findall(sent)}
    said = _WORD.sub(lambda word: _HIDDEN if _is_sent(word[0], known) else word[0], said)
    said = _REPEATED.sub(_HIDDEN, said)
    return said if len(said) <= LONGEST_REASON else f"{said[: LONGEST_REASON - 1]}{_HIDDEN}"


def _message(error: BaseException) -> str:
    body: Any = getattr(error, "body", None)
    for name in ("error", "detail", "message"):
        if isinstance(body, Mapping) and name in body:
            body = body[name]
    return body if isinstance(body, str) else str(getattr(error, "message", ""))


def _is_sent(word: str, known: set[str]) -> bool:
    """Whether a word of the request, or the beginning of one, is in the server's words, and says something of it."""
    folded = word.casefold()
    if folded in _PLAIN or (len(word) < _SHORT and word.isascii() and (word.islower() or word.isdigit())):
        return False
    return folded in known or any(one.startswith(folded) or (not word.isascii() and folded in one) for one in known)
