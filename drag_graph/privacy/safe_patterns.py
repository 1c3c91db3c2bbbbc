"""The patterns of our own rules: those of the package `regex`, which lets others work while it looks, and here gives up in time."""

from functools import partial

import regex

LIMIT = 30.0
"""Seconds that one pattern may take for one text. So long a thread may go on that was given up (`guarded.DEADLINE`)."""


class Pattern:
    """A compiled pattern; its methods are those of `regex`. They raise TimeoutError after `limit` seconds."""

    def __init__(self, pattern: str, flags: int = 0, *, limit: float = LIMIT) -> None:
        compiled = regex.compile(pattern, flags=flags)
        self.finditer = partial(compiled.finditer, timeout=limit)
        self.fullmatch = partial(compiled.fullmatch, timeout=limit)
        self.match = partial(compiled.match, timeout=limit)
        self.search = partial(compiled.search, timeout=limit)
        self.split = partial(compiled.split, timeout=limit)
        self.sub = partial(compiled.sub, timeout=limit)
