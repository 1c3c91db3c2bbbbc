"""A small part-of-speech guesser: closed classes, verb forms, and what stands left and right.

Tags: D determiner, O pronoun, P preposition, T "to", C conjunction, S subordinator, R relative,
X finite be/have/do, Z non-finite be/have, M modal, N negation, A adverb, J adjective, F finite
verb, B base form after "to" or a modal, G gerund, E participle, n nominal, # number, and each
mark as itself.
"""

# A tagger is a list of cases: one return a case is the clearest way to write it.
# ruff: noqa: PLR0911

from drag_graph.distill.patterns import words as w
from drag_graph.distill.patterns.context import adjective
from drag_graph.distill.patterns.text import Token
from drag_graph.distill.patterns.verb_tagging import DO_FORMS, VerbTagger
from drag_graph.distill.patterns.verbs import forms

MIN_ADVERB = 5
_TWO_WORDS = frozenset({("because", "of"), ("due", "to"), ("prior", "to"), ("owing", "to"), ("according", "to")})
_CLOSED = {
    "M": w.NEGATED_AUXILIARIES,
    "X": w.FINITE_BE | w.HAVE | w.DO,
    "Z": w.BE,
    "N": w.NEGATIONS,
    "R": w.RELATIVES,
    "C": w.CONJUNCTIONS,
    "S": w.SUBORDINATORS,
    "O": w.PRONOUNS,
    "D": w.DETERMINERS | {"her", "his"},
    "P": w.PREPOSITIONS,
}
"""The words of each tag. A word with several tags gets the first."""
MARKS = frozenset({",", ";", ":", "(", ")", "[", "]", "?", "-", "–", "—"})  # noqa: RUF001


def _closed(tokens: list[Token], index: int) -> str:
    """Return the tag of a closed-class word, number or mark, or "" for an open-class word."""
    token = tokens[index]
    low = token.low
    following = tokens[index + 1].low if index + 1 < len(tokens) else ""
    previous = tokens[index - 1] if index else None
    if low in MARKS:
        return low
    inside = token.capital and previous is not None and low not in w.ARTICLES
    # A capital inside a sentence is part of a name; "I" is one after another capital only.
    if inside and previous is not None and (low != "i" or previous.capital):
        return "n"
    if low == "to":
        return "T"
    if low in w.MODALS:
        # "may" the month and "can", "will" the nouns follow a determiner or carry a capital.
        noun = previous is not None and previous.low in w.ARTICLES | w.POSSESSIVES
        return "n" if noun else "M"
    if low in {"have", "do"} and _after_helper(tokens, index):
        return "B"
    if (low, following) in _TWO_WORDS:
        return "P"
    if low == "so" and following == "that":
        return "S"
    if low == "once" and previous is not None and previous.tag != ",":
        return "A"
    mark = next((mark for mark, words in _CLOSED.items() if low in words), "")
    return mark or ("#" if low[:1].isdigit() else "")


def _after_helper(tokens: list[Token], index: int) -> bool:
    """Whether "to", a modal verb or "do" stands left, negation and adverbs apart."""
    index -= 1
    while index >= 0 and tokens[index].tag in {"A", "N"}:
        index -= 1
    return index >= 0 and (tokens[index].tag in {"T", "M"} or tokens[index].low in DO_FORMS)


def _adverb(low: str) -> bool:
    return low in w.ADVERBS or (low.endswith("ly") and len(low) >= MIN_ADVERB and low not in w.NOT_ADVERBS)


def _open_class(low: str) -> str:
    if _adverb(low):
        return "A"
    return "J" if adjective(low) else "n"


class _Tagger(VerbTagger):
    """Tags one sentence in place, left to right, with one look ahead for finite verbs."""

    def run(self) -> None:
        for index, token in enumerate(self.tokens):
            if token.tag:
                continue
            token.tag = _closed(self.tokens, index)
            if token.tag:
                continue
            if index == 0 or not token.capital:
                self.verbs[index] = forms(token.low)
            if self.verbs[index] is None:
                token.tag = _open_class(token.low)
        self.look_ahead()
        for index, token in enumerate(self.tokens):
            if not token.tag:
                token.tag = self.verb_tag(index)
            elif token.tag == "R" and token.low == "that":
                token.tag = self.that_tag(index)


def tag(tokens: list[Token]) -> list[Token]:
    """Tag one sentence in place and return it.

    Args:
        tokens: at most text.MAX_TOKENS tokens; those tagged already keep their tag.
    """
    _Tagger(tokens).run()
    return tokens
