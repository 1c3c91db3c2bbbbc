"""The reason that a server gives for rejecting a request: one line without any part of the request and without secrets."""

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
"""A line break or tab as a server writes it when it quotes the request as JSON or Python."""
_WORD = re.compile(r"\w+")
_REPEATED = re.compile(rf"{_HIDDEN}(?:[^\w{_HIDDEN}]{{0,3}}{_HIDDEN})+")
_SHORT = 4
_PLAIN = frozenset(["does", "from", "have", "must", "only", "such", "than", "that", "this", "when", "will", "with", "your"])


def reason_of(errors: Iterable[BaseException], sent: str, key: str) -> str:
    """Return the server's message from the first of `errors` (a chain) that has one, else "".

    `key`, anything that looks like a key or credentials, and the words of `sent` are hidden, except short and common words.
    """
    reason = next((text for error in errors if (text := message_of(error))), "")
    reason = _ESCAPE.sub(lambda code: chr(int(code[1], 16)), _WRAPPED.sub("", reason))
    reason = _LINE_BREAK.sub(" ", reason)
    reason = " ".join("".join(sign if sign.isprintable() else " " for sign in reason).split())
    if key:
        reason = reason.replace(key, _HIDDEN)
    reason = _KEY.sub(_HIDDEN, _CREDENTIALS.sub(_HIDDEN, reason))
    sent_words = {word.casefold() for word in _WORD.findall(sent)}
    reason = _WORD.sub(lambda word: _HIDDEN if _is_sent(word[0], sent_words) else word[0], reason)
    reason = _REPEATED.sub(_HIDDEN, reason)
    return reason if len(reason) <= LONGEST_REASON else f"{reason[: LONGEST_REASON - 1]}{_HIDDEN}"


def message_of(error: BaseException) -> str:
    """Return the server's own message from an exception, "" if there is none."""
    body: Any = getattr(error, "body", None)
    for name in ("error", "detail", "message"):
        if isinstance(body, Mapping) and name in body:
            body = body[name]
    return body if isinstance(body, str) else str(getattr(error, "message", ""))


def _is_sent(word: str, sent_words: set[str]) -> bool:
    """Return whether a word of the server's message reveals a word of the request or the beginning of one."""
    folded = word.casefold()
    if folded in _PLAIN or (len(word) < _SHORT and word.isascii() and (word.islower() or word.isdigit())):
        return False
    return folded in sent_words or any(one.startswith(folded) or (not word.isascii() and folded in one) for one in sent_words)
