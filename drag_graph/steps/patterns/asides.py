"""Parentheses: births, dates, other names and short forms that stand beside a name."""

from dataclasses import dataclass

from drag_graph.steps.patterns import words as w
from drag_graph.steps.patterns.text import Token

MAX_ASIDE = 25
MAX_NAME = 8
MAX_BEFORE_NAMING = 2
DIGITS = 4
Reading = tuple[list[Token], list[Token], list[Token], str]
_DASHES = frozenset({"-", "–", "—"})  # noqa: RUF001
_CLOSING = {"(": ")", "[": "]"}


def _word(text: str, mark: str) -> Token:
    return Token(text, text.lower(), tag=mark)


def _phrase(text: str) -> list[Token]:
    return [_word(part, "n") for part in text.split()]


@dataclass(slots=True)
class Aside:
    """The words of a parenthesis and the place in the remaining tokens where it stood."""

    place: int
    inner: list[Token]

    def _name(self, tokens: list[Token]) -> list[Token]:
        """Return the noun phrase right before the parenthesis."""
        start = self.place
        while start > 0 and self.place - start < MAX_NAME:
            token = tokens[start - 1]
            if token.tag not in {"n", "#", "J"} and token.low not in {"of", "the", "and"}:
                break
            if token.low == "and" and not (start > 1 and tokens[start - 2].capital):
                break
            start -= 1
        while start < self.place and tokens[start].low in {"of", "and"}:
            start += 1
        return tokens[start : self.place]

    def triples(self, tokens: list[Token]) -> list[Reading]:  # noqa: C901, PLR0911  a list of cases, one return each
        """Return the triples that the parenthesis states of the noun phrase before it."""
        name = self._name(tokens)
        inner = self.inner
        if name and tokens[: self.place][-len(name) - 1 :][0].low == "," and _of_person(inner):
            # "Ann Lee, MBE (born 1950)": the name stands before the comma.
            first = next(i for i, token in enumerate(tokens) if token.low == ",")
            name = tokens[:first] if first <= MAX_NAME else name
        if not name or not inner:
            return []
        lows = [token.low for token in inner]
        if "born" in lows[:2] or lows[0] in {"b", "b."}:
            return self._life(name, inner[1 + lows.index("born") if "born" in lows else 1 :])
        dash = next((i for i, low in enumerate(lows) if low in _DASHES), -1)
        if dash > 0 and _dated(inner[:dash]) and _yearly(inner[:dash]) and name[0].capital:
            life = [(name, _phrase("was from"), inner[:dash], "life_dates")]
            if _dated(inner[dash + 1 :]) and _yearly(inner[dash + 1 :]):
                life.append((name, _phrase("was until"), inner[dash + 1 :], "life_dates"))
            return life
        known = [low for low in lows if low in {"known", "called", "abbreviated", "aka", "a.k.a."}]
        if known and lows.index(known[0]) <= MAX_BEFORE_NAMING:
            start = lows.index(known[0]) + 1
            start += lows[start : start + 1] == ["as"]
            return [(name, _phrase("is also known as"), inner[start:], "alias")]
        if lows[0] == "or" and len(inner) > 1:
            return [(name, _phrase("is also known as"), inner[1:], "alias")]
        long_form = _long_form(name, inner)
        if long_form:
            return [(long_form, _phrase("is also known as"), inner, "alias")]
        if _dated(inner) and _yearly(inner):
            return [(name, _phrase("dated"), inner, "life_dates")]
        if lows[0] in {"formerly", "originally", "abbreviation", "now"}:
            return [(name, inner[:1], inner[1:], "alias")]
        return [(name, _phrase("noted with"), inner, "parenthesis")]

    def _life(self, name: list[Token], inner: list[Token]) -> list[Reading]:
        """Read "born [on] DATE [in PLACE]" and "born in PLACE"."""
        cut = next((i for i, t in enumerate(inner) if t.low in {"in", "at"} and i), len(inner))
        found = []
        for part in (inner[:cut], inner[cut:]):
            words = part[1:] if part and part[0].low in {"in", "at", "on", ","} else part
            link = "was born on" if _dated(words) and len(words) > 1 else "was born in"
            if words:
                found.append((name, _phrase(link), words, "born"))
        return found


def _of_person(inner: list[Token]) -> bool:
    return bool(inner) and (inner[0].low in {"born", "b", "b."} or any(t.low in _DASHES for t in inner))


def _long_form(name: list[Token], inner: list[Token]) -> list[Token]:
    """Return the end of a name whose initials are the letters in the parenthesis, if there is one."""
    if len(inner) != 1 or not inner[0].text.isupper():
        return []
    for start in range(len(name) - 1, -1, -1):
        tail = name[start:]
        letters = "".join(token.text[0] for token in tail if token.capital)
        if tail[0].capital and letters.startswith(inner[0].text):
            return tail
    return []


def _yearly(tokens: list[Token]) -> bool:
    """Whether one of the numbers can be a year: four digits."""
    return any(len(part) == DIGITS and part.isdigit() for token in tokens for part in token.text.split())


def _dated(tokens: list[Token]) -> bool:
    return any(letter.isdigit() for t in tokens for letter in t.text) and all(
        t.text[:1].isdigit() or t.low.split()[0] in w.MONTHS or t.low in {",", "c.", "bc", "ad", "c"} for t in tokens
    )


def take_asides(tokens: list[Token]) -> tuple[list[Token], list[Aside]]:
    """Return the tokens without their short parentheses, and those with their places.

    A parenthesis that is never closed, or is longer than MAX_ASIDE tokens, is left as it is, its
    marks dropped.
    """
    kept: list[Token] = []
    asides: list[Aside] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        closing = _CLOSING.get(token.low)
        if closing is None:
            if token.low not in {")", "]"}:
                kept.append(token)
            index += 1
            continue
        limit = min(len(tokens), index + MAX_ASIDE + 2)
        close = next((i for i in range(index + 1, limit) if tokens[i].low == closing), -1)
        if close < 0:
            index += 1
            continue
        inner = [t for t in tokens[index + 1 : close] if t.low not in {"(", "[", "]", ")"}]
        asides.append(Aside(len(kept), inner))
        index = close + 1
    return kept, asides
