"""Replacements of private details: words for their type, the same for the same detail, so that a question keeps its meaning."""

from collections.abc import Iterable, Sequence
from string import ascii_uppercase

import regex

from drag_graph.privacy.public_names import DATA, cities, countries, folded
from drag_graph.privacy.spans import Pattern, Span

_ROWS = (line.partition(": ") for line in (DATA / "replacements.txt").read_text(encoding="utf-8").splitlines())
_WORDS = {kind: words for kind, _, words in _ROWS}
"""The words that replace a detail, by its type."""
TYPES = frozenset({*_WORDS, "PERSON"})
_DETERMINER = Pattern(r"(?i)\b(?:an?|the|my|your|his|her|its|our|their|this|that|one)\s+$")
_NUMBERED = "|".join(sorted((word.split(" ", 1)[1] for word in _WORDS.values()), key=len, reverse=True))
_WHERE = "|".join(sorted({*cities().values(), *countries().values()}, key=len, reverse=True))
"""Countries and parts of the world that generalise cities and countries."""
_OURS = Pattern(
    rf"\bPerson [A-Z]{{1,2}}\b|\b(?:an? )?(?:{_NUMBERED})(?: \d{{1,2}}(?![\w-]))?\b|\b(?:a )?(?:city|country) in (?:{_WHERE})(?: \d+)?\b"
    r"|\b(?:a )?date in the \d{3}0s(?: \d+)?\b|\b\d0 to \d{1,2}9\b|\bunder 10\b|\bover 89\b"
)
OLDEST = 89
"""Above this age, a decade reveals too much."""


def replacements_in(text: str) -> list[tuple[int, int]]:
    """Return the places of replacements in a text."""
    return [match.span() for match in _OURS.finditer(text)]


class Replacements:
    """The replacements in a question and its options."""

    def __init__(self, text: str, spans: Sequence[Span]) -> None:
        self._text = text
        self._replacements: dict[tuple[str, str], str] = {}
        self._people = _people(text, [span for span in spans if span.type == "PERSON"])
        self._used = {match.group() for match in _OURS.finditer(text)}

    def of(self, span: Span) -> str:
        """Return the replacement of a span, without its article if the text already has one."""
        name = self._text[span.start : span.end]
        replacement = self._named(span.type, self._people.get(name, folded(name)), name)
        if _DETERMINER.search(self._text[max(0, span.start - 8) : span.start]):
            return replacement.removeprefix("a ").removeprefix("an ")
        return replacement

    def _named(self, kind: str, key: str, name: str) -> str:
        if (kind, key) not in self._replacements:
            candidates = _person_names() if kind == "PERSON" else _numbered(_kind_words(kind, name))
            unused = next(candidate for candidate in candidates if candidate not in self._used)
            self._replacements[kind, key] = unused
            self._used.add(unused)
        return self._replacements[kind, key]


def _person_names() -> Iterable[str]:
    yield from (f"Person {letter}" for letter in ascii_uppercase)
    yield from (f"Person {first}{second}" for first in ascii_uppercase for second in ascii_uppercase)


def _numbered(words: str) -> Iterable[str]:
    yield words
    plain = words.removeprefix("a ").removeprefix("an ")
    number = 2
    while True:
        yield f"{plain} {number}"
        number += 1


def _kind_words(kind: str, name: str) -> str:
    if kind == "PLACE":
        return _place_words(name)
    if kind == "AGE" and name.isdigit():
        return _age_words(int(name))
    if kind in {"DATE_OF_BIRTH", "DATE"} and (year := regex.search(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)", name)):
        return f"a date in the {year.group()[:3]}0s"
    return _WORDS[kind]


def _place_words(name: str) -> str:
    """Generalise a place by one level: a city to its country, a country to its part of the world."""
    parts = [folded(part).removeprefix("the ") for part in regex.split(r"[,\n\d]+", name) if part.strip()]
    country = next((part for part in parts if part in countries()), "")
    if country:
        return f"a {'city' if len(parts) > 1 else 'country'} in {countries()[country]}"
    city = next((part for part in parts if part in cities()), "")
    return f"a city in {cities()[city]}" if city else "a place"


def _age_words(age: int) -> str:
    if age < 10:  # noqa: PLR2004 - a decade
        return "under 10"
    return f"over {OLDEST}" if age > OLDEST else f"{age // 10}0 to {age // 10}9"


def _people(text: str, spans: Sequence[Span]) -> dict[str, str]:
    """Return for each name the longest name of the same person: "Ali Khan" for "Khan"."""
    names = sorted({text[span.start : span.end] for span in spans}, key=lambda name: (-len(name.split()), name))
    longest: dict[str, str] = {}
    for name in names:
        parts = set(folded(name).split())
        longest[name] = next((other for other in longest.values() if parts <= set(other.split())), folded(name))
    return longest
