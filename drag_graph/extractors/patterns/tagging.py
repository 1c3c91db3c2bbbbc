"""A small part-of-speech guesser: closed classes, verb forms, and what stands left and right.

Tags: D determiner, O pronoun, P preposition, T "to", C conjunction, S subordinator, R relative,
X finite be/have/do, Z non-finite be/have, M modal, N negation, A adverb, J adjective, F finite
verb, B base form after "to" or a modal, G gerund, E participle, n nominal, # number, and each
mark as itself.
"""

# A tagger is a list of cases: one return a case is the clearest way to write it.
# ruff: noqa: C901, PLR0911, PLR0912

from drag_graph.extractors.patterns import words as w
from drag_graph.extractors.patterns.context import FINITE, NOMINAL, adjective, plural
from drag_graph.extractors.patterns.text import Token
from drag_graph.extractors.patterns.verb_tagging import DO_FORMS, TO_NOUN, VerbTagger
from drag_graph.extractors.patterns.verbs import BASE, PAST, THIRD, forms, listed

# In a text of capitals, a capital says nothing: share of words, and words at least.
SHOUTED = 0.7
MIN_SHOUTED = 3
MIN_ADVERB = 5
_TWO_WORDS = frozenset({("because", "of"), ("due", "to"), ("prior", "to"), ("owing", "to"), ("according", "to")})
MARKS = frozenset({",", ";", ":", "(", ")", "[", "]", "?", "-", "–", "—"})  # noqa: RUF001


def _closed(tokens: list[Token], index: int, *, shouting: bool) -> str:
    """Return the tag of a closed-class word, number or mark; empty where the word is open-class."""
    token = tokens[index]
    low = token.low
    following = tokens[index + 1].low if index + 1 < len(tokens) else ""
    previous = tokens[index - 1] if index else None
    if low in MARKS:
        return low
    inside = token.capital and previous is not None and not shouting and low not in w.ARTICLES
    # A capital inside a sentence is part of a name; "I" is one after another capital only.
    if inside and previous is not None and (low != "i" or previous.capital):
        return "n"
    if token.text == "A" and not shouting and previous is not None and previous.capital:
        return "n"
    if low == "to":
        return "T"
    if low in w.NEGATED_AUXILIARIES:
        return "M" if low[:2] in {"ca", "co", "wo", "sh", "mu", "mi"} else "X"
    if low in w.MODALS:
        # "may" the month and "can", "will" the nouns follow a determiner or carry a capital.
        noun = previous is not None and previous.low in w.ARTICLES | w.POSSESSIVES
        return "n" if noun else "M"
    if low in {"have", "do"} and _after_helper(tokens, index):
        return "B"
    if (low, following) in _TWO_WORDS:
        return "P"
    if (low, following) == ("if", "any"):
        return "A"
    if low in w.FINITE_BE | w.HAVE | w.DO:
        return "X"
    if low in w.BE:
        return "Z"
    if low in w.NEGATIONS or low == "n't":
        return "N"
    if low == "that":
        return "R" if index > 0 else "D"
    if low == "so" and following == "that":
        return "S"
    if low in w.RELATIVES:
        return "R"
    if low in w.CONJUNCTIONS:
        return "C"
    if low == "once" and previous is not None and previous.tag != ",":
        return "A"
    if low in w.SUBORDINATORS | w.CLAUSE_OR_PREPOSITION:
        return "P" if low == "than" else "S"
    if low in w.PRONOUNS:
        return "O"
    if low in {"her", "his"} or low in w.DETERMINERS:
        return "D"
    if low in w.PREPOSITIONS:
        return "P"
    if low[:1].isdigit():
        return "#"
    return ""


def _after_helper(tokens: list[Token], index: int) -> bool:
    """Whether "to", a modal verb or "do" stands left, negation and adverbs apart."""
    index -= 1
    while index >= 0 and tokens[index].tag in {"A", "N"}:
        index -= 1
    return index >= 0 and (tokens[index].tag in {"T", "M"} or tokens[index].low in DO_FORMS)


def _adverb(low: str) -> bool:
    return low in w.ADVERBS or (low.endswith("ly") and len(low) >= MIN_ADVERB and low not in w.NOT_ADVERBS)


