"""Phrases: verb groups, coordinated noun phrases, and the segments of what follows a verb."""

from dataclasses import dataclass, field
from itertools import pairwise

from drag_graph.distill.patterns import words as w
from drag_graph.distill.patterns.tagging import FINITE, NOMINAL
from drag_graph.distill.patterns.text import Token
from drag_graph.distill.patterns.verbs import THIRD, forms

_TO_ADJECTIVES = frozenset({"able", "unable", "likely", "unlikely", "ready", "known", "going"})
_BECOME = w.lexicon("become")
# These hang on the noun before them; other prepositions start a segment.
_NOUN_LINKS = frozenset({"of", "between", "per", "versus"})
_HELP = frozenset({"help", "helps", "helped", "helping"})
_BEFORE_BASE = _HELP | w.DO | {"don't", "doesn't", "didn't"}
_SINGULAR = frozenset({"is", "was", "has", "does"})
_LIST_WORDS = frozenset({"both", "then", "also", "later"})
MAX_PARTS = 8


@dataclass(slots=True)
class Segment:
    """A piece of what follows the verb.

    `kind` is one of object, preposition, infinitive, gerund, condition, complement, relative,
    participle, apposition, verb, clause.
    """

    kind: str
    marker: list[Token] = field(default_factory=list)
    body: list[Token] = field(default_factory=list)


def _skip_adverbs(tokens: list[Token], index: int) -> int:
    while index < len(tokens) and tokens[index].tag in {"A", "N"}:
        index += 1
    return index


def _at(tokens: list[Token], index: int) -> Token | None:
    return tokens[index] if 0 <= index < len(tokens) else None


def _extends(tokens: list[Token], index: int, last: Token) -> int:  # noqa: PLR0911  one return a case
    """How many tokens from `index` on belong to the verb group that ends with `last`; 0 if none."""
    token = tokens[index]
    following = _at(tokens, index + 1)
    helper = last.tag in {"X", "Z"}
    if token.tag in {"N", "Z"}:
        return 1
    if token.tag == "E" and (helper or last.tag in {"E", "M"} or last.low in _BECOME):
        return 1
    if token.tag == "G" and ((helper and last.low not in w.HAVE) or last.low in _BECOME):
        return 1
    if token.tag == "B" and (last.tag == "M" or last.low in _BEFORE_BASE):
        return 1
    if token.tag == "A":
        after = _at(tokens, _skip_adverbs(tokens, index))
        return 1 if after is not None and after.tag not in {",", ";", "C", "S", "R"} else 0
    if token.tag == "T" and following is not None and following.tag in {"B", "Z"}:
        return 2 if last.tag in {"F", "E", "X", "B"} else 0
    if token.low in _TO_ADJECTIVES and helper and following is not None and following.tag == "T":
        after = _at(tokens, index + 2)
        return 3 if after is not None and after.tag in {"B", "Z"} else 0
    return 0


def group_end(tokens: list[Token], start: int) -> int:
    """Return the end (exclusive) of the verb group that starts with the finite verb at `start`."""
    index, last = start + 1, tokens[start]
    while index < len(tokens):
        step = _extends(tokens, index, last)
        if step == 0:
            break
        index += step
        if tokens[index - 1].tag not in {"A", "N"}:
            last = tokens[index - 1]
    return index


def first_finite(tokens: list[Token], start: int = 0) -> int:
    """Return the place of the first finite verb from `start` on, or -1."""
    return next((index for index in range(start, len(tokens)) if tokens[index].tag in FINITE), -1)


def main_verb(tokens: list[Token]) -> int:
    """Return the place of the finite verb of the main clause, relative clauses passed over, or -1."""
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.tag in FINITE:
            return index
        if token.tag in {"R", "S"} and index > 0:
            own = first_finite(tokens, index + 1)
            if own < 0:
                return -1
            index = group_end(tokens, own)
            comma = tokens[index - 1].tag == ","
            while not comma and index < len(tokens) and tokens[index].tag not in FINITE:
                index += 1
            continue
        index += 1
    return -1


def copula(group: list[Token]) -> bool:
    """Whether a verb group is a bare form of "be", adverbs and negation apart."""
    verbs = [token for token in group if token.tag not in {"A", "N"}]
    return bool(verbs) and verbs[-1].low in w.BE


