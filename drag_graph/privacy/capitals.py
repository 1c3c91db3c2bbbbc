"""Find names that no list, context or model recognises, by capitals and layout, in texts without options."""

from collections.abc import Iterator, Sequence

import regex

from drag_graph.privacy.people import PARTICLE, is_nation
from drag_graph.privacy.public_names import NOT_A_NAME, folded, is_known_person, is_place, names_a_thing, words
from drag_graph.privacy.spans import Pattern, Span

_WORD = r"\p{Lu}[\p{L}\p{M}\p{N}]*(?:['’&-][\p{L}\p{N}]+)*"
_RUN = Pattern(rf"(?<![\p{{L}}\p{{N}}@._-]){_WORD}(?:[^\S\n](?:(?:{PARTICLE}|&)[^\S\n])?{_WORD})*")
_BEGINNING = Pattern(r"(?:^|[.?!:>|\n])[\s\"'“‘(>*-]*$")
_LINE = Pattern(
    rf"(?m)^[>\s]*(?P<name>(?:\d[\d -]{{2,7}}\s)?{_WORD}(?:,?[^\S\n](?:(?:{PARTICLE}|and|of|&)[^\S\n])?{_WORD}){{0,4}}(?:[^\S\n]\d[\d/-]{{0,6}}\p{{L}}?)?)[^\S\n]*$"
)
_LONGEST_ABBREVIATION = 5


def names(text: str) -> Iterator[Span]:
    """Yield all capitalised words within sentences, and listed places; known persons, nations and ordinary words stay."""
    for run in _RUN.finditer(text):
        parts = list(regex.finditer(r"\S+", run.group()))
        while parts and _is_ordinary(parts[0].group()):
            parts.pop(0)
        while parts and _is_ordinary(parts[-1].group()):
            parts.pop()
        if not parts:
            continue
        start, end = run.start() + parts[0].start(), run.start() + parts[-1].end()
        name = regex.sub("['’]s?$", "", text[start:end])
        if is_place(name):
            yield Span(start, start + len(name), "PLACE", "capitals")
            continue
        is_public = is_known_person(name) or names_a_thing(text, start, end) or NOT_A_NAME.search(name)
        if not is_public and (len(parts) > 1 or not _BEGINNING.search(text[max(0, start - 10) : start])):
            yield Span(start, start + len(name), "NAME", "capitals")


def lines(text: str, private: Sequence[Span]) -> Iterator[Span]:
    """Yield the lines of capitalised words next to a private line, as in the address of a letter or a signature."""
    covered = [(span.start, span.end) for span in private]
    rows = [(match.span("name"), match.group("name")) for match in _LINE.finditer(text)]
    for ordered in (rows, rows[::-1]):
        for (start, end), name in ordered:
            is_next = any(not text[high:start].strip(" >\n") or not text[end:low].strip(" >\n") for low, high in covered)
            if is_next and not _is_ordinary(name.split()[0]) and (start, end) not in covered:
                covered.append((start, end))
                yield Span(start, end, "NAME", "layout")


def _is_ordinary(word: str) -> bool:
    plain = regex.sub("['’]s?$", "", folded(word))
    is_abbreviation = word.isupper() and len(word) <= _LONGEST_ABBREVIATION
    return is_abbreviation or plain in words() or len(plain) == 1 or word.startswith(("I'", "I’")) or is_nation(plain)
