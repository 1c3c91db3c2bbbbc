"""Private details in a question, and the port of the rewriter that replaces them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


def texts_by_field(question: str, options: Sequence[str]) -> dict[str, str]:
    """Return the texts of a question by the field names that findings use."""
    return {"question": question, **{f"option:{place}": text for place, text in enumerate(options)}}


@dataclass(frozen=True, slots=True)
class Finding:
    """A private span. `start` and `end` count characters of the original; `type` is a name such as PERSON or EMAIL."""

    field: str
    """A name of `texts_by_field`; '' for a text of its own."""
    start: int
    end: int
    type: str
    detector: str
    replacement: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A span that a detector recognised and that stays, and why."""

    field: str
    start: int
    end: int
    type: str
    detector: str
    why: str


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A question and its options as they may be sent, and the findings in the originals."""

    question: str
    options: tuple[str, ...]
    findings: tuple[Finding, ...]
    kept: tuple[Kept, ...]

    @property
    def texts(self) -> dict[str, str]:
        """The question and its options, by field."""
        return texts_by_field(self.question, self.options)


class Rewriter(Protocol):
    """Finds private details and generalises them. The same detail always gets the same replacement."""

    version: str
    """The level and the detectors with their versions. Part of the settings hash."""

    def rewrite(self, question: str, options: Sequence[str]) -> Rewritten:
        """Return the question and its options with each private detail replaced. Different options stay different."""

    def structured(self, text: str) -> list[Finding]:
        """Return the details with a telling format or checksum. Fast, because it reads all outgoing bytes."""

    def private(self, text: str) -> list[Finding]:
        """Return all private details in a text of the user."""
