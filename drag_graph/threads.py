"""How the threads of a run take turns."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

LONG_TURN = 0.05
"""Seconds; Python's own is 0.005."""

_lock = threading.Lock()
_open: list[float] = []


@contextmanager
def long_turns() -> Iterator[None]:
    """Let a thread of this process compute for up to `LONG_TURN` before another that waits gets its turn.

    What a worker does between two calls takes some milliseconds. With short turns all workers that were answered together get
    on together and are done together, each after the work of all; with long ones the first is done, and waits for its next
    reply, while the others work. So their calls spread out, and the processor has work while they wait. Turns are those of the
    whole process and go back to what they were when the last that wanted long ones is done.
    """
    with _lock:
        _open.append(sys.getswitchinterval())
        sys.setswitchinterval(max(_open[0], LONG_TURN))
    try:
        yield
    finally:
        with _lock:
            before = _open[0]
            _open.pop()
            if not _open:
                sys.setswitchinterval(before)
