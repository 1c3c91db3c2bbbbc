"""Return freed memory to the operating system."""

import ctypes
import sys
from functools import cache
from typing import Any


def return_freed_memory() -> None:
    """Return what this process has freed. glibc would keep it. Does nothing on other systems than Linux."""
    if trim := _trim():
        trim(0)


@cache
def _trim() -> Any:
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
