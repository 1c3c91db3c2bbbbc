"""Split a text into sentences, passages and chunks. Each is a span: the characters from `start` up to `end`.

No span begins or ends with white space. Every other character is in exactly one chunk.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from drag_graph.distill.patterns.words import ABBREVIATIONS

VERSION = "passages/1"
LONGEST_SENTENCE = 600
"""Maximum length in characters; longer sentences are cut at white space."""
SHORTEST_PASSAGE = 100
"""Minimum length in characters; a shorter sentence is joined with the next one of its paragraph (docs/adr/0038)."""
_SHORT_LINE = 0.6
"""Fraction of the usual line length. A shorter line without a closing mark is a heading, or ends a paragraph."""
_LINE = re.compile(r"[^\n]+")
_ITEM = re.compile(r"\s*(?:(?:[-*+•‣▪◦–>|]|#{1,6}|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])\s|[^\W\d_][\w .'-]{0,40}:\s)")
"""The beginning of a list item, or of a turn in a conversation."""
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
        """Return the span's text."""
        return text[self.start : self.end]


def chunks(text: str, size: int) -> list[tuple[TextSpan, list[TextSpan]]]:
    """Return the chunks of a text, of at most `size` characters, each with its passages of whole sentences.

    A sentence longer than a chunk is cut at white space if possible.
    """
    result: list[tuple[TextSpan, list[TextSpan]]] = []
    current: list[list[TextSpan]] = []
    """The sentences of the current chunk, by paragraph."""
    for paragraph in paragraphs(text):
        fresh = True
        for sentence in sentences(text, paragraph, min(size, LONGEST_SENTENCE)):
            if current and sentence.end - current[0][0].start > size:
                result.append(_chunk(current))
                current, fresh = [], True
            if fresh:
                current.append([])
                fresh = False
            current[-1].append(sentence)
    return [*result, _chunk(current)] if current else result


def paragraphs(text: str) -> list[TextSpan]:
    """Return paragraphs, headings and list items. A single line end counts as white space."""
    lines = [span for match in _LINE.finditer(text) if (span := _stripped(text, match.start(), match.end()))]
    usual = median(line.end - line.start for line in lines) if lines else 0.0
    result: list[TextSpan] = []
    for before, line in pairwise([None, *lines]):
        assert line is not None
        if before is not None and not _parted(text, before, line, usual):
            result[-1] = TextSpan(result[-1].start, line.end)
        else:
            result.append(line)
    return result


def sentences(text: str, within: TextSpan, longest: int) -> Iterator[TextSpan]:
    """Yield the sentences of a paragraph; sentences longer than `longest` characters in pieces."""
    start = within.start
    for match in _END.finditer(text, within.start, within.end):
        if _ends(text, within, match):
            yield from _pieces(text, start, match.end(), longest)
            start = match.end()
    yield from _pieces(text, start, within.end, longest)


def _parted(text: str, before: TextSpan, line: TextSpan, usual: float) -> bool:
    """Whether a line begins a new paragraph after the line `before` it."""
    if text.count("\n", before.end, line.start) > 1 or _ITEM.match(text, line.start) or _HEADING.match(text, before.start):
        return True
    is_short = before.end - before.start < _SHORT_LINE * usual
    return is_short and not text[line.start].islower() and not _CLOSED.search(before.of(text))


def _ends(text: str, within: TextSpan, match: re.Match[str]) -> bool:
    """Whether a sentence ends with this mark."""
    following = text[match.end() : within.end].lstrip()
    if following[:1].islower():
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


def _chunk(paragraphs_: Sequence[Sequence[TextSpan]]) -> tuple[TextSpan, list[TextSpan]]:
    passages = [passage for sentences_ in paragraphs_ for passage in _joined(sentences_)]
    return TextSpan(paragraphs_[0][0].start, paragraphs_[-1][-1].end), passages


def _joined(sentences_: Sequence[TextSpan]) -> Iterator[TextSpan]:
    """Yield the sentences of a paragraph; short ones are joined with the next."""
    start = -1
    for sentence in sentences_:
        start = sentence.start if start < 0 else start
        if sentence.end - start >= SHORTEST_PASSAGE or sentence is sentences_[-1]:
            yield TextSpan(start, sentence.end)
            start = -1


def _stripped(text: str, start: int, end: int) -> TextSpan | None:
    part = text[start:end]
    offset = len(part) - len(part.lstrip())
    return TextSpan(start + offset, start + len(part.rstrip())) if offset < len(part) else None
