"""The patterns of the detectors, the spans of a text that they find, and how overlapping ones are merged."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import regex

LIMIT = 30.0
"""Seconds that a pattern may take for a text. A thread that exceeds its deadline ends after this time at the latest."""


class Pattern:
    """A compiled pattern of the package `regex`, which releases the interpreter lock while it matches.

    Its methods raise TimeoutError after `limit` seconds.
    """

    def __init__(self, pattern: str, flags: int = 0, *, limit: float = LIMIT) -> None:
        compiled = regex.compile(pattern, flags=flags)
        self.finditer = partial(compiled.finditer, timeout=limit)
        self.fullmatch = partial(compiled.fullmatch, timeout=limit)
        self.match = partial(compiled.match, timeout=limit)
        self.search = partial(compiled.search, timeout=limit)
        self.split = partial(compiled.split, timeout=limit)
        self.sub = partial(compiled.sub, timeout=limit)


@dataclass(frozen=True, slots=True)
class Span:
    """A private span of a text."""

    start: int
    end: int
    type: str
    detector: str

    def overlaps(self, start: int, end: int) -> bool:
        return self.start < end and start < self.end


def spans_of(
    pattern: Pattern,
    text: str,
    kind: str,
    detector: str,
    group: int | str = 0,
    *,
    parts: Iterable[tuple[int, int]] | None = None,
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
