"""The provider's side of a teacher that is asked in batches (docs/adr/0013)."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from drag_graph.errors import BudgetReached

LATE = timedelta(hours=2)
"""How long after the provider's own term a batch is still waited for."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a batch stands: `since` when it was made, `until` when the provider gives it up.

    `batch` is its id; `way_out` what the user can do where its replies never come.
    """

    ended: bool
    status: str
    completed: int
    failed: int
    total: int
    since: datetime
    until: datetime
    batch: str = ""
    way_out: str = ""

    @property
    def awaited(self) -> bool:
        """Whether it has not ended and the provider may still end it."""
        return not self.ended and datetime.now(UTC) < self.until + LATE


class Batches(Protocol):
    """The provider's side of a teacher that is asked in batches; see `BatchTeacher`."""

    def recover(self) -> None:
        """Adopt or make the batches whose creation was cut short."""

    def submit(self) -> BudgetReached | None:
        """Make batches of what was noted; return the error for what the budget does not reach."""

    def look(self) -> list[Progress]:
        """Ask where the batches stand that are not collected."""

    def waiting(self) -> list[Progress]:
        """Return the same without asking, as it was known last."""

    def collect(self) -> int:
        """Collect the batches that have ended; return how many."""

    def book(self, *, whole: bool = True) -> None:
        """Keep that a pass has used what was collected before it; without `whole`, only that which its queries came to."""

    def end(self) -> None:
        """Forget what is done."""
