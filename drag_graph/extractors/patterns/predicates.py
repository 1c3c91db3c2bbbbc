"""The predicate and the object of each piece of a clause."""

from dataclasses import dataclass

from drag_graph.extractors.patterns import words as w
from drag_graph.extractors.patterns.context import NOMINAL
from drag_graph.extractors.patterns.phrases import Segment, coordinated, copula, trim
from drag_graph.extractors.patterns.text import Token

MAX_PREDICATE = 12
MAX_CARRIED = 5
MAX_PIECES = 10
MAX_HEAD = 5
MIN_LINKED = 3
_PLACES = frozenset({"in", "on", "at", "within", "near"})
_LIGHT_VERBS = w.lexicon("light_verbs")
_LIGHT_NOUNS = frozenset(
    ["care", "place", "part", "advantage", "use", "account", "birth", "rise", "way", "root", "hold", "sense"]
)
_CAUSING = ("caus", "allow", "enabl", "requir", "forc", "lead", "led", "persuad", "tell", "told", "ask", "want", "need")
_NAMING = frozenset({"called", "named", "known", "termed", "titled", "entitled"})


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


def reduced_relatives(
    group: list[Token], parts: list[Segment]
) -> tuple[list[Segment], list[tuple[list[Token], list[Token], list[Token]]]]:
    """Take "influenced by X" out of "a theory influenced by X": it is said of the theory.

    Returns the segments without them, and (noun phrase, participle with preposition, object).
    After a bare "be" the subject and the noun phrase are the same thing, so that they stay.
    """
    kept: list[Segment] = []
    taken = []
    index = 0
    while index < len(parts):
        part = parts[index]
        following = parts[index + 1] if index + 1 < len(parts) else None
        cut = _reduced(part.body)
        noun = part.body[:cut]
        held = part.kind == "object" or (part.kind == "preposition" and not copula(group))
        if part.kind == "object" and copula(group):
            noun = _possessor(noun)
            held = bool(noun)
        if held and cut < len(part.body) and following is not None and following.kind == "preposition":
            kept.append(Segment(part.kind, part.marker, part.body[:cut]))
            taken.append((noun, part.body[cut:] + following.marker, following.body))
            index += 2
            continue
        kept.append(part)
        index += 1
    return kept, taken


def _possessor(body: list[Token]) -> list[Token]:
    """Return what stands after "of" in "the measure of the energy"; nothing after a light head."""
    place = next((i for i, token in enumerate(body) if token.low == "of" and i), 0)
    if not place or body[place - 1].low in w.LIGHT_HEADS:
        return []
    return body[place + 1 :]


def _named(body: list[Token]) -> int:
    """Where "called X" starts in "cells called X"; 0 if it does not."""
    for index in range(1, len(body) - 1):
        if body[index].tag == "E" and body[index].low in _NAMING:
            return index
    return 0


def carried(body: list[Token]) -> list[Token]:
    """Return what of an object a later predicate repeats: all of a short one, else up to its head."""
    if len(body) <= MAX_CARRIED:
        return body
    place = next((i for i, token in enumerate(body) if token.low in {"of", "called"} and i), 0)
    if place and body[place - 1].low in w.LIGHT_HEADS:
        return body if len(body) <= MAX_CARRIED + 2 else []
    if 0 < place <= MAX_CARRIED:
        return body[:place]
    head = body[: place or len(body)]
    return [token for token in head if token.tag in NOMINAL][-1:]


def _spread(predicate: list[Token], body: list[Token], rule: str) -> list[Piece]:
    if predicate and predicate[-1].low in {"between", "among"}:
        return [Piece(predicate, body, rule)]
    return [Piece(predicate, member, rule) for member in coordinated(body)]


