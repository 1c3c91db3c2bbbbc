"""Return freed memory to the operating system."""

import ctypes
import sys


def return_freed_memory() -> None:
    """Return what this process has freed. glibc would keep it. Does nothing on other systems than Linux."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)
