"""A small part-of-speech guesser: closed classes, verb forms, and what stands left and right.

Tags: D determiner, O pronoun, P preposition, T "to", C conjunction, S subordinator, R relative,
X finite be/have/do, Z non-finite be/have, M modal, N negation, A adverb, J adjective, F finite
verb, B base form after "to" or a modal, G gerund, E participle, n nominal, # number, and each
mark as itself.
"""

from drag_graph.steps.patterns import words as w
from drag_graph.steps.patterns.text import Token
from drag_graph.steps.patterns.verbs import BASE, GERUND, PARTICIPLE, PAST, THIRD, Forms, forms

FINITE = frozenset({"X", "M", "F"})
NOMINAL = frozenset({"n", "#", "O"})
MARKS = frozenset({",", ";", ":", "(", ")", "[", "]", "?", "-", "–", "—"})  # noqa: RUF001
_BOUNDARY = frozenset({",", ";", "C", "S", "R", "–", "—", "-"})  # noqa: RUF001
# "to" after these is a preposition, so that what follows is no infinitive.
_TO_NOUN = frozenset(
    """lead leads led leading due according related exposed next close similar respond responds
    relative equal opposite adapted added attached contribute contributes contributing contributed
    subject belong belongs belonging back connected compared prior access resistant refers refer
    referring response linked transferred thanks converted changes sensitive adjacent
    home""".split()
)
_DO_FORMS = frozenset({"do", "does", "did", "don't", "doesn't", "didn't"})
_ONE = frozenset({"this", "that", "each", "either", "neither"})
_SOME = frozenset({"these", "those", "some", "many", "most", "few", "several", "all", "both"})


def plural(token: Token) -> bool:
    """Whether a noun looks plural, by its ending and two short lists."""
    low = token.low
    if low in w.PLURAL_WITHOUT_S:
        return True
    return (
        low.endswith("s")
        and low not in w.SINGULAR_WITH_S
        and not low.endswith(("ss", "us", "'s", "is"))
    )


def _closed(tokens: list[Token], index: int) -> str:
    """The tag of a closed-class word, number or mark; empty where the word is open-class."""
    token = tokens[index]
    low = token.low
    following = tokens[index + 1].low if index + 1 < len(tokens) else ""
    previous = tokens[index - 1] if index else None
    if low in MARKS:
        return low
    if token.capital and previous is not None and low not in w.ARTICLES:
        # A capital inside a sentence is part of a name; "I" is one after another capital only.
        if low != "i" or previous.capital:
            return "n"
    if token.text == "A" and previous is not None and previous.capital:
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
    if (low, following) in {("because", "of"), ("prior", "to")}:
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
    return index >= 0 and (tokens[index].tag in {"T", "M"} or tokens[index].low in _DO_FORMS)


def _adverb(low: str) -> bool:
    return low in w.ADVERBS or (
        low.endswith("ly") and len(low) > 4 and low not in w.NOT_ADVERBS
    )


def adjective(low: str) -> bool:
    """Whether a word is in the adjective list or ends as adjectives do."""
    if low in w.ADJECTIVES:
        return True
    if low in w.NOT_ADJECTIVES or low.endswith("fish"):
        return False
    return len(low) > 4 and low.endswith(w.ADJECTIVE_ENDINGS)


