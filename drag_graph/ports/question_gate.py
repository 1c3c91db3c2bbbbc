"""The privacy gate as the steps of asking and distilling use it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from drag_graph.inputs import InputLine
from drag_graph.model import Answer, Line, Query
from drag_graph.ports.private_details import Finding

WITHHELD = "(withheld)"
"""Replaces a text that must not be stored."""
LookFor = Callable[[Sequence[str]], Sequence[str]]
"""Returns for each text the type of a private detail in it, or ''."""


class Disguise(Protocol):
    """A rewritten question together with its original, in memory only."""

    @property
    def question(self) -> str:
        """The original question."""

    @property
    def options(self) -> tuple[str, ...]:
        """The original options."""

    def restored_lines(self, lines: Sequence[Line]) -> tuple[Line, ...]:
        """Return the lines with names of persons put back into those about this question."""

    def restored_answer(self, answer: Answer) -> Answer:
        """Return the answer with its original texts, to be shown and never stored."""

    def hidden(self, text: str) -> str:
        """Return a text of the user or of a local student, generalised like the question."""

    def generalised(self) -> list[dict[str, str]]:
        """Return each replaced detail once, with its type, detector and replacement."""


class Gate(Protocol):
    """Rewrites questions and looks for private details."""

    @property
    def fingerprint(self) -> str:
        """The level and the detectors with their versions."""

    def rewrite_query(self, query: Query) -> Query:
        """Return the query that may be sent, and store its original. Raises Withheld."""

    def found_in(self, texts: Sequence[str], *, from_user: bool) -> Sequence[Sequence[Finding]]:
        """Return the private details in texts; in texts not written by the user, only those with a telling format."""

    def is_unfiltered(self, query: Query) -> bool:
        """Whether a stored question has not passed the gate and would be changed by it. Raises Withheld."""

    def admit(self, lines: Iterable[InputLine]) -> Iterator[InputLine]:
        """Yield the lines with rewritten questions. A blocked line has `withheld` and nothing of its text."""

    def disguise(self, asked: Query, given: Query | None = None) -> Disguise | None:
        """Return original and replacements of a rewritten question (as `given`, or the first); None if nothing was replaced."""

    def facts(self, disguise: Disguise | None) -> Mapping[str, Any]:
        """Return the gate's entry of an audit: level, detectors, and the number of replacements."""
