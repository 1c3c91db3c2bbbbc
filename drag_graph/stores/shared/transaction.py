"""What the shared parts of a store ask of an engine's transactions."""

from collections.abc import Callable, Collection
from typing import Any, Protocol, TypeVar

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

    def in_reading(self, work: Callable[[Any], Result]) -> Result:
        """Return what `work` returns, which reads."""

    def in_writing(self, work: Callable[[Any], Result]) -> Result:
        """Return what `work` returns in one transaction that writes."""
