"""The numbers, dates, times, names and identifiers in a text, and which of them other texts lack.

Numbers compare by value ("two" is 2, "1.5 million" is 1500000), times in 24 hours, dates as far as both are known, names by
their words. A name is a capitalised word; at the start of a sentence only before another one, before a verb or with a
possessive. Names are found in English only: in German every noun would be one.
"""

import re
from calendar import day_name
from collections.abc import Iterable, Iterator
from datetime import date
from functools import cached_property

from drag_graph.graph.grounding import Grounds
from drag_graph.graph.inflection import noun
from drag_graph.graph.name_forms import PREPOSITIONS, fold, tokens
from drag_graph.graph.number_conflicts import parsed_number
from drag_graph.graph.word_lists import word_list, word_table
from drag_graph.graph.written_dates import MONTHS, WrittenDate, written_dates

_NUMBER_WORDS = {word: float(value) for word, value in word_table("number_words").items()}
_TENS = {word: float(value) for word, value in word_table("tens").items()}
_SCALES = {"hundred": 100.0, "thousand": 1e3, "million": 1e6, "billion": 1e9, "dozen": 12.0}
_DIGITS = frozenset(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine"))
_VAGUE = frozenset(("one", "once", "first", "second", "half"))
_TIME = re.compile(
    r"(?<![\d:.])(?:(?P<hour>\d{1,2})(?:[:.](?P<minute>[0-5]\d))?\s?(?P<half>[ap])\.?m\b|(?P<hour24>[01]?\d|2[0-3]):(?P<minute24>[0-5]\d)(?!\d))",
    re.IGNORECASE,
)
_NAME_OF_TWO = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"(?:[^\W\d_]\.){2,}|[^\W\d_][\w'\u2019-]*")
_IDENTIFIER = re.compile(r"(?<![\w-])([A-Za-z]+)([-_/ ]?)(\d[\w-]*)", re.ASCII)
_LABELS = word_list("labels")
_OPENS_SENTENCE = re.compile(r"(?:^|[.!?;\u201c\"(\[]\s*|[\n*\u2022-]\s+)$")
_VERB = re.compile(
    r"(?:is|was|has|had|will|would|did|does|said|told|went|left|came|met|sent|took|gave|got|[a-z]{2,}(?:ed|[^s]s))$"
)
_NOUN = re.compile(r"(?:[^s]s|ss|ing|[ts]ion|ment|ness|ity|ence|ance|ship|hood|ism|logy|apy|ery)$", re.IGNORECASE)
_ENGLISH = word_list("articles") | PREPOSITIONS | word_list("function_words") | word_list("pronouns")
_FOREIGN, _SHARED = word_list("foreign"), word_list("shared")
NO_NAMES = _ENGLISH | word_list("fillers") | frozenset(MONTHS) | word_list("replies")
_WORDS_OF_A_LANGUAGE = 6
_NOON = 12


