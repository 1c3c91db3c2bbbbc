"""What takes private details out of a question before anything leaves this machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


def texts_by_field(question: str, options: Sequence[str]) -> dict[str, str]:
    """Return the texts of a question by the names that findings have for them."""
    return {"question": question, **{f"option:{place}": text for place, text in enumerate(options)}}


@dataclass(frozen=True, slots=True)
class Finding:
    """A private span. `start` and `end` count characters of the original; `type` is a name such as PERSON or EMAIL."""

    field: str
    """A name of `texts_by_field`, or nothing where a text is looked at alone."""
    start: int
    end: int
    type: str
    detector: str
    replacement: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A span that a detector saw and that stays, and why."""

    field: str
    start: int
    end: int
    type: str
    detector: str
    why: str


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A question and its options as they may leave, and what was found in the originals."""

    question: str
    options: tuple[str, ...]
    findings: tuple[Finding, ...]
    kept: tuple[Kept, ...]

    @property
    def texts(self) -> dict[str, str]:
        """The question and its options, by field."""
        return texts_by_field(self.question, self.options)


class Rewriter(Protocol):
    """Finds private details and generalises them, the same detail always alike."""

    version: str
    """The level and the detectors with their versions, for the settings hash."""

    def rewrite(self, question: str, options: Sequence[str]) -> Rewritten:
        """Return the question and its options with each private span replaced. Options that differ stay different."""
        ...

    def structured(self, text: str) -> list[Finding]:
        """Return the spans of a telling format or checksum alone; fast, for all bytes that leave."""
        ...

    def private(self, text: str) -> list[Finding]:
        """Return all private spans of a text that came from the user."""
        ...
