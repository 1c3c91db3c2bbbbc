"""Patterns of the package `regex`, which releases the interpreter lock while it matches, with a timeout."""

from functools import partial

import regex

LIMIT = 30.0
"""Seconds that a pattern may take for a text. A thread that exceeds its deadline ends after this time at the latest."""


class Pattern:
    """A compiled pattern with the methods of `regex`, which raise TimeoutError after `limit` seconds."""

    def __init__(self, pattern: str, flags: int = 0, *, limit: float = LIMIT) -> None:
        compiled = regex.compile(pattern, flags=flags)
        self.finditer = partial(compiled.finditer, timeout=limit)
        self.fullmatch = partial(compiled.fullmatch, timeout=limit)
        self.match = partial(compiled.match, timeout=limit)
        self.search = partial(compiled.search, timeout=limit)
        self.split = partial(compiled.split, timeout=limit)
        self.sub = partial(compiled.sub, timeout=limit)
