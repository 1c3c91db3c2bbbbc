"""The predicate and the object of each piece of a clause."""

from dataclasses import dataclass

from drag_graph.distill.patterns import words as w
from drag_graph.distill.patterns.phrases import Segment, coordinated, copula, trim
from drag_graph.distill.patterns.tagging import NOMINAL
from drag_graph.distill.patterns.text import Token

MAX_PREDICATE = 12
MAX_PIECES = 10
MAX_HEAD = 5
_CAUSING = ("caus", "allow", "enabl", "requir", "forc", "lead", "led", "persuad", "tell", "told", "ask", "want", "need")


@dataclass(slots=True)
class Piece:
    """A predicate with its object, and the rule that made them."""

    predicate: list[Token]
    thing: list[Token]
    rule: str


def _group_rule(group: list[Token]) -> str:
    if copula(group):
        return "copula"
    verbs = [token for token in group if token.tag not in {"A", "N"}]
    if len(verbs) == 1 and verbs[0].low in w.HAVE:
        return "have"
    if any(t.low == "used" for t in verbs):
        return "used_for"
    if any(t.low in w.BE for t in verbs) and any(t.tag == "E" for t in verbs):
        return "passive"
    return "verb"


def _adjectival(body: list[Token]) -> bool:
    return bool(body) and all(token.tag in {"J", "A", "E"} or token.low == "more" for token in body)


def _reduced(body: list[Token]) -> int:
    """Where a trailing participle starts: "a book written" gives 2; else the length."""
    place = len(body)
    while place > 1 and body[place - 1].tag in {"E", "A"}:
        place -= 1
    before = body[place - 1] if place else None
    if before is not None and any(t.tag == "E" for t in body[place:]):
        return place if before.tag in NOMINAL or before.tag in {"G", "J"} else len(body)
    if before is not None and place == len(body) > 1 and before.tag == "G":
        return place - 1 if body[place - 2].tag in NOMINAL else len(body)
    return len(body)


def has_reduced(parts: list[Segment]) -> bool:
    """Whether a noun phrase of the segments has a participle phrase after it."""
    return any(_reduced(part.body) < len(part.body) for part in parts[:-1])


def _spread(predicate: list[Token], body: list[Token], rule: str) -> list[Piece]:
    if predicate and predicate[-1].low in {"between", "among"}:
        return [Piece(predicate, body, rule)]
    return [Piece(predicate, member, rule) for member in coordinated(body)]


def _object(group: list[Token], body: list[Token], *, following: str | None, rule: str) -> tuple[list[Piece], list[Token]]:
    """Return the pieces of the direct object, and what later predicates start with."""
    more = following is not None
    verbs = [token for token in group if token.tag not in {"A", "N"}]
    bare = len(body) == 1 and body[0].tag == "n" and not body[0].capital
    if more and (_adjectival(body) or (bare and rule == "copula")):
        return [], group + body
    cut = _reduced(body) if more else len(body)
    verb, head = body[cut:], body[:cut]
    if following == "to" and verbs and verbs[-1].low.startswith(_CAUSING):
        # "Heat causes water to evaporate" does not say that heat causes water.
        return [], group + head
    place = next((i for i, token in enumerate(head) if token.low == "of" and i), 0)
    listed = any(token.tag in {",", "C"} for token in head[:place])
    if rule == "copula" and 0 < place <= MAX_HEAD and not listed and trim(head[place + 1 :]):
        results = _spread(group + head[: place + 1], head[place + 1 :], "copula_of")
    else:
        results = _spread(group, head, rule)
    prefix = group + head
    if verb:
        prefix = (group if rule == "copula" else prefix) + verb
    return results, prefix


def _marker(parts: list[Segment]) -> str | None:
    """Return the first word of the second segment, or None."""
    return parts[1].marker[0].low if len(parts) > 1 and parts[1].marker else None


def pieces(group: list[Token], parts: list[Segment]) -> list[Piece]:  # noqa: C901  one loop over the segments
    """Return the pieces of a verb group: its object, prepositional phrases, infinitives and gerunds.

    Args:
        group: the verb group.
        parts: segments of kind object, preposition, infinitive and gerund, in order.
    """
    rule = _group_rule(group)
    results: list[Piece] = []
    prefix = group
    parts = [part for part in parts if part.body or part.marker]
    start = 0
    if parts and parts[0].kind == "object":
        results, prefix = _object(group, parts[0].body, following=_marker(parts), rule=rule)
        start = 1
    for index in range(start, len(parts)):
        part = parts[index]
        before = parts[index - 1]
        link = prefix
        if part.kind == "infinitive" and index and before.kind == "preposition":
            link = prefix + before.marker + before.body
        predicate, body = link + part.marker, part.body
        if len(predicate) > MAX_PREDICATE:
            predicate = prefix + part.marker
        if not trim(body):
            # "to survive": the verb itself is the object.
            if part.kind == "preposition" or not part.marker[1:]:
                if results and index == len(parts) - 1:
                    # "to put on": a preposition without an object belongs to the verb.
                    results[-1].thing = results[-1].thing + [Token(t.text, t.low, tag="n") for t in part.marker]
                continue
            cut = len(part.marker) - 1
            predicate, body = predicate[:-cut], part.marker[-cut:]
        name = _phrase_rule(rule, part, first=index == 0)
        cut = _reduced(body) if rule == "copula" and index + 1 < len(parts) else len(body)
        results += _spread(predicate, body[:cut], name)
        if cut < len(body):
            prefix = group + body[cut:]
        if part.kind in {"infinitive", "gerund"}:
            prefix = predicate + body
    if not results:
        results = _intransitive(group)
    return results[:MAX_PIECES]


def _phrase_rule(rule: str, part: Segment, *, first: bool) -> str:
    if part.kind in {"infinitive", "gerund"} and rule != "used_for":
        return "purpose"
    if rule in {"passive", "used_for"}:
        return rule
    if rule == "copula":
        return "copula_phrase"
    return "verb_preposition" if first else "verb_object_preposition"


def _intransitive(group: list[Token]) -> list[Piece]:
    """Make the last word of the group the object: "sound is produced", "it grows quickly"."""
    if len(group) > 1 and group[-1].tag in {"E", "B", "A", "G"}:
        return [Piece(group[:-1], group[-1:], "intransitive")]
    return []
