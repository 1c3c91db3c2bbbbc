"""Keep what was in this process's memory out of a store's files.

ladybug 0.22 writes pages of which it filled a part only: the header of a new file, and pages of its catalogue, end in whatever
the allocator handed out. That may be any text that the process has let go: a question as it was before the privacy gate, say.
"""

import ctypes
import functools
import sys

_PERTURB = -6
"""glibc's M_PERTURB: fill memory that is handed out with the complement of a byte, and memory that is let go with the byte."""


@functools.cache
def hand_out_zeros() -> None:
    """Make the allocator return zeroed memory from now on. Works with glibc only (docs/explanation/privacy.md).

    Blocks of about a kilobyte and less may be handed out as they were. Writing a store and embedding take no longer by it.
    """
    if sys.platform == "linux" and (ask := getattr(ctypes.CDLL(None), "mallopt", None)):
        ask(_PERTURB, 0xFF)
