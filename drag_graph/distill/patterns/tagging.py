"""A small part-of-speech guesser: closed classes, verb forms, and what stands left and right.

Tags: D determiner, O pronoun, P preposition, T "to", C conjunction, S subordinator, R relative,
X finite be/have/do, Z non-finite be/have, M modal, N negation, A adverb, J adjective, F finite
verb, B base form after "to" or a modal, G gerund, E participle, n nominal, # number, and each
mark as itself.
"""

# A tagger is a list of cases: one return a case is the clearest way to write it.
# ruff: noqa: PLR0911

from drag_graph.distill.patterns import words as w
from drag_graph.distill.patterns.text import Token
from drag_graph.distill.patterns.verbs import BASE, GERUND, PARTICIPLE, PAST, THIRD, Forms, forms

MIN_SUFFIXED = 4
FINITE = frozenset({"X", "M", "F"})
NOMINAL = frozenset({"n", "#", "O"})
_BOUNDARY = frozenset({",", ";", "C", "S", "R", "–", "—", "-"})  # noqa: RUF001
_SAYING = (
    "show", "indicat", "say", "said", "mean", "think", "believ", "know", "suggest", "prov", "find",
    "not", "ensur", "stat", "claim", "argu", "learn", "understand", "see", "conclud", "agree",
)  # fmt: skip
DO_FORMS = frozenset({"do", "does", "did", "don't", "doesn't", "didn't"})
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


def plural(token: Token) -> bool:
    """Whether a noun looks plural, by its ending and two short lists."""
    low = token.low
    if low in w.PLURAL_WITHOUT_S:
        return True
    return low.endswith("s") and low not in w.SINGULAR_WITH_S and not low.endswith(("ss", "us", "'s", "is"))


def adjective(low: str) -> bool:
    """Whether a word is in the adjective list or ends as adjectives do."""
    if low in w.ADJECTIVES:
        return True
    if low in w.NOT_ADJECTIVES or low.endswith("fish"):
        return False
    return len(low) > MIN_SUFFIXED and low.endswith(w.ADJECTIVE_ENDINGS)


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


