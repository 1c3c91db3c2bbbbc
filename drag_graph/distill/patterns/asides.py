"""Parentheses after a name."""

from drag_graph.distill.patterns.text import Token

MAX_ASIDE = 25
MAX_NAME = 8
Aside = tuple[int, list[Token]]
"""The position of a removed parenthesis among the remaining tokens, and its tokens."""
_CLOSING = {"(": ")", "[": "]"}


def name_before(tokens: list[Token], place: int) -> list[Token]:
    """Return the noun phrase right before a position."""
    start = place
    while start > 0 and place - start < MAX_NAME:
        token = tokens[start - 1]
        if token.tag not in {"n", "#", "J"} and token.low not in {"of", "the", "and"}:
            break
        start -= 1
    while start < place and tokens[start].low in {"of", "and"}:
        start += 1
    return tokens[start:place]


def take_asides(tokens: list[Token]) -> tuple[list[Token], list[Aside]]:
    """Return the tokens without their short parentheses, and those with their places.

    A parenthesis that is never closed, or is longer than MAX_ASIDE tokens, is left as it is, its marks dropped.
    """
    remaining: list[Token] = []
    asides: list[Aside] = []
    index = 0
    while index < len(tokens):
        closing = _CLOSING.get(tokens[index].low)
        end = min(len(tokens), index + MAX_ASIDE + 2)
        close = next((i for i in range(index + 1, end) if tokens[i].low == closing), 0) if closing else 0
        if close:
            asides.append((len(remaining), _unmarked(tokens[index + 1 : close])))
        else:
            remaining += _unmarked(tokens[index : index + 1])
        index = max(index, close) + 1
    return remaining, asides


def _unmarked(tokens: list[Token]) -> list[Token]:
    return [token for token in tokens if token.low not in {"(", "[", "]", ")"}]
