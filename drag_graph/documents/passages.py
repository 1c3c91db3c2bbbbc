"""A text in sentences, passages and chunks. Each is a span of the text: the characters from `start` up to `end`.

No span begins or ends with a blank, so its text is exactly what the graph keeps, and all that is no blank is in one chunk.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from drag_graph.distill.patterns.words import ABBREVIATIONS

VERSION = "passages/1"
LONGEST_SENTENCE = 600
"""Characters: a longer one is cut where there is a blank."""
SHORTEST_PASSAGE = 100
"""Characters: a shorter sentence is taken together with the next one of its paragraph (docs/adr/0038)."""
_SHORT_LINE = 0.6
"""Of the usual length of a line: one that is shorter and ends without a mark is a heading, or the end of a paragraph."""
_LINE = re.compile(r"[^\n]+")
_ITEM = re.compile(r"\s*(?:(?:[-*+•‣▪◦–>|]|#{1,6}|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])\s|[^\W\d_][\w .'-]{0,40}:\s)")
"""How an item of a list begins, and what somebody says in a conversation."""
_HEADING = re.compile(r"\s*#{1,6}\s")
_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s)|[。！？]+[”’」』）]*")
_CLOSED = re.compile(r"[.!?…:;,。！？][\"'”’»)\]]*$")
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘«]+$")


@dataclass(frozen=True, slots=True)
class TextSpan:
    """The characters from `start` up to `end`."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """Return its text."""
        return text[self.start : self.end]


def chunks(text: str, size: int) -> list[tuple[TextSpan, list[TextSpan]]]:
    """Return the chunks of a text, of at most `size` characters, each with its passages: whole sentences.

    A sentence that is longer than a chunk is cut where there is a blank, if there is one.
    """
    found: list[tuple[TextSpan, list[TextSpan]]] = []
    held: list[list[TextSpan]] = []
    """The sentences of the chunk that is being filled, by paragraph."""
    for paragraph in paragraphs(text):
        fresh = True
        for sentence in sentences(text, paragraph, min(size, LONGEST_SENTENCE)):
            if held and sentence.end - held[0][0].start > size:
                found.append(_chunk(held))
                held, fresh = [], True
            if fresh:
                held.append([])
                fresh = False
            held[-1].append(sentence)
    return [*found, _chunk(held)] if held else found


def paragraphs(text: str) -> list[TextSpan]:
    """Return what stands by itself: paragraphs, headings, the items of a list. A line end alone is a blank."""
    lines = [span for match in _LINE.finditer(text) if (span := _stripped(text, match.start(), match.end()))]
    usual = median(line.end - line.start for line in lines) if lines else 0.0
    found: list[TextSpan] = []
    for before, line in pairwise([None, *lines]):
        assert line is not None
        if before is not None and not _parted(text, before, line, usual):
            found[-1] = TextSpan(found[-1].start, line.end)
        else:
            found.append(line)
    return found


def sentences(text: str, within: TextSpan, longest: int) -> Iterator[TextSpan]:
    """Yield the sentences of a paragraph; of more than `longest` characters, in pieces."""
    start = within.start
    for match in _END.finditer(text, within.start, within.end):
        if _ends(text, within, match):
            yield from _pieces(text, start, match.end(), longest)
            start = match.end()
    yield from _pieces(text, start, within.end, longest)


def _parted(text: str, before: TextSpan, line: TextSpan, usual: float) -> bool:
    """Whether a line begins something new after the line `before` it."""
    if text.count("\n", before.end, line.start) > 1 or _ITEM.match(text, line.start) or _HEADING.match(text, before.start):
        return True
    is_short = before.end - before.start < _SHORT_LINE * usual
    return is_short and not text[line.start].islower() and not _CLOSED.search(before.of(text))


def _ends(text: str, within: TextSpan, match: re.Match[str]) -> bool:
    """Whether a sentence ends with this mark."""
    rest = text[match.end() : within.end].lstrip()
    if rest[:1].islower():
        return False
    if match.group()[0] != "." or len(match.group().rstrip("\"'”’»)]")) > 1:
        return True
    word = _LAST_WORD.search(text, max(within.start, match.start() - 40), match.start())
    low = word.group().lower() if word else ""
    is_initial = len(low) == 1 and low.isalpha() and low != "i"
    return not (is_initial or low in ABBREVIATIONS or (low.isdigit() and match.start() - len(low) == within.start))


def _pieces(text: str, start: int, end: int, longest: int) -> Iterator[TextSpan]:
    while span := _stripped(text, start, end):
        if span.end - span.start <= longest:
            yield span
            return
        cut = max(text.rfind(blank, span.start + 1, span.start + longest + 1) for blank in (" ", "\n", "\t"))
        start = cut if cut > span.start else span.start + longest
        if piece := _stripped(text, span.start, start):
            yield piece


def _chunk(held: Sequence[Sequence[TextSpan]]) -> tuple[TextSpan, list[TextSpan]]:
    passages = [passage for sentences_ in held for passage in _together(sentences_)]
    return TextSpan(held[0][0].start, held[-1][-1].end), passages


def _together(held: Sequence[TextSpan]) -> Iterator[TextSpan]:
    """Yield the sentences of a paragraph, short ones together with the next."""
    start = -1
    for sentence in held:
        start = sentence.start if start < 0 else start
        if sentence.end - start >= SHORTEST_PASSAGE or sentence is held[-1]:
            yield TextSpan(start, sentence.end)
            start = -1


def _stripped(text: str, start: int, end: int) -> TextSpan | None:
    part = text[start:end]
    left = len(part) - len(part.lstrip())
    return TextSpan(start + left, start + len(part.rstrip())) if left < len(part) else None
