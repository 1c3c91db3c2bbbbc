"""Statements that say the same but for a number, a date or an amount.

Two sentences conflict if one of their values differs and nothing else does: not the subject, the unit, the month or a second
value. In other words they conflict only about a property of one named thing, such as its budget. Numbers that name a thing
("phase 2", "NL-4000") are words.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

from drag_graph.graph.inflection import noun
from drag_graph.graph.name_forms import ARTICLES, PREPOSITIONS, REMEMBERED, fold
from drag_graph.graph.word_lists import word_list, word_table
from drag_graph.graph.written_dates import YEAR, written_dates

_MIN_SHARED = 3
_MIN_WITH_NAME = 2
_OVERLAP = 0.8
_NUMBERS = word_table("number_words")
_COUNTS = frozenset(("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"))
_SCALES = {word: 10.0 ** int(zeros) for word, zeros in word_table("scales").items()}
_UNITS = word_table("units")
_LABELS = word_list("labels")
_ATTRIBUTES = word_list("attributes")
_DATED = word_list("dated")
_BOUNDS = word_list("negations") | word_list("bounds")
_EMPTY = (ARTICLES | PREPOSITIONS | word_list("function_words") | word_list("fillers")) - _BOUNDS
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_TOKEN = re.compile(r"\d++(?:[.,]\d++)*+(?![^\W\d_])|[^\W\d_]*\d[\w-]*|[^\W\d_]+(?:['-][^\W_]+)*|[\u20ac$\u00a3%]")
_ATTACHED = re.compile(rf"(?<=\d)(?=(?:{'|'.join(filter(str.isalpha, (*_SCALES, *_UNITS)))})\b)", re.IGNORECASE)
_ASIDE = re.compile(r",\s+(?:because|which|who|as|since|so|but|weil|da|denn|aber)\b[^.!?;]*", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?!(?:It|This|That|They|Es|Er|Sie)\b)|\n\n+|\n(?=[-*] )")
_STAMP = re.compile(
    rf"^\W*(?:(?:time|date|datum|sent)\W{{1,3}})?{YEAR}[-./]?\d\d[-./]?\d\d[T_,\s]*(?:\d{{1,2}}:\d\d(?::\d\d)?)?[\])]*",
    re.IGNORECASE | re.MULTILINE,
)
_THOUSANDS = re.compile(r"\d{1,3}(?:[.,]\d{3})+")


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """What a text says apart from its values, and its values, each with its kind: a unit, "date" or ""."""

    words: frozenset[str]
    names: frozenset[str]
    kinds: tuple[str, ...]
    values: tuple[str | float, ...]
    attributes: frozenset[str] = frozenset()

    @property
    def amount(self) -> "ParsedSentence":
        """This sentence with its number alone if it has one number and a date."""
        numbers = [(kind, value) for kind, value in zip(self.kinds, self.values, strict=True) if kind != "date"]
        if len(numbers) != 1 or len(self.kinds) > 2:  # noqa: PLR2004
            return self
        return replace(self, kinds=(numbers[0][0],), values=(numbers[0][1],))

    def difference(self, other: "ParsedSentence", *, dates: bool = True) -> str:
        """Return in words which value differs; "" if none or several do, or a date without `dates`, or the kinds differ."""
        if self.kinds != other.kinds:
            return ""
        pairs = zip(self.kinds, self.values, other.values, strict=True)
        differing = [(kind, one, two) for kind, one, two in pairs if one != two and not _is_part(one, two)]
        if len(differing) != 1:
            return ""
        kind, one, two = differing[0]
        if kind == "date":
            return f"different dates: {one} and {two}".replace(" -", " ") if dates else ""
        return f"different numbers: {one:,.10g} and {two:,.10g} {kind}".rstrip()


def conflicting(first: str, second: str) -> str:
    """Return why two texts contradict each other in a number, a date or an amount, or "".

    Two of their sentences have to share three words of content, or two with a name among them, and 80 % of those of the longer
    one. That one may add words, but no name, no negation and no "at least". Two sentences about the same property of the same
    names ("the budget of Orchid") may differ in all other words, and one of them may name a time. A sentence that begins with
    "it" continues the one before. Times in front of lines, and dates of minutes and other papers, are no statements.
    """
    reasons = (_conflict(one, two) for one, two in product(_sentences(first), _sentences(second)))
    return next(filter(None, reasons), "")


def conflicting_values(texts: Iterable[str], *, dates: bool = True) -> list[tuple[str, str]]:
    """Return the pairs of phrases that are the same but for one value, such as "4 M euros" and "5 M euros".

    The same words with three values or more are a list or a series: none of them are returned. Without `dates`, phrases that
    differ by a date are left out.
    """
    groups: dict[tuple[frozenset[str], tuple[str, ...]], dict[tuple[str | float, ...], list[str]]] = {}
    for text in texts:
        item = _parsed(text, is_phrase=True)
        if item.values:
            groups.setdefault((item.words, item.kinds), {}).setdefault(item.values, []).append(text)
    pairs: list[tuple[str, str]] = []
    for by_value in groups.values():
        first, *others = by_value.values()
        if len(others) != 1:
            continue
        one, two = (_parsed(phrases[0], is_phrase=True) for phrases in (first, others[0]))
        if one.difference(two, dates=dates):
            pairs += product(first, others[0])
    return pairs


def _conflict(one: ParsedSentence, two: ParsedSentence) -> str:
    shared, added, names = one.words & two.words, one.words ^ two.words, one.names | two.names
    is_named = any(len(word) > 1 for word in shared & names)  # "C" is a unit of temperature
    if one.attributes and one.attributes == two.attributes and is_named and not added & (_BOUNDS | names):
        if "date" not in one.kinds or "date" not in two.kinds:
            one, two = one.amount, two.amount
        if len(one.values) == 1 and (reason := one.difference(two)):
            return reason
    reason = one.difference(two, dates=not one.words & _DATED)
    if not reason:
        return ""
    is_one_sided = one.words <= two.words or two.words <= one.words
    least = _MIN_WITH_NAME if shared & names else _MIN_SHARED
    is_same = len(shared) >= max(least, _OVERLAP * max(len(one.words), len(two.words)))
    return reason if is_same and is_one_sided and not added & (_BOUNDS | names) else ""


def _is_part(one: str | float, two: str | float) -> bool:
    """Whether one of two dates is less precise than the other and may be the same."""
    return isinstance(one, str) and isinstance(two, str) and (one in two or two in one)


@lru_cache(REMEMBERED)
def _sentences(text: str) -> tuple[ParsedSentence, ...]:
    parsed = (_parsed(_ASIDE.sub("", sentence)) for sentence in _SENTENCE_END.split(_STAMP.sub("", text)))
    return tuple(item for item in parsed if item.values)


@lru_cache(REMEMBERED)
def _parsed(text: str, *, is_phrase: bool = False) -> ParsedSentence:
    """Return a sentence, or the end of a triple (`is_phrase`), in which no verb stands before a number."""
    months = (item for item in written_dates(text, loose=True) if item.month)
    years = (item for item in written_dates(text, loose=is_phrase and len(text.split()) == 1) if not item.month)
    values: list[tuple[int, str, str | float]] = []
    for item in (*months, *years):
        values.append((item.start, "date", item.iso or f"-{item.month:02}" + (f"-{item.day:02}" if item.day else "")))
        text = text[: item.start] + " " * (item.end - item.start) + text[item.end :]
    tokens = _TOKEN.findall(_ATTACHED.sub(" ", text.replace("\u2019", "'").replace("'s ", " ")))
    words, names, attributes, taken = set[str](), set[str](), set[str](), -1
    for place, token in enumerate(tokens):
        if amount := _amount(tokens, place, is_phrase=is_phrase):
            value, kind, taken = amount
            values.append((len(text) + place, kind, value))
        elif place > taken and token[0].isalnum() and (word := noun(fold(token))) not in _EMPTY:
            words.add(word)
            names.update([word] if token[0].isupper() and place and word not in _ATTRIBUTES else [])
            attributes.update([f"{_modifier(tokens, place)} {word}"] if word in _ATTRIBUTES else [])
    values.sort(key=lambda value: value[0])
    kinds, numbers = tuple(kind for _, kind, _ in values), tuple(value for *_, value in values)
    return ParsedSentence(frozenset(words), frozenset(names), kinds, numbers, frozenset(attributes))


def _modifier(tokens: list[str], place: int) -> str:
    """Return the word that says which one is meant ("travel budget"); "" for an article or a name."""
    before = tokens[place - 1] if place else ""
    return "" if before[:1].isupper() or noun(fold(before)) in _EMPTY else noun(fold(before))


def _amount(tokens: list[str], place: int, *, is_phrase: bool) -> tuple[float, str, int] | None:
    """Return the value and the unit of a number, and the place of the last word that belongs to it; None for other words."""
    token = fold(tokens[place])
    if token not in _COUNTS and not _NUMBER.fullmatch(token):
        return None
    before, _, after, following = ["", *tokens, "", ""][place : place + 4]
    scale = 1.0 if after == "m" else _SCALES.get(fold(after), 1.0)  # "4 M" is a number, "4 m" a length
    end = place + (scale != 1.0)
    unit = _unit(following if scale != 1.0 else after)
    end, unit = (end + 1, unit) if unit else (end, _unit(before))
    earlier = fold(before)
    names_thing = (
        (before[:1].isupper() and place > 1)
        or after[:1].isupper()  # "1996 Summer Olympics"
        or (is_phrase and before and earlier not in _EMPTY | _BOUNDS)
    )
    if noun(earlier) in _LABELS or (names_thing and scale == 1.0 and not unit):
        return None
    return parsed_number(_NUMBERS.get(token, token)) * scale, unit, end


def _unit(word: str) -> str:
    return _UNITS.get(fold(word)) or _UNITS.get(noun(fold(word)), "")


def parsed_number(text: str) -> float:
    """Return a number as written: a comma or a point before three digits separates thousands."""
    if _THOUSANDS.fullmatch(text):
        return float(re.sub("[.,]", "", text))
    whole, *fraction = re.split("[.,]", text)
    return float(f"{whole}.{''.join(fraction)}")
