"""Dates in texts, as ISO dates of a day, a month or a year: "2025-03-02", "2025-03", "2025".

English and German names of months, dates in numbers, Chinese, Japanese and Korean. Regular expressions only. Relative words
such as "yesterday" are no dates.
"""

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass

from drag_graph.graph.word_lists import word_table

YEAR = r"(?:19|20)\d\d"
MONTHS = {word: int(number) for word, number in word_table("months").items()}
"""The number of each month by its names, in lower case."""
MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_DAY = r"[0-3]?\d"
_NUMERIC = rf"""
    (?<![\w.])(?<!\d[-/,])(?:
    (?P<year1>{YEAR})(?P<sep1>[-/.])(?P<month1>[01]?\d)(?P=sep1)(?P<day1>{_DAY})(?=T\d|(?![^\W_]|[/-]|\.\d))
    | (?P<year2>{YEAR})-(?P<month2>0[1-9]|1[0-2])(?![\w/-]|\.\d)
    | (?P<year3>20\d\d)(?P<month3>0[1-9]|1[0-2])(?P<day3>0[1-9]|[12]\d|3[01])(?!\d)
    | (?P<first>{_DAY})(?P<sep2>[./-])\ ?(?P<second>{_DAY})(?P=sep2)\ ?(?P<year4>{YEAR})(?!\d|\.\d))
    | (?<!\d)(?P<year5>{YEAR})\s?[年년]\s?(?:(?P<month5>[01]?\d)\s?[月월]\s?(?:(?P<day5>{_DAY})\s?[日号號일])?)?
"""
_DAY_BEFORE = rf"(?<![\w.])(?P<day6>{_DAY})(?:st|nd|rd|th|\.)?[ -](?:of\ )?"
_DAY_AFTER = rf"\ (?P<day7>{_DAY})(?:st|nd|rd|th)?(?![\w]|[.,]\d)"
_NAMED = rf"(?:{_DAY_BEFORE})?\b(?P<name>{MONTH})\b\.?(?:{_DAY_AFTER})?,?(?:[ -](?:of\ )?(?P<year6>{YEAR})(?![\w/]|[.,]\d))"
_IN_YEAR = rf"""
    (?:\b(?:in|since|during|before|after|until|by|year|seit|vor|nach|bis|ab|jahr|jahres|fy)\ |[(\[])
    (?P<year7>{YEAR})(?!\w|[.,]\d|-\d|\s?[€$£%]|\ (?:euros?|dollars?|pounds?|people|times|pieces)\b)
"""
_FLAGS = re.IGNORECASE | re.VERBOSE
_DATE = re.compile(f"{_NUMERIC}|{_NAMED}|{_IN_YEAR}", _FLAGS)
_LOOSE = re.compile(rf"{_NUMERIC}|{_NAMED}?|(?<![\w.,-])(?P<year7>{YEAR})(?![\w%]|[.,]\d|-\d)", _FLAGS)
_HINT = re.compile(YEAR)
_LAST_MONTH = 12


@dataclass(frozen=True, slots=True)
class WrittenDate:
    """A date as the characters from `start` up to `end` of a text. `year` is 0 if the text names only a month."""

    start: int
    end: int
    year: int
    month: int = 0
    day: int = 0

    @property
    def iso(self) -> str:
        """The date as far as it is known; "" without a year."""
        parts = (f"{self.year:04}", f"{self.month:02}", f"{self.day:02}")
        return "-".join(parts[: 3 if self.day and self.month else 2 if self.month else 1]) if self.year else ""


def dates_in(text: str, *, day_first: bool | None = None) -> list[str]:
    """Return the dates that a text names, in its order and without repetitions.

    A year alone counts after a word such as "in", or in brackets. `day_first` says what 03/04/2025 means; None, the default:
    only the year is used. 03.04.2025 is a day in April.
    """
    return list(dict.fromkeys(date.iso for date in written_dates(text, day_first=day_first)))


def written_dates(text: str, *, day_first: bool | None = None, loose: bool = False) -> Iterator[WrittenDate]:
    """Yield the dates in a text. With `loose`, a month without a year and any number that can be a year count, too."""
    if not loose and not _HINT.search(text):
        return
    for match in (_LOOSE if loose else _DATE).finditer(text):
        if match["name"] and not match["year6"] and match["name"][0].islower() and not (match["day6"] or match["day7"]):
            continue  # "may", "mar": words, unless they begin with a capital letter or stand next to a day
        date = _date_of(match, day_first=day_first)
        if date is not None:
            yield date


def _date_of(match: re.Match[str], *, day_first: bool | None) -> WrittenDate | None:
    parts = match.groupdict()
    year, month, day = (
        next((int(value) for n in range(1, 8) if (value := parts.get(f"{part}{n}"))), 0) for part in ("year", "month", "day")
    )
    if parts["name"]:
        month = MONTHS[parts["name"].lower()]
    elif parts["first"]:
        is_day_first = True if parts["sep2"] == "." else day_first
        month, day = _ordered(int(parts["first"]), int(parts["second"]), day_first=is_day_first)
    if month > _LAST_MONTH or (parts["month1"] and not month):
        return None
    if year and month and day > monthrange(year, month)[1]:
        day = 0
    return WrittenDate(match.start(), match.end(), year, month, day if month else 0)


def _ordered(first: int, second: int, *, day_first: bool | None) -> tuple[int, int]:
    """Return month and day of two numbers in this order; zeros if it is unknown which is which."""
    if first == second or first > _LAST_MONTH or (day_first and second <= _LAST_MONTH):
        return second, first
    if second > _LAST_MONTH or day_first is False:
        return first, second
    return 0, 0