def _object(  # noqa: C901  one case a kind of object
    group: list[Token], body: list[Token], *, following: str | None, rule: str
) -> tuple[list[Piece], list[Token]]:
    """Return the pieces of the direct object, and what later predicates start with."""
    more = following is not None
    verbs = [token for token in group if token.tag not in {"A", "N"}]
    if verbs and verbs[-1].low in _LIGHT_VERBS and body[0].low in _LIGHT_NOUNS:
        cut = 2 if len(body) >= MIN_LINKED and body[1].low == "of" else 1
        if body[cut:]:
            return _spread(group + body[:cut], body[cut:], rule), group + body[:1]
        if more:
            return [], group + body
    bare = len(body) == 1 and body[0].tag == "n" and not body[0].capital
    if more and (_adjectival(body) or (bare and rule == "copula")):
        return [], group + body
    cut = _reduced(body) if more else _named(body) or len(body)
    if not more and rule == "copula" and any(token.low == "of" for token in body[:cut]):
        cut = len(body)
    verb, kept = body[cut:], body[:cut]
    found: list[Piece] = []
    if following == "to" and verbs and verbs[-1].low.startswith(_CAUSING):
        # "Heat causes water to evaporate" does not say that heat causes water.
        return [], group + (kept if len(kept) <= MAX_PREDICATE // 2 else carried(kept))
    place = next((i for i, token in enumerate(kept) if token.low == "of" and i), 0)
    listed = any(token.tag in {",", "C"} for token in kept[:place])
    if rule == "copula" and 0 < place <= MAX_HEAD and not listed and trim(kept[place + 1 :]):
        found = _spread(group + kept[: place + 1], kept[place + 1 :], "copula_of")
    else:
        found = _spread(group, kept, rule)
    prefix = group + carried(kept)
    if rule == "copula" and place and not verb and trim(kept[:place])[-1:] and kept[place - 1].low in w.LIGHT_HEADS:
        # What is part of a thing in Y is in Y; "is part in" says nothing.
        return found, (group if following in _PLACES else group + carried(kept))
    if verb and more:
        prefix = (group if rule == "copula" else prefix) + verb
    elif verb:
        link = group if rule == "copula" else prefix
        found.append(Piece([*link, verb[0]], verb[1:], "participle"))
    return found, prefix


def _ranges(parts: list[Segment]) -> list[Segment]:
    """Keep together what means little apart: "from year to year", "from 5 to 10"."""
    kept: list[Segment] = []
    for part in parts:
        last = kept[-1] if kept else None
        starts = last is not None and last.marker[:1] != [] and last.marker[0].low == "from"
        ends = part.kind == "preposition" and part.marker[0].low in {"to", "until", "till"} and part.body
        if last is not None and starts and ends and _vague(last.body, part.body):
            kept[-1] = Segment(last.kind, last.marker, last.body + part.marker + part.body)
        else:
            kept.append(part)
    return kept


def _vague(start: list[Token], end: list[Token]) -> bool:
    numbers = any(token.tag == "#" for token in start + end)
    other = any(token.low in {"another", "other", "others", "next"} for token in end)
    return numbers or other or [token.low for token in start] == [token.low for token in end]


def _marker(parts: list[Segment]) -> str | None:
    """Return the first word of the second segment; None where there is none."""
    return parts[1].marker[0].low if len(parts) > 1 and parts[1].marker else None


def pieces(group: list[Token], parts: list[Segment]) -> list[Piece]:  # noqa: C901, PLR0912  one loop over the segments
    """Return what a verb group says by its object, prepositional phrases, infinitives and gerunds.

    Args:
        group: the verb group.
        parts: segments of kind object, preposition, infinitive and gerund, in order.
    """
    rule = _group_rule(group)
    found: list[Piece] = []
    prefix = group
    parts = _ranges([part for part in parts if part.body or part.marker])
    start = 0
    if parts and parts[0].kind == "object":
        found, prefix = _object(group, parts[0].body, following=_marker(parts), rule=rule)
        start = 1
    base = prefix
    verbal: tuple[Token, list[Token]] | None = None
    for index in range(start, len(parts)):
        part = parts[index]
        if part.kind == "object":
            continue
        before = parts[index - 1]
        if part.kind in {"infinitive", "gerund"}:
            # "by pulling X and pumping Y": both hang on what stands before the first.
            if verbal is not None and part.marker[0] is verbal[0]:
                prefix = verbal[1]
            verbal = (part.marker[0], prefix)
        link = prefix
        if part.kind == "infinitive" and index and before.kind == "preposition":
            link = prefix + before.marker + before.body
        predicate, body = link + part.marker, part.body
        if len(predicate) > MAX_PREDICATE:
            predicate = prefix + part.marker
        if len(predicate) > MAX_PREDICATE:
            predicate = base + part.marker
        if part.kind == "preposition" and len(body) == 1 and body[0].low == "all":
            continue
        if not trim(body):
            # "to survive": the verb itself is the object.
            if part.kind == "preposition" or not part.marker[1:]:
                if found and index == len(parts) - 1:
                    # "to put on": a preposition without an object belongs to the verb.
                    found[-1].thing = found[-1].thing + [Token(t.text, t.low, tag="n") for t in part.marker]
                continue
            cut = len(part.marker) - 1
            predicate, body = predicate[:-cut], part.marker[-cut:]
        name = _phrase_rule(rule, part, first=index == 0)
        cut = _reduced(body) if rule == "copula" and index + 1 < len(parts) else len(body)
        found += _spread(predicate, body[:cut], name)
        if cut < len(body):
            prefix = base = group + body[cut:]
        if part.kind in {"infinitive", "gerund"}:
            prefix = predicate + carried(body)
            base = group + part.marker
    if not found:
        found = _intransitive(group, prefix)
    return found[:MAX_PIECES]


def _phrase_rule(rule: str, part: Segment, *, first: bool) -> str:
    if part.kind in {"infinitive", "gerund"} and rule != "used_for":
        return "purpose"
    if rule in {"passive", "used_for"}:
        return rule
    if rule == "copula":
        return "copula_phrase"
    return "verb_preposition" if first else "verb_object_preposition"


def _intransitive(group: list[Token], prefix: list[Token]) -> list[Piece]:
    """Make the last word of the group the object: "sound is produced", "it grows quickly"."""
    if len(prefix) > len(group):
        return [Piece(group, prefix[len(group) :], "copula")]
    if len(group) > 1 and group[-1].tag in {"E", "B", "A", "G"}:
        return [Piece(group[:-1], group[-1:], "intransitive")]
    return []
