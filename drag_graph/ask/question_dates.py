"""The time that a question asks about, and how well the date of a document or of a line fits it.

English and German words, by regular expressions: this runs for every question. The date of a line itself comes from
`drag_graph.graph.written_dates.dates_in`.
"""

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from drag_graph.graph.written_dates import MONTH, WrittenDate, written_dates

_RELATIONS = {
    "before": "before prior to|before|earlier than|older than|vor",
    "after": "after|later than|newer than|nach",
    "since": "since|starting in|starting|seit|ab",
    "until": "until|till|up to|by|through|bis zum|bis",
    "between": "between|from|zwischen|vom|von",
    "in": "in|on|during|of|for|im|am|der|des|last|this|letzten|letztem|letzter|diesem|diesen",
}
_WORDS = {word: name for name, words in _RELATIONS.items() for word in words.split("|")}
_FILLER = r"(?:(?:the|end|start|beginning|year|month|early|late|mid|of|dem|der|den|ende|anfang|jahr|jahre|monat)[ ])*"
_RELATION = re.compile(rf"\b({'|'.join(sorted(_WORDS, key=len, reverse=True))})\s+{_FILLER}$", re.IGNORECASE)
_LINK = re.compile(rf"^\s*(?:and|to|until|und|bis|[-\u2013])\s*{_FILLER}$", re.IGNORECASE)
_LABEL = re.compile(
    r"(?:\b(?:order|invoice|ticket|number|no\.?|nr\.?|model|version|room|rechnung|nummer)|#)\s*$", re.IGNORECASE
)
_UNIT = re.compile(r"^\s*(?:[€$£%]|(?:euros?|dollars?|pounds?|people|users|times|stück|kg|km|mm?|w|v)\b)", re.IGNORECASE)
_THAT = re.compile(r"\b(last|this|letzte[nmrs]?|diese[nmrs]?) (year|month|jahr(?:es)?|monat(?:s)?)\b", re.IGNORECASE)
_OWNED = r"(?:the|our|my|your|his|her|its|their|whose|\w's)"
_NOT_TIME = r"(?!\s+(?:name|step|page|line|row|word|resort|year|month|week|night|schritt|seite|zeile|jahr|monat|woche))"
_NEWEST = re.compile(
    r"\b(?:newest|latest|most recent(?:ly)?|currently|up[- ]to[- ]date)\b"
    r"|\b(?:neue?ste\w?|jüngste\w?|aktuell\w*|derzeit\w*|zuletzt)\b"
    rf"|\b{_OWNED}\s+(?:last|current)\b{_NOT_TIME}(?!\s+(?:of|in|through|{MONTH})\b)|\bletzte[nmrs]?\b{_NOT_TIME}(?!\s+(?:{MONTH})\b)",
    re.IGNORECASE,
)
_NEAR = 60
"""Number of characters around a date in which the words that belong to it stand."""
_UNKNOWN, _PARTLY = 0.5, 0.75
_DAYS_PER_HALVING = 365.0


@dataclass(frozen=True, slots=True)
class DateWish:
    """The days that a question asks about, from `since` to `until` (ISO, inclusive; "" is open), or the `newest` content."""

    since: str = ""
    until: str = ""
    newest: bool = False


def date_wish(question: str, reference: str = "") -> DateWish | None:
    """Return the time that a question asks about, or None.

    `reference` is the date (ISO) that "last March" and "last year" are before or at, such as that of the newest document.
    Without it, months without a year say nothing.
    """
    since, until = "", ""
    for relation, first, last in _periods(question, reference):
        if relation in {"since", "between", "in"}:
            since = since or first
        elif relation == "after":
            since = since or _shifted(last, 1)
        if relation in {"until", "between", "in"}:
            until = until or last
        elif relation == "before":
            until = until or _shifted(first, -1)
    newest = _NEWEST.search(question) is not None
    return DateWish(since, until, newest) if since or until or newest else None


def fits(when: str, wish: DateWish, reference: str = "") -> float:
    """Return from 0 to 1 how well a date (ISO; a day, a month or a year) fits a wish.

    Inside the wanted time it is 1, partly inside 0.75, outside 0; an unknown date is 0.5. If the newest is wanted, each year
    before `reference`, the newest date there is, halves it.
    """
    if not when:
        return _UNKNOWN
    first, last = span_of(when)
    since, until = wish.since or first, wish.until or last
    if last < since or first > until:
        return 0.0
    result = 1.0 if first >= since and last <= until else _PARTLY
    if wish.newest and reference:
        age = (date.fromisoformat(span_of(reference)[1]) - date.fromisoformat(last)).days
        result *= 0.5 ** (max(age, 0) / _DAYS_PER_HALVING)
    return result


def span_of(when: str) -> tuple[str, str]:
    """Return the first and the last day of a day, a month or a year, in ISO format."""
    year, month, day = (*map(int, when.split("-")), 0, 0)[:3]
    if day:
        return when, when
    last = month or 12
    return f"{year:04}-{month or 1:02}-01", f"{year:04}-{last:02}-{monthrange(year, last)[1]:02}"


def _periods(question: str, reference: str) -> Iterator[tuple[str, str, str]]:
    """Yield each time that a question names: its relation, its first and its last day."""
    newest = span_of(reference)[1] if reference else ""
    for match in _THAT.finditer(question) if newest else ():
        yield "in", *_previous(match, newest)
    dates = [item for item in written_dates(question, loose=True) if _is_time(question, item)]
    skipped = False
    for place, item in enumerate(dates):
        if skipped or not (when := _complete(item, newest)):
            skipped = False
            continue
        before = question[max(dates[place - 1].end if place else 0, item.start - _NEAR) : item.start]
        named = _RELATION.search(before)
        relation = _WORDS[named[1].lower()] if named else "in" if item.year else ""
        first, last = span_of(when)
        if relation == "between":
            relation = "in"
            after = dates[place + 1] if place + 1 < len(dates) else None
            if after and _LINK.search(question[item.end : after.start]) and (end := _complete(after, newest)):
                relation, last, skipped = "between", span_of(end)[1], True
                if not item.year and after.year:
                    first = span_of(_complete(item, last))[0]
        if relation:
            yield relation, first, last


def _is_time(question: str, item: WrittenDate) -> bool:
    before, after = question[max(0, item.start - _NEAR) : item.start], question[item.end : item.end + _NEAR]
    return bool(item.month) or not (_LABEL.search(before) or _UNIT.search(after))


def _complete(item: WrittenDate, newest: str) -> str:
    """Return a date with its year: for a month alone, that of the last such month that began by the day `newest`."""
    if item.year or not newest:
        return item.iso
    year = int(newest[:4])
    started = f"{year:04}-{item.month:02}-{item.day or 1:02}" <= newest
    return WrittenDate(0, 0, year if started else year - 1, item.month, item.day).iso


def _previous(match: re.Match[str], newest: str) -> tuple[str, str]:
    """Return the days of "last year", "this month" and the like."""
    is_last, is_year = match[1][0] in "lL", match[2][0] in "yYjJ"
    when = newest[:4] if is_year else newest[:7]
    return span_of(_shifted(span_of(when)[0], -1)[: len(when)] if is_last else when)


def _shifted(day: str, days: int) -> str:
    return (date.fromisoformat(day) + timedelta(days=days)).isoformat()