class Specifics:
    """The numbers, dates, times and names in a text."""

    def __init__(self, text: str) -> None:
        text = _NAME_OF_TWO.sub(" ", text)
        dates = [found for found in written_dates(text, loose=True) if found.month or found.year]
        self.dates = {text[found.start : found.end].strip(" .,"): found for found in dates}
        rest = _without(text, ((found.start, found.end) for found in dates))
        times = list(_TIME.finditer(rest))
        self.times = {match.group(): _time(match) for match in times}
        self._rest = _without(rest, (match.span() for match in times))

    @cached_property
    def numbers(self) -> dict[str, float]:
        """The value of each number by its text."""
        return {text: value for text, value, _ in self._counts}

    @cached_property
    def _counts(self) -> list[tuple[str, float, list[str]]]:
        """The numbers as text and value, with the words that follow."""
        return list(_numbers(tokens(self._rest)))

    @cached_property
    def names(self) -> list[str]:
        """The capitalised words that are names."""
        words = list(_WORD.finditer(self._rest))
        folded = [fold(match.group()) for match in words]
        english, foreign = (sum(word in of_language for word in folded) for of_language in (_ENGLISH - _SHARED, _FOREIGN))
        if foreign > english or (len(words) >= _WORDS_OF_A_LANGUAGE and not english and "|" not in self._rest):
            return []
        names = list[str]()
        for place, match in enumerate(words):
            word = match.group()
            if not word[0].isupper() or folded[place].partition("'")[0] in NO_NAMES:
                continue
            follower = words[place + 1].group() if place + 1 < len(words) else ""
            if not _OPENS_SENTENCE.search(self._rest[: match.start()]) or _opens_as_name(word, follower):
                names.append(word)
        return names

    @cached_property
    def identifiers(self) -> frozenset[tuple[str, str]]:
        """The kind and number of each identifier: "V-1234" is "v" and "1234", "order 7731" is "order" and "7731"."""
        found = (match.groups() for match in _IDENTIFIER.finditer(self._rest))
        return frozenset((fold(kind), fold(number)) for kind, gap, number in found if gap != " " or fold(kind) in _LABELS)

    def is_about_other(self, text: str) -> bool:
        """Whether a text has an identifier of the same kind as one of these, and none of these."""
        others = Specifics(text).identifiers if self.identifiers else frozenset()
        return others.isdisjoint(self.identifiers) and not {kind for kind, _ in self.identifiers}.isdisjoint(
            kind for kind, _ in others
        )

    def absent_from(self, texts: Iterable[str], *, partly: bool = False) -> list[str]:
        """Return what none of the texts has. With `partly`, one word of a name of several words is enough."""
        joined = "\n".join(texts)
        others = Specifics(joined)
        days = {float(part) for found in others.dates.values() for part in (found.day, found.year)}
        hours = {float(part) for hour, _ in others.times.values() for part in (hour, hour % _NOON or _NOON)}
        numbers, times = {*others.numbers.values(), *days, *hours}, set(others.times.values())
        absent = [text for text, found in self.dates.items() if not any(_is_same(found, one) for one in others.dates.values())]
        absent += [text for text, time in self.times.items() if time not in times]
        absent += [
            text
            for text, value, after in self._counts
            if value not in numbers
            or ((counted := {one for _, one, words in others._counts if set(after[:1]) & set(words)}) and value not in counted)
        ]
        weekdays = {
            day_name[date(one.year, one.month, one.day).weekday()] for one in others.dates.values() if one.iso and one.day
        }
        grounds = Grounds(f"{joined}\n{_NAME_OF_TWO.sub(' ', joined)}")
        unknown = [name for name in dict.fromkeys(self.names) if name not in weekdays and not grounds.has_name(name)]
        if partly:
            known = "|".join(re.escape(name) for name in self.names if name not in unknown) or "(?!)"
            beside = [(name, re.escape(name)) for name in unknown]
            unknown = [name for name, word in beside if not re.search(rf"(?:{known}) {word}|{word} (?:{known})", self._rest)]
        return absent + unknown


def _without(text: str, places: Iterable[tuple[int, int]]) -> str:
    for start, end in places:
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return text


def _opens_as_name(word: str, follower: str) -> bool:
    """Whether the first word of a sentence is a name, and not a noun without an article."""
    if word.endswith(("'s", "\u2019s")) or word.isupper() or (follower[:1].isupper() and follower != "I"):
        return True
    return _VERB.match(follower) is not None and _NOUN.search(word) is None


def _time(match: re.Match[str]) -> tuple[int, int]:
    """Return hour and minute."""
    if match["hour24"]:
        return int(match["hour24"]), int(match["minute24"])
    hour = int(match["hour"]) % _NOON + (_NOON if match["half"].lower() == "p" else 0)
    return hour, int(match["minute"] or 0)


def _numbers(words: list[str]) -> Iterator[tuple[str, float, list[str]]]:
    """Yield the text and value of each number, digits or words with what multiplies them, and up to three words behind it."""
    place = 0
    while place < len(words):
        start, word = place, fold(words[place])
        place += 1
        value = parsed_number(word) if word[0].isdigit() else _TENS.get(word, _NUMBER_WORDS.get(word))
        if value is None or word in _SCALES:
            continue
        if word.endswith("ty") and place < len(words) and fold(words[place]) in _DIGITS:
            value += _NUMBER_WORDS[fold(words[place])]
            place += 1
        while place < len(words) and fold(words[place]) in _SCALES:
            value *= _SCALES[fold(words[place])]
            place += 1
        if place - start > 1 or word not in _VAGUE:
            yield " ".join(words[start:place]), value, [noun(fold(word)) for word in words[place : place + 3] if word.isalpha()]


def _is_same(one: WrittenDate, two: WrittenDate) -> bool:
    """Whether two dates agree in every part that both have. The second must have all of the first one, except its year."""
    pairs = [(one.month, two.month), (one.day, two.day)]
    years_agree = not one.year or not two.year or one.year == two.year
    return years_agree and all(not first or first == second for first, second in pairs) and bool(one.month or two.year)