class _Tagger(VerbTagger):
    """Tags one sentence in place, left to right, with one look ahead for finite verbs."""

    def run(self) -> None:
        capitals = sum(token.capital for token in self.tokens)
        shouting = len(self.tokens) > MIN_SHOUTED and capitals > SHOUTED * len(self.tokens)
        for index, token in enumerate(self.tokens):
            if token.tag:
                continue
            token.tag = _closed(self.tokens, index, shouting=shouting)
            if token.tag:
                continue
            following = self.next_token(index)
            pair = index == 0 and following is not None and following.capital
            guessed = pair and not listed(token.low)
            named = token.capital and (index > 0 or guessed) and not shouting
            if not named:
                self.verbs[index] = forms(token.low)
            if self.verbs[index] is None:
                token.tag = self._open(token, named=named)
                if following is not None and following.low == "than" and token.low[-2:] == "er":
                    token.tag = "J"
        self.look_ahead()
        for index, token in enumerate(self.tokens):
            if not token.tag:
                token.tag = self.verb_tag(index)
            elif token.tag == "S" and token.low in w.CLAUSE_OR_PREPOSITION:
                token.tag = "S" if self.opens_clause(index) else "P"
            elif token.tag == "R" and token.low == "that":
                token.tag = self.that_tag(index)
            elif token.tag == "D" and token.low in {"this", "these", "those"} and self.stands_alone(index):
                token.tag = "O"
            elif token.tag in {"n", "J"} and index and token.low.isalpha() and not token.capital:
                token.tag = self._unlisted(index)
        if not any(token.tag in FINITE for token in self.tokens):
            self._rescue()

    def _unlisted(self, index: int) -> str:
        """Take an unknown word after a modal verb, or between a pronoun and an object, for a verb."""
        token = self.tokens[index]
        place, left = self.left_of(index)
        if left == "M":
            return "B"
        following = self.next_token(index)
        if left == "T" and token.tag == "n" and self.tokens[place - 1].low not in TO_NOUN:
            object_next = following is not None and (following.tag == "D" or following.low in w.PARTICLES)
            meant = token.low.endswith("ate") or object_next
            return "B" if meant else "n"
        subject = left == "R" or (left == "O" and self.tokens[place].low in w.SUBJECT_PRONOUNS)
        alone = self.verbs[index] is None and not self._certain_soon(index + 1)
        if subject and alone and following is not None and following.tag in {"D", "P", "O", "T"}:
            return "F"
        return token.tag

    def _certain_soon(self, index: int) -> bool:
        return index < len(self.tokens) and self.ahead[index]

    def _rescue(self) -> None:
        """Rescue a sentence without a verb: take the likeliest unlisted or ambiguous word for one."""
        for known in (True, False):
            for index in range(1, len(self.tokens) - 1):
                if self._rescued(index, known=known):
                    self.tokens[index].tag = "F"
                    return

    def _rescued(self, index: int, *, known: bool) -> bool:
        token, previous = self.tokens[index], self.tokens[index - 1]
        if token.tag != "n" or previous.tag not in NOMINAL or token.capital:
            return False
        follows = self.tokens[index + 1].tag in {"D", "P", "O", "T", "A"}
        verb = self.verbs[index]
        if known:
            return verb is not None and follows and bool(verb.inflections & {BASE, THIRD, PAST})
        third = token.low.endswith("s") and not token.low.endswith(("ss", "us", "'s", "is"))
        more = follows or self.tokens[index + 1].tag in {"n", "#", "J"}
        bare = not token.low.endswith("s") and more and plural(previous) and index == 1
        return bare or (third and more and not plural(previous))

    def _open(self, token: Token, *, named: bool) -> str:
        if named or not token.text[:1].isalpha():
            return "n"
        if _adverb(token.low):
            return "A"
        return "J" if adjective(token.low) else "n"


def tag(tokens: list[Token]) -> list[Token]:
    """Tag one sentence in place and return it.

    Args:
        tokens: at most text.MAX_TOKENS tokens; those tagged already keep their tag.
    """
    _Tagger(tokens).run()
    return tokens
