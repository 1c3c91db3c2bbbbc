"""A question and its options as one text, divided into sentences and clauses."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from drag_graph.ports.private_details import Finding, Kept, texts_by_field
from drag_graph.privacy.spans import Pattern, Span

_BORDER = Pattern(
    r"(?<![\s.]\p{L})(?<!\b(?:Dr|Mr|Ms|Mrs|St|Prof|Sr|Jr|No|Nr|Apt|Av|Ave|Rd|ul|u|Str|str|vs|Inc|Ltd|Co|Corp))[.?!]+[\"'”’)]*\s+|:\s|;\s|\n|[()|]|\s(?=Please\b|My\b|Asked by\b)"
)
FIRST_PERSON = Pattern(r"\b(?:I|I['’](?:m|ve|d|ll)|[Mm]y|[Mm]e|[Mm]ine|[Ww]e|[Ww]e['’]re|[Oo]ur|us)\b(?!\.)")
Item = TypeVar("Item", Finding, Kept)


@dataclass(frozen=True)
class QuestionText:
    """A text, its entities according to the language model, and the places of its fields."""

    text: str
    fields: tuple[tuple[str, int, int], ...]
    """Name, start and end of the question and of each option."""
    entities: tuple[Span, ...]

    is_open: bool
    """Whether there are no options: such a question is rather a person's own than an exam's."""

    @cached_property
    def segments(self) -> list[tuple[int, int]]:
        """Start and end of each sentence or clause."""
        borders = [match.end() for match in _BORDER.finditer(self.text)]
        return list(zip([0, *borders], [*borders, len(self.text)], strict=True))

    def segment(self, at: int) -> tuple[int, int]:
        return next(part for part in reversed(self.segments) if part[0] <= at)

    def by_field(self, items: Sequence[Item]) -> tuple[Item, ...]:
        """Return spans of the whole text as spans of its fields."""
        return tuple(
            replace(item, field=field, start=item.start - low, end=item.end - low)
            for field, low, high in self.fields
            for item in items
            if low <= item.start < high
        )


def joined(question: str, options: Sequence[str]) -> tuple[str, tuple[tuple[str, int, int], ...]]:
    """Return question and options as one text, and name, start and end of each."""
    fields, start = [], 0
    for name, text in texts_by_field(question, options).items():
        fields.append((name, start, start + len(text)))
        start += len(text) + 1
    return "\n".join((question, *options)), tuple(fields)
