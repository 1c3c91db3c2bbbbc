"""The interface between the shared parts of a store and an engine's transactions."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from drag_graph.graph.paging import pages
from drag_graph.ports.graph_store import GraphStore
from drag_graph.ports.vectors import Vector

Row = dict[str, Any]
Run = Callable[..., list[Row]]
"""Runs a statement by name with its parameters and returns its rows."""


class Transaction(Protocol):
    """Statements of one transaction. `perhaps_done`: an earlier commit of the same work may have succeeded.

    Work that writes sets `changed_vectors` to the ids of the nodes whose vectors it may change. None, the default, means any.
    """

    perhaps_done: bool
    changed_vectors: Collection[str] | None

    def run(self, name: str, /, **parameters: Any) -> list[Row]:
        """Execute the statement of that name and return its rows."""


EngineTransaction = TypeVar("EngineTransaction", bound=Transaction)
Result = TypeVar("Result")


class Access(GraphStore, Protocol):
    """A namespace of a store, and transactions on it."""

    def sent_vector(self, vector: Vector) -> Any:
        """Return a vector as a statement's parameter."""

    def kept_vector(self, kept: Any) -> Sequence[float] | None:
        """Return a vector from a statement's row; None if there is none. A zero vector may be empty."""

    def in_reading(self, work: Callable[[Any], Result]) -> Result:
        """Return the result of `work`, which only reads."""

    def in_writing(self, work: Callable[[Any], Result]) -> Result:
        """Return the result of `work` in one writing transaction."""


IDS_AT_ONCE = 100
ALL = 2**62
"""More rows than there are."""


def run_by_ids(run: Run, name: str, ids: Iterable[str], key: str = "ids", **values: Any) -> list[Row]:
    """Run a statement over distinct ids, its parameter `key`, a few at a time and in their order, and return its rows."""
    return [row for page in pages(sorted(set(ids)), IDS_AT_ONCE) for row in run(name, **{key: page}, **values)]


class NamespacePart:
    """A part of a store, such as its concepts, within one namespace."""

    rows_at_once = 1000
    vectors_at_once = 100
    """Rows per statement; fewer if each has a vector."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._namespace = access.namespace

    def _rows(self, name: str, **values: Any) -> list[Row]:
        """Return the rows of a statement in a reading transaction of its own."""
        return self._access.in_reading(lambda session: session.run(name, namespace=self._namespace, **values))

    def _each(self, run: Run, name: str, rows: Sequence[Row], at_once: int = 0) -> list[Row]:
        """Run a statement over rows, a few at a time, and return its rows."""
        values = {"namespace": self._namespace}
        return [row for page in pages(rows, at_once or self.rows_at_once) for row in run(name, **values, rows=page)]