def starts_verb(tokens: list[Token]) -> bool:
    """Whether the tokens start with a finite verb, adverbs apart."""
    token = _at(tokens, _skip_adverbs(tokens, 0))
    return token is not None and token.tag in FINITE


def starts_clause(tokens: list[Token]) -> bool:
    """Whether the tokens start with a short subject and a finite verb, no comma between."""
    for index, token in enumerate(tokens[:12]):
        if token.tag in FINITE:
            return index > 0 and any(t.tag in NOMINAL | {"G"} for t in tokens[:index])
        if token.tag in {",", ";", "C", "R", "S", "T", "E"} or (token.tag == "P" and index == 0):
            return False
    return False


def trim(tokens: list[Token]) -> list[Token]:
    """Return a phrase without articles in front and without marks or joining words at its ends."""
    start, end = 0, len(tokens)
    while start < end and (tokens[start].tag in {",", ";", ":", "C", "?", "-"} or tokens[start].low in w.ARTICLES):
        start += 1
    while end > start and (
        tokens[end - 1].tag in {",", ";", ":", "C", "?", "-", "P", "T", "R"} or tokens[end - 1].low in w.ARTICLES
    ):
        end -= 1
    return tokens[start:end]


def _splits(tokens: list[Token]) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.tag in {",", ":"} or (token.tag == "C" and token.low in {"and", "&", "but"}):
            if parts[-1]:
                parts.append([])
        elif parts[-1] or token.low not in _LIST_WORDS:
            parts[-1].append(token)
    return [part for part in parts if part]


def coordinated(tokens: list[Token]) -> list[list[Token]]:
    """Return the members of a list of noun phrases ("A, B and C"), or the phrase alone.

    "or" joins alternatives, none of which is asserted by itself, and is never split; neither is
    a phrase with a clause in it, nor one whose first members are mere adjectives.
    """
    low = {token.low for token in tokens}
    if "or" in low or "between" in low or "nor" in low:
        return [tokens]
    if any(token.tag in {"R", "S", "F", "X", "M", "T"} for token in tokens):
        return [tokens]
    parts = _splits(tokens)
    if not 1 < len(parts) <= MAX_PARTS:
        return [tokens]
    if any(part[-1].tag not in NOMINAL and part[-1].tag != "G" for part in parts[:-1]):
        return [tokens]
    joined = any(token.tag == "C" for token in tokens)
    named = all(any(t.capital for t in part) or part[0].tag == "#" for part in parts)
    if not joined and not named:
        return [tokens]
    return parts


def singular(verb: Token) -> bool:
    """Whether a finite verb takes one subject only, so that "A and B" before it is one name."""
    kinds = forms(verb.low)
    return verb.low in _SINGULAR or (kinds is not None and THIRD in kinds.inflections)


def _until(tokens: list[Token], start: int) -> int:
    """Return the position of the next comma or semicolon inside the sentence, or the end."""
    return next((index for index in range(start + 1, len(tokens)) if tokens[index].tag in {",", ";"}), len(tokens))


