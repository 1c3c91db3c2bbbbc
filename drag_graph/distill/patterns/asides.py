"""Parentheses after a name."""

from dataclasses import dataclass

from drag_graph.distill.patterns.text import Token

MAX_ASIDE = 25
MAX_NAME = 8
Reading = tuple[list[Token], list[Token], list[Token]]
_CLOSING = {"(": ")", "[": "]"}


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

    def triple(self, tokens: list[Token]) -> Reading:
        """Return the statement of the parenthesis about the noun phrase before it, if any."""
        return self._name(tokens), [Token("noted", "noted", tag="n"), Token("with", "with", tag="n")], self.inner


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
