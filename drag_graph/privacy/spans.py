"""Spans of a text that detectors return, and how overlapping ones are merged."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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
    result: list[Span] = []
    for span in spans:
        same = [other for other in result if other.type == span.type and other.overlaps(span.start, span.end)]
        low, high = min([span.start, *(other.start for other in same)]), max([span.end, *(other.end for other in same)])
        detector = same[0].detector if same else span.detector
        result = [other for other in result if other not in same]
        parts = [(low, high)]
        for other in result:
            parts = [part for piece in parts for part in _without(piece, (other.start, other.end))]
        result.extend(Span(start, end, span.type, detector) for start, end in parts if end - start > 1 or len(parts) == 1)
    return sorted(result, key=lambda span: span.start)


def _without(piece: tuple[int, int], other: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the parts of a piece outside another one."""
    if other[1] <= piece[0] or piece[1] <= other[0]:
        return [piece]
    parts = [(piece[0], min(piece[1], other[0])), (max(piece[0], other[1]), piece[1])]
    return [part for part in parts if part[0] < part[1]]
