"""Where in a file the entries of a key are, for many keys in little memory: 16 bytes an entry.

A key's first 64 bits stand for it, so that two keys can, very rarely, share their offsets: whoever reads an entry compares the
whole key. Not thread-safe.
"""

import numpy as np
from numpy.typing import NDArray

MERGED_FROM = 4_096
"""Entries that are kept in a dictionary before they are merged into the sorted arrays; after that, a quarter of these."""
_PREFIX = 16

_Numbers = NDArray[np.uint64]


class OffsetIndex:
    """Keys, of at least 16 hexadecimal digits, to the offsets of their entries, each key's in the order added."""

    def __init__(self) -> None:
        self._prefixes: _Numbers = np.empty(0, np.uint64)
        self._offsets: _Numbers = np.empty(0, np.uint64)
        self._recent: dict[int, tuple[int, ...]] = {}
        self._recent_entries = 0
        self._gone: set[int] = set()
        self._keys = 0

    def __len__(self) -> int:
        """Return the number of keys that have an entry."""
        return self._keys

    def __contains__(self, key: str) -> bool:
        return bool(self.offsets(key))

    def offsets(self, key: str) -> tuple[int, ...]:
        """Return the offsets of the key's entries; among them may be entries of another key with the same first 64 bits."""
        prefix = _prefix_of(key)
        first, last = self._prefixes.searchsorted(np.uint64(prefix)), None
        if first < len(self._prefixes) and self._prefixes[first] == prefix:
            last = self._prefixes.searchsorted(np.uint64(prefix), "right")
        merged = tuple(int(offset) for offset in self._offsets[first:last]) if last is not None else ()
        found = merged + self._recent.get(prefix, ())
        return tuple(offset for offset in found if offset not in self._gone) if self._gone else found

    def add(self, key: str, offset: int) -> None:
        """Add an entry of the key. An offset may be added once."""
        self._keys += key not in self
        prefix = _prefix_of(key)
        self._recent[prefix] = (*self._recent.get(prefix, ()), offset)
        self._recent_entries += 1
        if self._recent_entries >= max(MERGED_FROM, len(self._prefixes) // 4):
            self._merge()

    def discard(self, key: str, offset: int) -> None:
        """Forget an entry of the key."""
        if offset in self.offsets(key):
            self._gone.add(offset)
            self._keys -= key not in self

    def _merge(self) -> None:
        pairs = [(prefix, offset) for prefix, offsets in self._recent.items() for offset in offsets]
        added = np.array(pairs, np.uint64)
        prefixes = np.concatenate((self._prefixes, added[:, 0]))
        offsets = np.concatenate((self._offsets, added[:, 1]))
        order = np.argsort(prefixes, kind="stable")  # so that a key's offsets stay in the order added
        if self._gone:
            order = order[~np.isin(offsets[order], np.array(sorted(self._gone), np.uint64))]
        self._prefixes, self._offsets = prefixes[order], offsets[order]
        self._recent, self._recent_entries, self._gone = {}, 0, set()


def _prefix_of(key: str) -> int:
    return int(key[:_PREFIX], 16)