class _Tagger:
    """Tags one sentence in place, left to right, with one look ahead for finite verbs."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.verbs: list[Forms | None] = [None] * len(tokens)
        self.ahead = [False] * (len(tokens) + 1)

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

    def certain(self, index: int) -> bool:
        """Tell whether it is a finite verb whatever its context: an auxiliary, a pure -s form, a distinct past."""
        token, verb = self.tokens[index], self.verbs[index]
        if token.tag in {"X", "M"}:
            return True
        if verb is None or not verb.pure or index == 0:
            return False
        kinds = verb.inflections
        agrees = THIRD in kinds and not plural(self.tokens[index - 1])
        return agrees or (PAST in kinds and PARTICIPLE not in kinds)

    def look_ahead(self) -> None:
        for index in range(len(self.tokens) - 1, -1, -1):
            stops = self.tokens[index].tag in _BOUNDARY
            self.ahead[index] = self.certain(index) or (not stops and self.ahead[index + 1])

    def next_token(self, index: int) -> Token | None:
        return self.tokens[index + 1] if index + 1 < len(self.tokens) else None

    def that_tag(self, index: int) -> str:
        previous = self.tokens[index - 1].tag
        saying = self.tokens[index - 1].low.startswith(_SAYING)
        if previous in {"G", "B", "F"} and not saying and (previous != "F" or not self.ahead[index + 1]):
            return "D"
        if previous in {"P", "C", "T", ","} or (previous == "S" and self.tokens[index - 1].low != "so"):
            return "D"
        return "R"

    def left_of(self, index: int) -> tuple[int, str]:
        """Place and tag of what stands left, adverbs and negations apart."""
        place = index - 1
        while place >= 0 and self.tokens[place].tag in {"A", "N"}:
            place -= 1
        return place, self.tokens[place].tag if place >= 0 else ""

    def finite_behind(self, index: int) -> Token | None:
        """Return the nearest finite verb to the left within the clause."""
        nearest = None
        for place in range(index - 1, -1, -1):
            tag = self.tokens[place].tag
            if nearest is None and (tag in FINITE or tag == "B"):
                nearest = self.tokens[place]
            if tag in {"S", "R", ";", ":"}:
                # Beyond a comma, a verb behind "when" belongs to the other clause.
                return nearest if tag != "S" or place else None
        return nearest

    def verb_tag(self, index: int) -> str:
        verb = self.verbs[index]
        if verb is None:
            return "n"
        place, left_tag = self.left_of(index)
        low = self.tokens[place].low if place >= 0 else ""
        kinds = verb.inflections
        if left_tag in {"T", "M"} or (left_tag == "X" and low in DO_FORMS):
            return "B"
        if left_tag == "D":
            return "J" if PARTICIPLE in kinds and verb.pure else self._noun(index)
        if GERUND in kinds:
            return "G"
        if left_tag in {"R", "O"}:
            return "F" if kinds & {BASE, THIRD, PAST} else "E"
        if left_tag == "C":
            return self._after_conjunction(index, place, verb)
        return self._after_nominal(index, place, left_tag, verb)

    def _noun(self, index: int) -> str:
        return "J" if adjective(self.tokens[index].low) else "n"

    def _after_conjunction(self, index: int, place: int, verb: Forms) -> str:
        kinds = verb.inflections
        partner = self.tokens[place - 1].tag if place else ""
        following = self.next_token(index)
        if PARTICIPLE in kinds and (partner == "E" or (following is not None and following.low == "by")):
            return "E"
        if kinds & {BASE, THIRD, PAST} and (verb.pure or self._object_follows(index)):
            return "F"
        return "E" if PARTICIPLE in kinds else self._noun(index)

    def _object_follows(self, index: int) -> bool:
        following = self.next_token(index)
        return following is not None and following.tag in {"D", "O", "T", "A", "J", "#"}

    def _after_nominal(self, index: int, place: int, left: str, verb: Forms) -> str:
        kinds = verb.inflections
        if place < 0:
            return "E" if PARTICIPLE in kinds and BASE not in kinds else self._noun(index)
        previous = self.tokens[place]
        following = self.next_token(index)
        done = self.finite_behind(index) is not None
        if PAST in kinds or PARTICIPLE in kinds:
            if PAST not in kinds:
                return "E"
            if PARTICIPLE in kinds and (done or left == ","):
                return "F" if left == "," else "E"
            return "E" if PARTICIPLE in kinds and self.ahead[index + 1] else "F"
        if left == "," and not verb.pure:
            goes_on = following is not None and following.tag in {"P", "D", "A", "T", "J"}
            late = THIRD in kinds and goes_on and not done and not self.ahead[index + 1]
            return "F" if late else self._noun(index)
        if THIRD in kinds and verb.pure and not (done and plural(previous)):
            return "F"
        return self._present(index, place, verb) if not done or left == "," else self._noun(index)

    def _present(self, index: int, place: int, verb: Forms) -> str:
        """Tag a base or -s form after a nominal: a verb where number agrees and none is ahead."""
        previous, kinds = self.tokens[place], verb.inflections
        if self.ahead[index + 1] and not verb.pure:
            return self._noun(index)
        joined = any(token.tag == "C" for token in self.tokens[:place])
        agrees = plural(previous) or previous.tag == "O" or joined or (verb.pure and not self.ahead[index + 1])
        is_verb = (THIRD in kinds and not plural(previous)) or (BASE in kinds and agrees)
        return "F" if is_verb else self._noun(index)


def tag(tokens: list[Token]) -> list[Token]:
    """Tag one sentence in place and return it.

    Args:
        tokens: at most text.MAX_TOKENS tokens; those tagged already keep their tag.
    """
    _Tagger(tokens).run()
    return tokens
