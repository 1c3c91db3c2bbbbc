"""Split a text into sentences, passages and chunks. Each is a span: the characters from `start` up to `end`.

Headings are in chunks, but they are no passages. A row of a table is a passage, in sentences only if it is long.

No span begins or ends with white space. Every other character is in exactly one chunk.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from drag_graph.distill.patterns.words import ABBREVIATIONS
from drag_graph.documents.blocks import PlacedBlock

VERSION = "passages/3"
LONGEST_SENTENCE = 600
"""Maximum length in characters; longer sentences are cut at white space."""
SHORTEST_PASSAGE = 100
"""Minimum length in characters; a shorter sentence is joined with the next one of its paragraph."""
_SHORT_LINE = 0.6
"""Fraction of the usual line length. A shorter line without a closing mark is a heading, or ends a paragraph."""
_LINE = re.compile(r"[^\n]+")
_ITEM = re.compile(r"\s*(?:(?:[-*+•‣▪◦–>|]|#{1,6}|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])\s|[^\W\d_][\w .'-]{0,40}:\s)")
"""The beginning of a list item, or of a turn in a conversation."""
_HEADING = re.compile(r"\s*#{1,6}\s")
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s)|[。！？]+[”’」』）]*")
_CLOSED = re.compile(r"[.!?…:;,。！？][\"'”’»)\]]*$")
_LOOK_AHEAD = 200
"""Maximum number of blanks after a sentence."""
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘«]+$")


@dataclass(frozen=True, slots=True)
class TextSpan:
    """The characters from `start` up to `end`."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """Return the span's text."""
        return text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """A chunk with its passages, and the page and the headings that all of it stands under."""

    span: TextSpan
    passages: tuple[TextSpan, ...]
    heading: tuple[str, ...] = ()
    page: int | None = None


def chunks(text: str, blocks: Sequence[PlacedBlock], size: int) -> list[ChunkSpan]:
    """Return the chunks of a text, of at most `size` characters, each with its passages of whole sentences.

    A chunk ends where page or headings change. A row that fits into a chunk is not cut. A sentence longer than a chunk is cut
    at white space if possible.
    """
    result: list[ChunkSpan] = []
    current: list[_Paragraph] = []
    longest = min(size, LONGEST_SENTENCE)
    for block in blocks:
        within = TextSpan(block.start, block.end)
        for paragraph in paragraphs(text, within) if block.kind == "text" else [within]:
            fresh = True
            length = paragraph.end - paragraph.start
            is_whole = block.kind == "row" and length <= longest
            for sentence in [paragraph] if is_whole else sentences(text, paragraph, longest):
                end = paragraph.end if block.kind == "row" and length <= size else sentence.end
                if current and (_is_apart(current[-1].block, block) or end - current[0].sentences[0].start > size):
                    result.append(_chunk(current))
                    current, fresh = [], True
                if fresh:
                    current.append(_Paragraph(block, []))
                    fresh = False
                current[-1].sentences.append(sentence)
    return [*result, _chunk(current)] if current else result


@dataclass(frozen=True, slots=True)
class _Paragraph:
    """Sentences of a paragraph that are in the current chunk."""

    block: PlacedBlock
    sentences: list[TextSpan]


def _is_apart(before: PlacedBlock, block: PlacedBlock) -> bool:
    """Whether a chunk ends between two blocks. A heading belongs to what follows it."""
    if before.page != block.page:
        return True
    if before.kind == "heading":
        return False
    return block.kind == "heading" or before.heading != block.heading


def paragraphs(text: str, within: TextSpan) -> list[TextSpan]:
    """Return paragraphs and list items. A single line end counts as white space."""
    matches = _LINE.finditer(text, within.start, within.end)
    lines = [span for match in matches if (span := _stripped(text, match.start(), match.end()))]
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
    following = _stripped(text, match.end(), min(within.end, match.end() + _LOOK_AHEAD))
    if following is not None and text[following.start].islower():
        return False
    if match.group()[0] != "." or len(match.group().rstrip("\"'”’»)]")) > 1:
        return True
    word = _LAST_WORD.search(text, max(within.start, match.start() - 40), match.start())
    low = word.group().lower() if word else ""
    is_initial = len(low) == 1 and low.isalpha() and low != "i"
    return not (is_initial or low in ABBREVIATIONS or (low.isdigit() and match.start() - len(low) == within.start))


def _pieces(text: str, start: int, end: int, longest: int) -> Iterator[TextSpan]:
    while span := _stripped(text, start, end):
        end = span.end
        if span.end - span.start <= longest:
            yield span
            return
        cut = max(text.rfind(blank, span.start + 1, span.start + longest + 1) for blank in (" ", "\n", "\t"))
        start = cut if cut > span.start else span.start + longest
        if piece := _stripped(text, span.start, start):
            yield piece


def _chunk(current: Sequence[_Paragraph]) -> ChunkSpan:
    passages = [passage for item in current if item.block.kind != "heading" for passage in _joined(item.sentences)]
    last = current[-1].block
    span = TextSpan(current[0].sentences[0].start, current[-1].sentences[-1].end)
    return ChunkSpan(span, tuple(passages), last.heading, last.page)


def _joined(sentences_: Sequence[TextSpan]) -> Iterator[TextSpan]:
    """Yield the sentences of a paragraph; short ones are joined with the next."""
    start = -1
    for sentence in sentences_:
        start = sentence.start if start < 0 else start
        if sentence.end - start >= SHORTEST_PASSAGE or sentence is sentences_[-1]:
            yield TextSpan(start, sentence.end)
            start = -1


def _stripped(text: str, start: int, end: int) -> TextSpan | None:
    """Return the span without white space around it. Nothing is copied, because the spans of one line may be long and many."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return TextSpan(start, end) if start < end else None
