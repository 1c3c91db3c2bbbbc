"""What the shared parts of a store ask of an engine's transactions."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol, TypeVar

from drag_graph.ports.vectors import Vector

Row = dict[str, Any]
Run = Callable[..., list[Row]]
"""Runs the statement of a name with its parameters in one transaction, and returns its rows."""


class Transaction(Protocol):
    """Statements of one transaction. `perhaps_done`: the same work may have come through before (nobody heard of its end).

    `changed_vectors` is set by work that writes: the ids of the nodes whose vectors it may change; None, as at first, means
    any, and () none.
    """

    perhaps_done: bool
    changed_vectors: Collection[str] | None

    def run(self, name: str, /, **parameters: Any) -> list[Row]:
        """Execute the statement of that name and return its rows."""


EngineTransaction = TypeVar("EngineTransaction", bound=Transaction)
Result = TypeVar("Result")


class Access(Protocol):
    """A namespace of an engine's store, and transactions on it."""

    @property
    def location(self) -> str:
        """See GraphStore."""

    @property
    def namespace(self) -> str:
        """See GraphStore."""

    def sent_vector(self, vector: Vector) -> Any:
        """Return a vector as a statement's parameter."""

    def kept_vector(self, kept: Any) -> Sequence[float] | None:
        """Return a vector of a statement's row; None where there is none, and nothing of one that is all zeros, perhaps."""

    def in_reading(self, work: Callable[[Any], Result]) -> Result:
        """Return what `work` returns, which reads."""

    def in_writing(self, work: Callable[[Any], Result]) -> Result:
        """Return what `work` returns in one transaction that writes."""
