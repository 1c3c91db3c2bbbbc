"""Small questions about a clause: its parts, its owner, its condition, its negation."""

from drag_graph.distill.patterns import words as w
from drag_graph.distill.patterns.phrases import coordinated, copula, first_finite, group_end, main_verb, starts_clause, trim
from drag_graph.distill.patterns.text import Token

MAX_OWNED = 4


def word(text: str, mark: str) -> Token:
    """Return a token that the sentence does not have, such as the "is" of an apposition."""
    return Token(text, text.lower(), tag=mark)


HANGING = frozenset({"verb", "bare", "clause", "relative", "participle", "apposition", "complement", "condition"})


_TIMES = frozenset({"today", "tomorrow", "yesterday", "nowadays", "besides"})


def negative(subject: list[Token], group: list[Token]) -> bool:
    """Whether a clause is negated, by a word such as "not" or by a subject such as "no mammal"."""
    denied = any(t.tag == "N" or t.low in w.NEGATED_AUXILIARIES or t.low in _HARDLY for t in group)
    return denied or (bool(subject) and subject[0].low in {"no", "none", "neither", "few", "nothing"})


# Parallel to the clause, not part of its object.
FREE = frozenset({"verb", "bare", "clause"})
_HARDLY = frozenset({"hardly", "rarely", "seldom", "neither", "nor"})


def of_copula(tokens: list[Token]) -> bool:
    """Tell whether the main verb of a clause is a bare form of "be"."""
    place = main_verb(tokens)
    return place > 0 and copula(tokens[place : group_end(tokens, place)])


def expletive(group: list[Token], rest: list[Token]) -> bool:
    """Whether "it" anticipates what follows, as in "it is hard to fly"; such a clause has no subject to name."""
    head = next((token for token in rest if token.tag != "A"), None)
    later = any(token.tag == "T" or token.low == "that" for token in rest)
    return copula(group) and head is not None and head.tag == "J" and later


def unmarked(tokens: list[Token]) -> list[Token]:
    """Return a predicate without punctuation."""
    return lowered([token for token in tokens if token.tag not in {",", ";", ":"}])


def lowered(tokens: list[Token]) -> list[Token]:
    """Take the capital off a preposition or subordinator that opened the sentence."""
    return [word(t.low, t.tag) if t.capital and t.tag in {"P", "S", "T"} else t for t in tokens]


def together(subjects: list[list[Token]]) -> list[Token]:
    """Return several subjects as one phrase, joined by "and"."""
    joined: list[Token] = []
    for subject in subjects:
        joined += [word("and", "C"), *subject] if joined else subject
    return joined


def antecedent_of(body: list[Token]) -> list[Token]:
    """Return the noun phrase that a relative clause or an apposition after `body` speaks of."""
    last = trim(coordinated(body)[-1])
    place = next((i for i, token in enumerate(last) if token.low == "of" and i), 0)
    named = place and any(t.capital for t in last[place:]) and not any(t.capital for t in last[:place])
    return last[place + 1 :] if named else last


def helpers(group: list[Token], mark: str) -> list[Token]:
    """Return the auxiliaries that a second participle or base form shares with the first."""
    place = next((i for i, token in enumerate(group) if token.tag == mark), int(group[0].tag in {"X", "M"}))
    return group[:place]


def strip_discourse(tokens: list[Token]) -> list[Token]:
    """Return a clause without an introduction such as "however,", "for example," or "and"."""
    start = 0
    while start < len(tokens):
        token = tokens[start]
        comma = start + 1 < len(tokens) and tokens[start + 1].tag == ","
        aside = comma and (token.tag == "A" or token.low in _TIMES)
        if token.tag in {",", ";", ":", "C"} or token.low == "then" or aside:
            start += 1
        else:
            break
    return tokens[start:]


def leading_phrase(tokens: list[Token]) -> tuple[list[Token], list[Token]]:
    """Return a phrase in front of the subject, up to a comma, and the rest; ([], tokens) if none."""
    if tokens[0].tag not in {"P", "T", "E", "G"}:
        return [], tokens
    commas = [i for i, token in enumerate(tokens) if token.tag == "," and main_verb(tokens[i + 1 :]) >= 0]
    clear = [index for index in commas if starts_clause(tokens[index + 1 :])]
    fair = [i for i in commas if tokens[i + 1].tag in {"D", "n", "O", "J", "#"}]
    cut = clear[-1] if clear else fair[0] if fair else -1
    if cut > 0:
        return tokens[:cut], tokens[cut + 1 :]
    return [], tokens


def main_clause(tokens: list[Token]) -> int:
    """Where the main clause starts after a leading subordinate one, or -1.

    After a comma or "then"; at "there is"; else at the last article or the like that stands
    between the first finite verb and the second.
    """
    for index in range(2, len(tokens)):
        if (tokens[index].low == "then" or tokens[index].tag == ",") and first_finite(tokens, index + 1) >= 0:
            return index
    own = first_finite(tokens, 1)
    second = first_finite(tokens, group_end(tokens, own)) if own > 0 else -1
    starts = [i for i in range(own + 1, second) if tokens[i].tag in {"D", "O"}]
    return starts[-1] if starts else -1


def possessed(subject: list[Token]) -> tuple[list[Token], list[Token]]:
    """Return X, and Y as the start of the predicate, for "X's Y is" and "the Y of X is"."""
    marks = [i for i, token in enumerate(subject) if token.low == "'s"]
    plain = not marks or all(t.tag not in {"P", "G", "T"} for t in subject[: marks[-1]])
    if marks and plain and 0 < marks[-1] < len(subject) - 1:
        owned = subject[marks[-1] + 1 :]
        named = all(token.capital for token in owned)
        if len(owned) <= MAX_OWNED and not named and not any(t.tag == "P" for t in owned):
            return subject[: marks[-1]], owned
    place = next((i for i, token in enumerate(subject) if token.low == "of"), 0)
    head = trim(subject[:place])
    light = head and (head[-1].low in w.LIGHT_HEADS or head[0].low in w.LIGHT_HEADS)
    if not place or not head or light or len(head) >= MAX_OWNED or any(t.tag in {"P", "G"} for t in head):
        return subject, []
    if subject[0].low != "the" or head[-1].capital:
        return subject, []
    return trim(subject[place + 1 :]), head
