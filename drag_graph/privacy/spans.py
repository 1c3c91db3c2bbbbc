"""What detectors hand on: spans of one text, and how overlapping ones are settled."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
    """A text with its private spans replaced, and how places in it and in the original correspond."""

    def __init__(self, text: str, findings: Sequence[Finding]) -> None:
        self.text, at = "", 0
        self._moves = [(0, 0)]
        for item in findings:
            self.text += text[at : item.start] + item.replacement
            at = item.end
            self._moves.append((at, len(self.text)))
        self.text += text[at:]

    def place(self, original: int) -> int:
        """Return where a place of the original, outside of its private spans, is in this text."""
        before, after = max(move for move in self._moves if move[0] <= original)
        return original - before + after

    def original(self, place: int) -> int:
        """Return where in the original a place of this text is, which lies outside of replacements."""
        before, after = max(move for move in self._moves if move[1] <= place)
        return place - after + before


def settled(spans: Iterable[Span]) -> list[Span]:
    """Return spans that do not overlap, in the order of the text.

    Overlapping ones of a type are one. Of different types the earlier given wins, and of the later the parts outside stay.
    """
    kept: list[Span] = []
    for span in spans:
        same = [other for other in kept if other.type == span.type and other.overlaps(span.start, span.end)]
        low, high = min([span.start, *(other.start for other in same)]), max([span.end, *(other.end for other in same)])
        detector = same[0].detector if same else span.detector
        kept = [other for other in kept if other not in same]
        rest = [(low, high)]
        for other in kept:
            rest = [part for piece in rest for part in _without(piece, (other.start, other.end))]
        kept.extend(Span(start, end, span.type, detector) for start, end in rest if end - start > 1 or len(rest) == 1)
    return sorted(kept, key=lambda span: span.start)


def _without(piece: tuple[int, int], other: tuple[int, int]) -> list[tuple[int, int]]:
    """Return what is left of a piece outside another one."""
    if other[1] <= piece[0] or piece[1] <= other[0]:
        return [piece]
    parts = [(piece[0], min(piece[1], other[0])), (max(piece[0], other[1]), piece[1])]
    return [part for part in parts if part[0] < part[1]]
