"""The privacy gate, as those that ask and distill know it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from drag_graph.inputs import InputLine
from drag_graph.model import Answer, Line, Query
from drag_graph.ports.private_details import Finding

WITHHELD = "(withheld)"
"""What stands for a text that may be kept nowhere."""
LookFor = Callable[[Sequence[str]], Sequence[str]]
"""Returns for each text the type of something private in it, or ''."""


class Disguise(Protocol):
    """A generalised question beside its original, in memory."""

    @property
    def question(self) -> str:
        """The original."""

    @property
    def options(self) -> tuple[str, ...]:
        """The originals."""

    def restored_lines(self, lines: Sequence[Line]) -> tuple[Line, ...]:
        """Return the lines with the names of persons put back into those of the question itself."""

    def restored_answer(self, answer: Answer) -> Answer:
        """Return the answer as it reads of the original, to be shown and never kept."""

    def hidden(self, text: str) -> str:
        """Return a text of somebody who knows the original, generalised as the question was."""

    def generalised(self) -> list[dict[str, str]]:
        """Return each detail once, with what stands for it."""


class Gate(Protocol):
    """What every question passes before anything else."""

    @property
    def fingerprint(self) -> str:
        """The level and the detectors with their versions."""

    def asked(self, query: Query) -> Query:
        """Return the question as it may be asked, and keep the original. Raises Withheld."""

    def found_in(self, texts: Sequence[str], *, from_user: bool) -> Sequence[Sequence[Finding]]:
        """Return what is private in texts; in those that are not from the user, only what has a telling form."""

    def is_unfiltered(self, query: Query) -> bool:
        """Whether a stored question did not come through the gate and would be changed by it. Raises Withheld."""

    def admit(self, lines: Iterable[InputLine]) -> Iterator[InputLine]:
        """Yield the lines with their questions as they may be asked; where one may not, with `withheld` and nothing of it."""

    def disguise(self, asked: Query, given: Query | None = None) -> Disguise | None:
        """Return what was generalised for this question, as it was given now or first; None where nothing was."""

    def facts(self, disguise: Disguise | None) -> Mapping[str, Any]:
        """Return what an audit says of the gate: the level, the detectors, and how much was generalised by which."""
