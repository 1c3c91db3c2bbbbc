"""What stands around a word of a sentence that is being tagged: left, right, and verbs ahead."""

from drag_graph.distill.patterns import words as w
from drag_graph.distill.patterns.text import Token
from drag_graph.distill.patterns.verbs import PARTICIPLE, PAST, THIRD, Forms

MIN_SUFFIXED = 4
FINITE = frozenset({"X", "M", "F"})
NOMINAL = frozenset({"n", "#", "O"})
_BOUNDARY = frozenset({",", ";", "C", "S", "R", "–", "—", "-"})  # noqa: RUF001


_SAYING = (
    "show", "indicat", "say", "said", "mean", "think", "believ", "know", "suggest", "prov", "find",
    "not", "ensur", "stat", "claim", "argu", "learn", "understand", "see", "conclud", "agree",
)  # fmt: skip


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


class Context:
    """A sentence half tagged, and questions about the surroundings of a place in it."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.verbs: list[Forms | None] = [None] * len(tokens)
        self.ahead = [False] * (len(tokens) + 1)

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
