"""Fill the token budget with what a search found: whole stretches of documents, evidence, edges.

Passages are taken best first until the budget is used. Those of one document stand together, in its order; neighbours are
joined to one span, which is what the document says there, word for word. The first span of a document opens with its title,
headings and date. Pure functions.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from drag_graph.ask.context_lines import Candidate, CountTokens, DroppedLine, Selection, SpanPlace, block, numbered, order_of
from drag_graph.graph.edge_text import one_line
from drag_graph.identity import canonical_text
from drag_graph.model import Line

_ROW = " | "
"""What separates the cells of a row (`drag_graph.documents.blocks`)."""
NUMBER = 4
"""Characters that the number of a line takes."""
SAMPLE = 4_000
"""Characters whose tokens are counted to estimate the others."""
TRIES, FULL = 5, 0.97
"""Number of estimates, unless this fraction of the budget is used before."""


def fill(
    candidates: Sequence[Candidate], *, count_tokens: CountTokens, token_budget: int, max_lines: int | None = None
) -> Selection:
    """Choose the lines so that `block(lines)` has at most `token_budget` tokens: passages and evidence first, then edges.

    `max_lines` limits the passages and evidence, and the edges. A text that alone exceeds the budget is never shown.
    """
    ordered, dropped = list[Candidate](), list[DroppedLine]()
    texts = set[tuple[str, str]]()
    for item in sorted(candidates, key=lambda item: (item.kind == "edge", order_of(item))):
        text = (item.kind, canonical_text(item.text).rstrip(".!"))
        if text in texts:
            dropped.append(item.dropped("duplicate"))
        elif max_lines and sum(one.kind == item.kind for one in ordered) == max_lines:
            dropped.append(item.dropped("line limit"))
        else:
            ordered.append(item)
        texts.add(text)
    chosen = _fitting(ordered, count_tokens, token_budget)
    refs = {item.ref for item in chosen}
    dropped += [item.dropped("token budget") for item in ordered if item.ref not in refs]
    return Selection(_lines(chosen), tuple(dropped))


def _fitting(items: Sequence[Candidate], count_tokens: CountTokens, token_budget: int) -> list[Candidate]:
    """Return the first items that fit, and later ones that fit into what is left.

    Tokens are counted a few times only: the number of characters that fill the budget is estimated from them.
    """
    sample = "\n".join(item.text for item in items)[:SAMPLE]
    room = token_budget * len(sample) / max(count_tokens(sample), 1) if sample else 0.0
    best, most = list[Candidate](), 0
    for _ in range(TRIES):
        chosen = _within(items, room)
        used = count_tokens(block(_lines(chosen)))
        if most < used <= token_budget:
            best, most = chosen, used
        if FULL * token_budget <= used <= token_budget or not chosen or (used <= token_budget and len(chosen) == len(items)):
            break
        room *= 0.995 * token_budget / used
    if not best:
        best = _within(items, room)
        while best and count_tokens(block(_lines(best))) > token_budget:
            best.pop()
    return best


def _within(items: Sequence[Candidate], room: float) -> list[Candidate]:
    """Return the items that fit into about that number of characters, in their order."""
    chosen, opened = list[Candidate](), dict[str, list[SpanPlace]]()
    for item in items:
        size = len(item.text)
        if item.place is None:
            size += NUMBER
        elif item.source_id not in opened:
            size += NUMBER + len(_opening(item.place))
        elif not any(_is_adjacent(*sorted((item.place, other), key=_start)) for other in opened[item.source_id]):
            size += NUMBER
        if size <= room:
            room -= size
            chosen.append(item)
            if item.place is not None:
                opened.setdefault(item.source_id, []).append(item.place)
    return chosen


def _lines(chosen: Sequence[Candidate]) -> tuple[Line, ...]:
    """Return the numbered lines: documents and evidence by their best item, then edges."""
    groups: dict[str, list[Candidate]] = {}
    for item in chosen:
        groups.setdefault(item.source_id if item.place else item.ref, []).append(item)
    lines = list[Line]()
    for group in groups.values():
        lines += _spans(group) if group[0].place else numbered(group)
    return tuple(line.model_copy(update={"n": n}) for n, line in enumerate(lines, start=1))


def _spans(items: Sequence[Candidate]) -> list[Line]:
    """Return the passages of one document as spans, in its order."""
    placed = sorted(((item, item.place) for item in items if item.place), key=lambda pair: _start(pair[1]))
    numbers, number = list[int](), 0
    for before, (_, place) in zip([None, *placed], placed, strict=False):
        number += before is None or not _is_adjacent(before[1], place)
        numbers.append(number)
    lines, heading = list[Line](), None
    for _, pairs in groupby(zip(numbers, placed, strict=True), key=lambda pair: pair[0]):
        members = [pair for _, pair in pairs]
        first, last = members[0][1], max((place for _, place in members), key=lambda place: place.end)
        text = one_line(_text(replace(first, end=last.end)))
        opening = _opening(first) if heading is None else _headings(first) if heading != first.heading else ""
        heading = first.heading
        best = min((item for item, _ in members), key=order_of)
        shown = replace(best, kind="span", text=f"{opening}{text}")
        (line,) = numbered([shown])
        ids = tuple(item.ref for item, _ in members)
        lines.append(line.model_copy(update={"opening": opening, "evidence_ids": ids}))
    return lines


def _start(place: SpanPlace) -> tuple[int, int]:
    return place.start, place.end


def _is_adjacent(before: SpanPlace, place: SpanPlace) -> bool:
    """Whether two passages are joined: nothing stands between them, which might be private. Rows of a table stand alone."""
    if before.chunk_id != place.chunk_id or _ROW in _text(before) or _ROW in _text(place):
        return False
    return not _text(replace(before, start=before.end, end=place.start)).strip()


def _text(place: SpanPlace) -> str:
    return place.chunk_text[place.start - place.chunk_start : place.end - place.chunk_start]


def _opening(place: SpanPlace) -> str:
    """Return what the first span of a document opens with: "notes.md > Budget, 2026-03-02: "."""
    path = one_line(" > ".join([place.title, *place.heading]))
    is_told = place.date.replace("-", "") in path.replace("-", "")
    return f"{path}: " if is_told else f"{path}, {place.date}: "


def _headings(place: SpanPlace) -> str:
    return f"{one_line(' > '.join(place.heading))}: " if place.heading else ""
