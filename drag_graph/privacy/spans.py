"""Spans of a text that detectors return, and how overlapping ones are merged."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from drag_graph.ports.private_details import Finding


@dataclass(frozen=True, slots=True)
class Span:
    """A private span of a text."""

    start: int
    end: int
    type: str
    detector: str

    def overlaps(self, start: int, end: int) -> bool:
        return self.start < end and start < self.end


class Generalised:
    """A text with its findings replaced, and the mapping of places between it and the original."""

    def __init__(self, text: str, findings: Sequence[Finding]) -> None:
        self.text, at = "", 0
        self._moves = [(0, 0)]
        for item in findings:
            self.text += text[at : item.start] + item.replacement
            at = item.end
            self._moves.append((at, len(self.text)))
        self.text += text[at:]

    def place(self, original: int) -> int:
        """Return the place in this text of a place of the original that is not inside a finding."""
        before, after = max(move for move in self._moves if move[0] <= original)
        return original - before + after

    def original(self, place: int) -> int:
        """Return the place in the original of a place of this text that is not inside a replacement."""
        before, after = max(move for move in self._moves if move[1] <= place)
        return place - after + before


def spans_of(
    pattern: Any, text: str, kind: str, detector: str, group: int | str = 0, *, parts: Iterable[tuple[int, int]] | None = None
) -> Iterator[Span]:
    """Yield a span for each match of a pattern, or of one of its groups, in a text or in parts of it."""
    for low, high in ((0, len(text)),) if parts is None else parts:
        for match in pattern.finditer(text, low, high):
            yield Span(match.start(group), match.end(group), kind, detector)


def is_within(place: int, parts: Iterable[tuple[int, int]]) -> bool:
    """Whether a place is in one of these parts of the text."""
    return any(low <= place < high for low, high in parts)


def settled(spans: Iterable[Span]) -> list[Span]:
    """Return spans without overlaps, in the order of the text.

    Overlapping spans of one type are merged. Of different types the first in `spans` wins; the others keep their remaining parts.
    """
    spans = list(spans)
    owners: dict[int, Span] = {}
    for span in spans:
        for place in range(span.start, span.end):
            owners.setdefault(place, span)
    result: list[Span] = []
    for place, owner in sorted(owners.items()):
        last = result[-1] if result else None
        if last and last.end == place and last.type == owner.type:
            result[-1] = replace(last, end=place + 1)
        else:
            result.append(Span(place, place + 1, owner.type, owner.detector))
    return [span for span in result if span.end - span.start > 1 or span in spans]  # drops leftovers of one character