class Segmenter:
    """Cuts what follows a verb group into segments, in one pass."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.segments = [Segment("object")]

    def run(self) -> list[Segment]:
        index = 0
        while index < len(self.tokens):
            index = self._step(index)
        return [s for s in self.segments if s.body or s.marker]

    def _open(self, kind: str, marker: list[Token], body: list[Token] | None = None) -> None:
        self.segments.append(Segment(kind, marker, body if body is not None else []))

    def _to(self, kind: str, index: int, end: int, *, marker: int = 0) -> int:
        """Open a segment over tokens[index:end], of which the first `marker` are its marker."""
        cut = index + marker
        self._open(kind, self.tokens[index:cut], self.tokens[cut:end])
        return end

    def _step(self, index: int) -> int:  # noqa: PLR0911  one return a kind of token
        tokens, token = self.tokens, self.tokens[index]
        following = _at(tokens, index + 1)
        if token.tag == "R" or (token.tag == "P" and following is not None and following.tag == "R"):
            if index == 0 and token.low == "that" and starts_clause(tokens[1:]):
                return self._to("complement", index, len(tokens), marker=1)
            return self._to("relative", index, _until(tokens, index + 1))
        if token.tag == "S":
            return self._to("condition", index, _until(tokens, index), marker=1)
        if token.tag == ";":
            return self._to("clause", index + 1, len(tokens))
        if token.tag in {",", "C"}:
            return self._joint(index)
        if token.tag == "P" or (token.low == "such" and following is not None and following.low == "as"):
            return self._preposition(index)
        if token.tag == "T":
            return self._to_word(index)
        self.segments[-1].body.append(token)
        return index + 1

    def _preposition(self, index: int) -> int:
        tokens, current = self.tokens, self.segments[-1]
        token = tokens[index]
        if token.low in _NOUN_LINKS and current.body:
            current.body.append(token)
            return index + 1
        end = index + 1
        while end < len(tokens) and tokens[end].tag == "P":
            end += 1
        after = _at(tokens, end)
        if token.low != "of" and after is not None and after.tag == "G":
            # "by scratching it" but not "with running water": what follows must be an object.
            self._open("gerund", tokens[index : end + 1])
            return end + 1
        if not current.body and current.kind == "preposition":
            current.marker.extend(tokens[index:end])
            return end
        self._open("preposition", tokens[index:end])
        return end

    def _to_word(self, index: int) -> int:
        end = _skip_adverbs(self.tokens, index + 1)
        verb = _at(self.tokens, end)
        if verb is None or verb.tag not in {"B", "Z"}:
            return self._preposition(index)
        end += 1
        while end < len(self.tokens) and self.tokens[end].tag in {"E", "Z"} and verb.tag == "Z":
            end += 1
        self._open("infinitive", self.tokens[index:end])
        return end

    def _joint(self, index: int) -> int:  # noqa: PLR0911  one return a way to go on
        """Skip a comma or conjunction before another list item, verb, clause, relative or participle."""
        tokens = self.tokens
        start = index + 1
        remainder = tokens[start:]
        if not remainder:
            return len(tokens)
        if starts_verb(remainder):
            return self._to("verb", start, len(tokens))
        if starts_clause(remainder):
            return self._to("clause", start, len(tokens))
        head = remainder[0]
        current = self.segments[-1]
        earlier = next((one for one in reversed(self.segments) if one.kind != "preposition"), current)
        if head.tag == "G" and earlier.kind == "gerund":
            self._open("gerund", [earlier.marker[0], head])
            return start + 1
        if tokens[index].tag == "C":
            if head.tag == "E":
                return self._to("bare", start, len(tokens))
            current.body.append(tokens[index])
            return start
        if head.tag in {"R", "S", "P", "T"}:
            return start
        following = _at(tokens, start + 1)
        lone = head.tag == "E" and (following is None or following.tag in {",", "C"})
        if (head.tag in {"E", "G"} and not lone) or (head.tag == "A" and self._participle(start)):
            return self._to("participle", start, _until(tokens, start))
        end = _until(tokens, start)
        listed = self._listed(start)
        articles = sum(one.tag == "," and other.low in w.ARTICLES for one, other in pairwise(tokens[index:]))
        if head.low in w.ARTICLES | w.POSSESSIVES and not listed and current.body and articles == 1:
            return self._to("apposition", start, end)
        current.body.append(tokens[index])
        return start

    def _participle(self, index: int) -> bool:
        place = _skip_adverbs(self.tokens, index)
        token, after = _at(self.tokens, place), _at(self.tokens, place + 1)
        if token is None or token.tag not in {"E", "G"}:
            return False
        return token.tag == "G" or after is None or after.tag in {"P", "T", "A", ","}

    def _listed(self, start: int) -> bool:
        """Whether a list goes on at `start`: noun phrases and commas up to a conjunction."""
        for index in range(start, len(self.tokens)):
            token = self.tokens[index]
            if token.tag == "C":
                return not starts_verb(self.tokens[index + 1 :]) and not starts_clause(self.tokens[index + 1 :])
        return False


def segments(tokens: list[Token]) -> list[Segment]:
    """Return the segments of what follows a verb group, in order."""
    return Segmenter(tokens).run()
