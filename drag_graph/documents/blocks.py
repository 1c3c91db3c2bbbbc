"""Blocks: the parts of a loaded file, with the page and the headings that they stand under.

A table becomes one block per row, and each row carries its header, so that a row is understood alone. Headings are context:
they are in the text and in the `heading` of the blocks below them, but they are no passages.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

BlockKind = Literal["text", "row", "heading"]
CELL_GAP = " | "


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, a row of a table, or any other text. `heading` is the path of headings above it, outermost first."""

    text: str
    kind: BlockKind = "text"
    heading: tuple[str, ...] = ()
    page: int | None = None


@dataclass(frozen=True, slots=True)
class PlacedBlock:
    """A block as the characters from `start` up to `end` of a text."""

    start: int
    end: int
    kind: BlockKind
    heading: tuple[str, ...]
    page: int | None


class Headings:
    """The current path of headings, while a document is read from its start to its end."""

    def __init__(self, title: str = "") -> None:
        self._levels: list[tuple[int, str]] = [(0, title)] if title else []

    @property
    def path(self) -> tuple[str, ...]:
        """The headings that the next block stands under."""
        return tuple(text for _, text in self._levels)

    def enter(self, level: int, text: str) -> Block:
        """Return the block of a heading of this level (1 is outermost), and put what follows under it."""
        self._levels = [item for item in self._levels if item[0] < level]
        above, name = self.path, on_one_line(text)
        if above[-1:] != (name,):  # a page's title is often its first heading, too
            self._levels.append((level, name))
        return Block(text, "heading", above)


def table_blocks(
    rows: Iterable[Sequence[str]], heading: tuple[str, ...], *, has_header: bool, page: int | None = None
) -> list[Block]:
    """Return the rows of a table as "Fjordmetall | product: castings | lead time: 10 weeks".

    The first column names the row, so its header is left out. Empty cells and rows are left out, too. Titles above the header,
    rows of one cell, become text. Without a header, the cells stand next to each other.
    """
    filled = [cells for row in rows if any(cells := [on_one_line(cell) for cell in row])]
    start = next((place for place, cells in enumerate(filled) if len({*cells} - {""}) > 1), 0) if has_header else 0
    titles, filled = filled[:start], filled[start:]
    header = filled.pop(0) if has_header and len(filled) > 1 else []
    column = next((place for place, name in enumerate(header) if name), 0) if not any(cells[0] for cells in filled) else 0
    texts = [_row_text(cells[column:], header[column:]) for cells in filled]
    above = [Block(next(filter(None, cells)), "text", heading, page) for cells in titles]
    return above + [Block(text, "row", heading, page) for text in texts]


def _row_text(cells: Sequence[str], header: Sequence[str]) -> str:
    names = [*header, *[""] * (len(cells) - len(header))]
    parts = [
        f"{name}: {cell}" if name and (place or not cells[0]) else cell
        for place, (name, cell) in enumerate(zip(names, cells, strict=False))
        if cell
    ]
    return CELL_GAP.join(dict.fromkeys(parts))  # merged cells repeat their text


def on_one_line(text: str) -> str:
    """Return a text with single blanks."""
    return " ".join(text.split())


def join_blocks(blocks: Iterable[Block]) -> tuple[str, tuple[PlacedBlock, ...]]:
    """Return the text that the blocks make, and where each of them stands in it; rows of a table are adjacent lines."""
    parts: list[str] = []
    placed: list[PlacedBlock] = []
    length, before = 0, None
    for block in blocks:
        text = block.text.strip()
        if not text:
            continue
        gap = "" if before is None else "\n" if block.kind == before.kind == "row" else "\n\n"
        start = length + len(gap)
        parts += [gap, text]
        length, before = start + len(text), block
        placed.append(PlacedBlock(start, length, block.kind, block.heading, block.page))
    return "".join(parts), tuple(placed)


_ITEM = re.compile(r"\s*(?:[-*+•‣▪◦–>|]|\(?\d{1,3}[.)]\s|\(?[a-zA-Z][.)]\s|[^\W\d_][\w .'-]{0,40}:\s)")
_CLOSED = re.compile(r"[.!?…:;,。！？：；，][\"'”’»)\]]*$")
_SENTENCE = re.compile(r"[.!?…。！？](?:[\"'”’»)\]]*$|\s)|^.{70}")
_HEADING_WORDS = 10
_HEADING_LENGTH = 70
_HEADING_SHARE = 0.7
"""A line directly above a sentence is a heading if it is at most this part of the sentence's line; else the line is wrapped."""


def plain_blocks(text: str, page: int | None = None, headings: Headings | None = None) -> Iterator[Block]:
    """Yield the blocks of a text without markup.

    A heading is a short line without a closing mark, after a blank line or a sentence, above a line that is a sentence. A first
    line above a blank one is the title. `headings` are those of the pages before.
    """
    headings, lines, held = headings or Headings(), text.strip().split("\n"), list[str]()
    for place, line in enumerate(lines):
        is_title = not place and page is None and len(lines) > 1 and not lines[1].strip()
        if _is_short(line.strip()) and (is_title or _is_above_sentence(lines, place)):
            yield Block("\n".join(held), heading=headings.path, page=page)
            yield replace(headings.enter(0 if is_title else 1, line), page=page)
            held = []
        else:
            held.append(line)
    yield Block("\n".join(held), heading=headings.path, page=page)


def _is_short(line: str) -> bool:
    is_long = len(line) > _HEADING_LENGTH or len(line.split()) > _HEADING_WORDS
    return bool(line) and not (is_long or line[0].islower() or _CLOSED.search(line) or _ITEM.match(line))


def _is_above_sentence(lines: Sequence[str], place: int) -> bool:
    """Whether a line follows a blank line or a sentence, and the next one is a sentence and not its continuation."""
    line, before = lines[place].strip(), lines[place - 1].strip() if place else ""
    after = next((below for other in lines[place + 1 : place + 3] if (below := other.strip())), "")
    if (before and not _CLOSED.search(before)) or not _SENTENCE.search(after):
        return False
    return not lines[place + 1].strip() or (not after[0].islower() and len(line) < _HEADING_SHARE * len(after))
