"""Who may link in a namespace of Neo4j: a lease on its `StoreInfo` node, so that no transaction is held open for a whole run.

A lease ends by itself, by the server's clock, and every write of its holder renews it in the same transaction: one who was
taken for dead writes nothing more (docs/adr/0015-across-queries.md).
"""

import os
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from drag_graph.adapters.neo4j_access import Neo4jAccess
from drag_graph.adapters.neo4j_connection import Work
from drag_graph.errors import StoreError, StoreLocked

LEASE_SECONDS = 300
"""Longer than any pause between two writes of a run: the embedding of some hundred texts, or the reading of all names."""
_HINT = "Let it end, then run the same again."


class Neo4jLease:
    """The lease of one linker. `renew` does nothing unless it is `held`."""

    def __init__(self, access: Neo4jAccess) -> None:
        self._access = access
        self._mine = {"namespace": access.namespace}
        self._holder = ""

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lease while the block runs. Raises StoreLocked when another holds it whose end is not known."""
        holder = f"{socket.gethostname()}:{os.getpid()}:{processes_here()}-{uuid.uuid4().hex[:8]}"
        other, until = self._take(holder, "")
        if other and _is_dead(other):
            other, until = self._take(holder, other)
        if other:
            raise StoreLocked(f"{self._place} is being linked by {_named(other)}, until {_time(until)} at most", hint=_HINT)
        self._holder = holder
        try:
            yield
        finally:
            self._holder = ""
            # A server that is away lets go of it later.
            with suppress(StoreError):
                self._access.writing(lambda work: work.run("link_concepts_released", **self._mine, holder=holder))

    def renew(self, work: Work) -> None:
        """Hold the lease for longer, in the transaction of `work`. Raises StoreLocked when somebody else has taken it."""
        if not self._holder:
            return
        values = {**self._mine, "holder": self._holder, "milliseconds": 1000 * LEASE_SECONDS}
        if not work.rows("link_concepts_renewed", **values):
            raise StoreLocked(f"{self._place} was taken over: this run was not heard of for too long", hint=_HINT)

    def _take(self, holder: str, instead_of: str) -> tuple[str, int]:
        """Return ('', 0) once the lease is had, else who has it and until when (milliseconds since 1970)."""
        values: dict[str, Any] = {**self._mine, "holder": holder, "instead_of": instead_of}
        values["milliseconds"] = 1000 * LEASE_SECONDS
        ((other, until),) = self._access.writing(lambda work: work.rows("link_concepts_lease", **values))
        return other, until

    @property
    def _place(self) -> str:
        return f"namespace {self._access.namespace!r} of {self._access.location}"


def _is_dead(holder: str) -> bool:
    """Whether the holder was a process of this machine that is no more."""
    host, number, mark = holder.rsplit(":", 2)
    if host != socket.gethostname() or mark.rpartition("-")[0] != processes_here():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def processes_here() -> str:
    """Return which processes the numbers here are of: two containers may call themselves alike. Empty where it is unknown."""
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return ""


def _named(holder: str) -> str:
    host, number, _ = holder.rsplit(":", 2)
    return f"process {number} on {host}"


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="seconds")
