"""Memory that was freed goes back to the operating system."""

import ctypes
import sys

import pytest

from drag_graph.jobs import freed_memory


@pytest.mark.skipif(sys.platform != "linux", reason="glibc only")
def test_freed_memory_leaves_the_process():
    def resident():
        with open("/proc/self/statm") as file:  # noqa: PTH123 - the file has no size
            return int(file.read().split()[1]) * 4096

    if not hasattr(ctypes.CDLL(None), "malloc_trim"):
        pytest.skip("not glibc")
    pieces = [bytearray(100_000) for _ in range(500)]
    last = bytearray(100_000)  # keeps the end of the heap in use
    before = resident()
    del pieces
    freed_memory.return_freed_memory()
    assert before - resident() > 30_000_000
    assert last


def test_other_libraries_are_left_alone(monkeypatch):
    monkeypatch.setattr(freed_memory.sys, "platform", "darwin")
    freed_memory.return_freed_memory()