class _Tagger:
    """Tags one sentence in place, left to right, with one look ahead for finite verbs."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.verbs: list[Forms | None] = [None] * len(tokens)
        self.ahead = [False] * (len(tokens) + 1)

    def run(self) -> None:
        shouting = sum(t.capital for t in self.tokens) > 0.7 * len(self.tokens) > 3
        for index, token in enumerate(self.tokens):
            if token.tag:
                continue
            token.tag = _closed(self.tokens, index)
            if token.tag:
                continue
            named = token.capital and index > 0 and not shouting
            if not named:
                self.verbs[index] = forms(token.low)
            if self.verbs[index] is None:
                token.tag = self._open(token, named=named)
                following = self._next(index)
                if following is not None and following.low == "than" and token.low[-2:] == "er":
                    token.tag = "J"
        self._look_ahead()
        for index, token in enumerate(self.tokens):
            if not token.tag:
                token.tag = self._verb(index)
            elif token.tag == "S" and token.low in w.CLAUSE_OR_PREPOSITION:
                token.tag = "S" if self._opens_clause(index) else "P"
            elif token.tag == "R" and token.low == "that":
                token.tag = self._that(index)
            elif token.tag == "D" and token.low in {"this", "these", "those"} and self._alone(index):
                token.tag = "O"
            elif token.tag in {"n", "J"} and index and token.low.isalpha() and not token.capital:
                token.tag = self._unlisted(index)
        if not any(token.tag in FINITE for token in self.tokens):
            self._rescue()

    def _unlisted(self, index: int) -> str:
        """An unknown word after a modal verb, or between a pronoun and an object, is a verb."""
        token = self.tokens[index]
        place, left = self._left(index)
        if left == "M":
            return "B"
        following = self._next(index)
        if left == "T" and token.tag == "n" and self.tokens[place - 1].low not in _TO_NOUN:
            meant = token.low.endswith("ate") or (following is not None and following.tag == "D")
            return "B" if meant else "n"
        subject = left == "R" or (left == "O" and self.tokens[place].low in w.SUBJECT_PRONOUNS)
        alone = self.verbs[index] is None and not self._certain_soon(index + 1)
        if subject and alone and following is not None and following.tag in {"D", "P", "O", "T"}:
            return "F"
        return token.tag

    def _certain_soon(self, index: int) -> bool:
        return index < len(self.tokens) and self.ahead[index]

    def _rescue(self) -> None:
        """A sentence without a verb: take the likeliest unlisted or ambiguous word for one."""
        for listed in (True, False):
            for index in range(1, len(self.tokens) - 1):
                if self._rescued(index, listed=listed):
                    self.tokens[index].tag = "F"
                    return

    def _rescued(self, index: int, *, listed: bool) -> bool:
        token, previous = self.tokens[index], self.tokens[index - 1]
        if token.tag != "n" or previous.tag not in NOMINAL or token.capital:
            return False
        follows = self.tokens[index + 1].tag in {"D", "P", "O", "T", "A"}
        verb = self.verbs[index]
        if listed:
            return verb is not None and follows and bool(verb.inflections & {BASE, THIRD, PAST})
        third = token.low.endswith("s") and not token.low.endswith(("ss", "us", "'s", "is"))
        more = follows or self.tokens[index + 1].tag in {"n", "#", "J"}
        return (third and more and not plural(previous)) or (
            not third and follows and plural(previous) and index == 1
        )

    def _open(self, token: Token, *, named: bool) -> str:
        if named or not token.text[:1].isalpha():
            return "n"
        if _adverb(token.low):
            return "A"
        return "J" if adjective(token.low) else "n"

    def _certain(self, index: int) -> bool:
        """A finite verb whatever its context: an auxiliary, a pure -s form, a distinct past."""
        token, verb = self.tokens[index], self.verbs[index]
        if token.tag in {"X", "M"}:
            return True
        if verb is None or not verb.pure or index == 0:
            return False
        if self.tokens[index - 1].tag in {"D", "P", "T", "J"}:
            return False
        kinds = verb.inflections
        return THIRD in kinds or (PAST in kinds and PARTICIPLE not in kinds)

    def _look_ahead(self) -> None:
        for index in range(len(self.tokens) - 1, -1, -1):
            stops = self.tokens[index].tag in _BOUNDARY
            self.ahead[index] = self._certain(index) or (not stops and self.ahead[index + 1])

    def _next(self, index: int) -> Token | None:
        return self.tokens[index + 1] if index + 1 < len(self.tokens) else None

    def _alone(self, index: int) -> bool:
        """A determiner that is the whole subject: a verb follows at once."""
        following = self._next(index)
        if following is None:
            return True
        if following.tag in FINITE or following.tag == "P":
            return True
        verb = self.verbs[index + 1]
        return following.tag == "" and verb is not None and verb.pure and THIRD in verb.inflections

    def _that(self, index: int) -> str:
        previous = self.tokens[index - 1].tag
        if previous in {"P", "C", "T", ","} or (previous == "S" and self.tokens[index - 1].low != "so"):
            return "D" if not self._alone(index) else "O"
        return "R"

    def _opens_clause(self, index: int) -> bool:
        """Whether a finite verb with a subject follows "as", "before", ... before a mark."""
        for place in range(index + 1, min(len(self.tokens), index + 12)):
            if self.tokens[place].tag in _BOUNDARY:
                return False
            if place > index + 1 and self._certain(place):
                return True
            verb = self.verbs[place]
            third = verb is not None and THIRD in verb.inflections
            if third and place > index + 1 and not plural(self.tokens[place - 1]):
                after = self._next(place)
                if after is None or after.tag in {"P", "D", "A", ",", "T", "J"}:
                    return True
            if (
                place > index + 1
                and verb is not None
                and verb.inflections & {BASE, PAST}
                and (
                    self.tokens[place - 1].low in w.SUBJECT_PRONOUNS
                    or (verb.pure and plural(self.tokens[place - 1]))
                )
            ):
                return True
        return False

    def _left(self, index: int) -> tuple[int, str]:
        """Place and tag of what stands left, adverbs and negations apart."""
        place = index - 1
        while place >= 0 and self.tokens[place].tag in {"A", "N"}:
            place -= 1
        return place, self.tokens[place].tag if place >= 0 else ""

    def _finite_behind(self, index: int) -> Token | None:
        """The nearest finite verb to the left within the clause."""
        found, comma = None, False
        for place in range(index - 1, -1, -1):
            tag = self.tokens[place].tag
            if found is None and (tag in FINITE or tag == "B"):
                found = self.tokens[place]
                if not comma:
                    return found
            if tag in {"S", "R", ";", ":"}:
                # Beyond a comma, a verb behind "when" belongs to the other clause.
                return found if tag != "S" or place else None
            comma = comma or tag == ","
        return found

    def _verb(self, index: int) -> str:
        verb = self.verbs[index]
        if verb is None:
            return "n"
        place, left = self._left(index)
        token = self.tokens[index]
        low = self.tokens[place].low if place >= 0 else ""
        kinds = verb.inflections
        if left in {"T", "M"} or (left == "X" and low in w.DO):
            return self._after_to(index, place, left, verb)
        if left in {"X", "Z"}:
            if low in w.HAVE:
                return "E" if PARTICIPLE in kinds and (verb.pure or low != "have") else self._noun(token)
            if PARTICIPLE in kinds:
                return "E"
            return "G" if GERUND in kinds else self._noun(token)
        if left == "D":
            return self._after_determiner(index, place, verb)
        if left == "P":
            if GERUND in kinds:
                return "G"
            return "J" if PARTICIPLE in kinds else self._noun(token)
        if left in {"J", "#"} and not (verb.pure and THIRD in kinds):
            following = self._next(index)
            # "Light travels fast": an adjective alone before a verb is the subject.
            alone = place == 0 and following is not None and following.tag in {"D", "P", "A", "J"}
            if left == "#" or (kinds & {BASE, THIRD} and not (alone and THIRD in kinds)):
                return self._noun(token)
        if GERUND in kinds:
            return "G"
        if left == "R" and PARTICIPLE in kinds and place > 0 and self.tokens[place - 1].tag == "P":
            return "J"
        if left in {"R", "O"}:
            return "F" if kinds & {BASE, THIRD, PAST} else "E"
        if left == "C":
            return self._after_conjunction(index, place, verb)
        if left == "S":
            return "E" if PARTICIPLE in kinds else self._noun(token)
        return self._after_nominal(index, place, left, verb)

    def _noun(self, token: Token) -> str:
        return "J" if adjective(token.low) else "n"

    def _after_to(self, index: int, place: int, left: str, verb: Forms) -> str:
        if BASE not in verb.inflections:
            if left == "M" and PARTICIPLE in verb.inflections:
                return "E"
            return "G" if GERUND in verb.inflections else "J" if not verb.pure else "n"
        before = self.tokens[place - 1].low if place > 0 else ""
        if left == "T" and not verb.pure and before in _TO_NOUN:
            return "n"
        following = self._next(index)
        if left == "T" and following is not None and following.tag in {"X", "M"} and not verb.pure:
            return "n"
        described = place > 0 and self.tokens[place - 1].tag == "J"
        ends = following is None or following.tag in {"C", ",", "P"}
        if left == "T" and described and ends and not verb.pure:
            return "n"
        return "B"

    def _after_determiner(self, index: int, place: int, verb: Forms) -> str:
        token = self.tokens[index]
        following = self._next(index)
        determiner = self.tokens[place].low
        agrees = (determiner in _ONE and THIRD in verb.inflections) or (
            determiner in _SOME and BASE in verb.inflections
        )
        if agrees:
            starts = following is not None and following.tag in {"D", "O", "P", "T", "#"}
            if verb.pure or starts:
                self.tokens[place].tag = "O"
                return "F"
        if place < index - 1 and verb.inflections & {PARTICIPLE, GERUND}:
            return "J"
        return "J" if PARTICIPLE in verb.inflections and verb.pure else self._noun(token)

    def _after_conjunction(self, index: int, place: int, verb: Forms) -> str:
        token, kinds = self.tokens[index], verb.inflections
        behind = self._finite_behind(place)
        partner = self.tokens[place - 1].tag if place else ""
        following = self._next(index)
        if PARTICIPLE in kinds and (partner == "E" or (following is not None and following.low == "by")):
            return "E"
        if partner == "F" and place == index - 1 and kinds & {BASE, THIRD, PAST}:
            return "F"
        if partner == "J" and PARTICIPLE in kinds and not self.ahead[index + 1]:
            return "J"
        if behind is None:
            return self._after_nominal(index, place, "n", verb) if verb.pure else self._noun(token)
        if behind.tag == "B" and BASE in kinds and (verb.pure or self._object_follows(index)):
            return "B"
        if kinds & {THIRD, PAST} and (verb.pure or self._object_follows(index)):
            return "F"
        if BASE in kinds and (verb.pure or self._object_follows(index)):
            return "F"
        return "E" if PARTICIPLE in kinds else self._noun(token)

    def _object_follows(self, index: int) -> bool:
        following = self._next(index)
        return following is not None and following.tag in {"D", "O", "T", "A", "J", "#"}

    def _after_nominal(self, index: int, place: int, left: str, verb: Forms) -> str:
        token, kinds = self.tokens[index], verb.inflections
        if place < 0:
            if PARTICIPLE in kinds and BASE not in kinds:
                return "E"
            return self._noun(token)
        previous = self.tokens[place]
        following = self._next(index)
        if following is not None and following.tag in {"X", "M"} and kinds & {BASE, THIRD}:
            return self._noun(token)
        done = self._finite_behind(index) is not None
        if self.tokens[place].low in {"help", "helps", "helped", "helping"} and BASE in kinds:
            return "B"
        if PAST in kinds or PARTICIPLE in kinds:
            if PAST not in kinds and BASE in kinds and not done and not self.ahead[index + 1]:
                return "F"
            if PAST not in kinds:
                return "E"
            if done and self._second_clause(index):
                return "F"
            if PARTICIPLE in kinds and (done or left == ","):
                return "E" if left != "," or not self._past_list(index) else "F"
            if BASE in kinds and not verb.pure:
                return self._present(index, place, verb)
            return "E" if PARTICIPLE in kinds and self.ahead[index + 1] else "F"
        if left == "," and not verb.pure:
            return self._noun(token)
        if THIRD in kinds and not verb.pure and self._verb_next(index):
            return "n"
        if THIRD in kinds and verb.pure and not (done and plural(previous)):
            return "F"
        return self._present(index, place, verb) if not done or left == "," else self._late(index, verb)

    def _verb_next(self, index: int) -> bool:
        """"polar bears live in": the next word is the verb, and this one its subject."""
        if index + 2 >= len(self.tokens) or self.tokens[index + 1].tag:
            return False
        verb = self.verbs[index + 1]
        after = self.tokens[index + 2].tag
        return verb is not None and BASE in verb.inflections and after in {"P", "D", "T", "A"}

    def _second_clause(self, index: int) -> bool:
        """Whether only a noun phrase stands between a conjunction and this past form."""
        following = self._next(index)
        if following is None or following.low == "by" or self.ahead[index + 1]:
            return False
        place = index - 1
        while place > 0 and self.tokens[place].tag in {"n", "D", "J", "#", "O", "A"}:
            place -= 1
        if place == index - 1 or self.tokens[place].tag != "C":
            return False
        return self.tokens[place - 1].tag == "," or following.tag in {"D", "O"}

    def _past_list(self, index: int) -> bool:
        """After a comma, a past form goes on a list of finite past verbs: "met X, married Y"."""
        following = self._next(index)
        behind = self._finite_behind(index)
        if behind is None:
            return not self.ahead[index + 1]
        kinds = forms(behind.low)
        started = kinds is not None and PAST in kinds.inflections
        return started and following is not None and following.tag in {"D", "O", "n"}

    def _late(self, index: int, verb: Forms) -> str:
        """A second verb in the clause: only a pure form after a fitting subject is one."""
        previous = self.tokens[index - 1]
        token = self.tokens[index]
        if verb.pure and THIRD in verb.inflections and not plural(previous):
            return "F"
        if verb.pure and BASE in verb.inflections and plural(previous):
            return "F"
        return self._noun(token)

    def _present(self, index: int, place: int, verb: Forms) -> str:
        """A base or -s form after a nominal: a verb where number agrees and none is ahead."""
        token, previous = self.tokens[index], self.tokens[place]
        kinds = verb.inflections
        if self.ahead[index + 1] and not verb.pure:
            return self._noun(token)
        if THIRD in kinds and not plural(previous):
            return "F"
        joined = any(t.tag == "C" for t in self.tokens[:place])
        if BASE in kinds and (plural(previous) or previous.tag == "O" or joined):
            return "F"
        if BASE in kinds and verb.pure and not self.ahead[index + 1]:
            return "F"
        return self._noun(token)


def tag(tokens: list[Token]) -> list[Token]:
    """Tag one sentence in place and return it.

    Args:
        tokens: at most text.MAX_TOKENS tokens; those tagged already keep their tag.
    """
    _Tagger(tokens).run()
    return tokens
