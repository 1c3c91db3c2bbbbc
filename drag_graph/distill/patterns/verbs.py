"""Verb forms: about nine hundred common verbs, inflected once, and a guess for words not listed.

A word maps to a `Forms`: which inflections it can be, and whether it is seldom anything but a
verb (`pure`). The lists are of this project's own making.
"""

# The numbers are lengths of words, in letters.
# ruff: noqa: PLR2004

from dataclasses import dataclass
from functools import cache

from drag_graph.distill.patterns.words import lexicon

BASE, THIRD, PAST, PARTICIPLE, GERUND = "base", "third", "past", "participle", "gerund"

# Verbs whose base and -s forms are seldom nouns.
NOT_PAST = lexicon("not_past")
NOT_GERUND = lexicon("not_gerund")
# Irregular verbs with a regular past beside: burnt and burned.
_BOTH_WAYS = frozenset({"burn", "leap", "show", "light", "shine"})


@dataclass(frozen=True, slots=True)
class Forms:
    """What a word can be as a verb: the inflections, and whether it is seldom anything else."""

    inflections: frozenset[str]
    pure: bool


def third_person(base: str) -> str:
    """Return the -s form of a base form: carry -> carries, push -> pushes."""
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        return base + "es"
    if base.endswith("y") and base[-2:-1] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


@cache
def _table() -> dict[str, Forms]:
    inflections: dict[str, set[str]] = {}
    nouns = lexicon("verbs_and_nouns")
    irregular = [entry.split("/") for entry in sorted(lexicon("irregular"))]
    irregular_past = {base for base, _, _ in irregular} - _BOTH_WAYS

    def put(word: str, inflection: str) -> None:
        inflections.setdefault(word, set()).add(inflection)

    for base in {*lexicon("verbs"), *nouns, *(entry[0] for entry in irregular)}:
        put(base, BASE)
        put(third_person(base), THIRD)
        stem = base.removesuffix("e")
        put(stem + "ing", GERUND)
        put(base + "ing", GERUND)
        if base not in irregular_past:
            put(stem + "ed", PAST)
            put(stem + "ed", PARTICIPLE)
    for _, past_form, participle in irregular:
        put(past_form, PAST)
        put(participle, PARTICIPLE)
    impure = nouns | {third_person(base) for base in nouns} | lexicon("irregular_nouns")
    return {word: Forms(frozenset(kinds), word not in impure) for word, kinds in inflections.items()}


def forms(word: str) -> Forms | None:
    """Return the verb reading of a lower-case word, from the list or from its ending; None if it has none.

    Args:
        word: one lower-case word.
    """
    listed = _table().get(word)
    if listed is not None:
        return listed
    if len(word) > 4 and word.endswith("ed") and word not in NOT_PAST:
        return Forms(frozenset({PAST, PARTICIPLE}), pure=True)
    if len(word) > 5 and word.endswith("ing") and word not in NOT_GERUND:
        return Forms(frozenset({GERUND}), pure=False)
    return None
