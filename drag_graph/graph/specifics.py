"""The numbers, dates, times, names and identifiers in a text, and which of them other texts lack.

Numbers compare by value ("two" is 2, "1,000" is 1000), times in 24 hours, dates as far as both are known, names by their words.
A name is a capitalised word; the first word of a sentence counts only before another one or with a possessive. Names are found
in English only: in German every noun would be one.
"""

import re
from collections.abc import Iterable
from functools import cached_property

from drag_graph.graph.grounding import Grounds
from drag_graph.graph.name_forms import PREPOSITIONS, fold, tokens
from drag_graph.graph.word_lists import word_list, word_table
from drag_graph.graph.written_dates import MONTHS, WrittenDate, written_dates

_NUMBER_WORDS = word_table("number_words")
_VAGUE = frozenset(("one", "once", "first", "second", "half"))
_TIME = re.compile(
    r"(?<![\d:.])(?:(?P<hour>\d{1,2})(?:[:.](?P<minute>[0-5]\d))?\s?(?P<half>[ap])\.?m\b|(?P<hour24>[01]?\d|2[0-3]):(?P<minute24>[0-5]\d)(?!\d))",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_][\w'\u2019-]*")
_OPENS_SENTENCE = re.compile(r"(?:^|[.!?:;\u201c\"(\[]\s*|[\n*\u2022-]\s+)$")
_ENGLISH = word_list("articles") | PREPOSITIONS | word_list("function_words")
NO_NAMES = _ENGLISH | word_list("fillers") | word_list("pronouns") | frozenset(MONTHS) | word_list("replies")
_IDENTIFIER = re.compile(r"(?<![\w-])([A-Za-z]+)([-_/ ]?)(\d[\w-]*)", re.ASCII)
_LABELS = word_list("labels")
_WORDS_OF_A_LANGUAGE = 6
_NOON = 12


class Specifics:
    """The numbers, dates, times and names in a text."""

    def __init__(self, text: str) -> None:
        dates = [date for date in written_dates(text, loose=True) if date.month or date.year]
        self.dates = {text[date.start : date.end].strip(): date for date in dates}
        rest = _without(text, ((date.start, date.end) for date in dates))
        times = list(_TIME.finditer(rest))
        self.times = {match.group(): _time(match) for match in times}
        self._rest = _without(rest, (match.span() for match in times))

    @cached_property
    def numbers(self) -> dict[str, float]:
        """The value of each number by its text."""
        found = {token: _value(token) for token in tokens(self._rest)}
        return {token: value for token, value in found.items() if value is not None}

    @cached_property
    def names(self) -> list[str]:
        """The capitalised words that are names."""
        words = list(_WORD.finditer(self._rest))
        folded = [fold(match.group()) for match in words]
        if len(words) >= _WORDS_OF_A_LANGUAGE and not _ENGLISH.intersection(folded):
            return []
        names = list[str]()
        for place, match in enumerate(words):
            word = match.group()
            if not word[0].isupper() or folded[place].partition("'")[0] in NO_NAMES:
                continue
            if _OPENS_SENTENCE.search(self._rest[: match.start()]):
                follower = words[place + 1].group() if place + 1 < len(words) else ""
                if not (word.endswith(("'s", "\u2019s")) or (follower[:1].isupper() and follower != "I") or word.isupper()):
                    continue
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

    def absent_from(self, texts: Iterable[str]) -> list[str]:
        """Return what none of the texts has."""
        joined = "\n".join(texts)
        others, grounds = Specifics(joined), Grounds(joined)
        numbers, times = set(others.numbers.values()), set(others.times.values())
        absent = [text for text, date in self.dates.items() if not any(_is_same(date, one) for one in others.dates.values())]
        absent += [text for text, time in self.times.items() if time not in times]
        absent += [text for text, value in self.numbers.items() if value not in numbers]
        return absent + [name for name in dict.fromkeys(self.names) if grounds.share(name) < 1.0]


def _without(text: str, places: Iterable[tuple[int, int]]) -> str:
    for start, end in places:
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return text


def _time(match: re.Match[str]) -> tuple[int, int]:
    """Return hour and minute."""
    if match["hour24"]:
        return int(match["hour24"]), int(match["minute24"])
    hour = int(match["hour"]) % _NOON + (_NOON if match["half"].lower() == "p" else 0)
    return hour, int(match["minute"] or 0)


def _value(token: str) -> float | None:
    if token[0].isdigit():
        plain = token.replace(",", "")
        return float(plain) if plain.count(".") <= 1 else None
    word = fold(token)
    return None if word in _VAGUE or word not in _NUMBER_WORDS else float(_NUMBER_WORDS[word])


def _is_same(one: WrittenDate, two: WrittenDate) -> bool:
    """Whether two dates agree in every part that both have, and share one."""
    pairs = [(one.year, two.year), (one.month, two.month), (one.day, two.day)]
    known = [(first, second) for first, second in pairs if first and second]
    return bool(known) and all(first == second for first, second in known)
