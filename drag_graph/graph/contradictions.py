"""Guards against merging different things whose vectors are similar (docs/explanation/pipeline.md, "canonical form").

Embeddings of opposites are similar: "hot" and "cold", "type 1" and "type 2", "causes" and "is caused by". Each guard
returns the reason why two names, predicates or statements differ, in words that can be shown, or "" when it sees none.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

from drag_graph.graph.inflection import noun, verb
from drag_graph.graph.name_forms import ARTICLES, PREPOSITIONS, clean, entity_words, fold, predicate_words, spelt_out, tokens
from drag_graph.graph.number_conflicts import conflicting_values
from drag_graph.graph.word_lists import word_groups, word_list, word_table
from drag_graph.model import Triple

_NEGATIONS = word_list("negations")
_TITLES = word_list("titles")
_ROMAN = word_table("roman")
_NUMBERS = word_table("number_words")
_NEGATIVE_PREFIXES = word_list("negative_prefixes")
_PAIRED_PREFIXES = [entry.split("/") for entry in word_list("paired_prefixes")]
_DERIVATIONS = word_list("derivations")
_ADDING_NOTHING = word_list("empty") | _TITLES | PREPOSITIONS | {"of", "and", "or"}
_PRONOUNS = word_list("pronouns")
_MIN_STEM = 3
_DENYING_PREFIXES = ("un", "non", "dis", "in", "im", "contra")


def _opposites(name: str) -> dict[str, set[str]]:
    """Return the words that exclude each word of a list of groups."""
    table: dict[str, set[str]] = {}
    for group in word_groups(name):
        sides = [side.split() for side in group.split("/")] if "/" in group else [[word] for word in group.split()]
        forms = [{form for word in side for form in (word, noun(word))} for side in sides]
        for side in forms:
            for other in forms:
                if other is not side:
                    for word in side:
                        table.setdefault(word, set()).update(other - side)
    return table


_EXCLUDED = _opposites("opposites")
_DENIED = _opposites("contraries")
_WEAK = (word_list("qualifiers") | PREPOSITIONS | {"of", "than"}) - _DENIED.keys()
_DENYING = _NEGATIONS | {"longer"}
_DIRECTIONS = [[side.strip().split(", ") for side in relation.split(">")] for relation in word_groups("directions")]
"""The predicates of each relation, forward and backward."""


def entities_differ(first: str, second: str) -> str:
    """Return why two entity names cannot be one thing, or ""."""
    one, two = (tuple(noun(word) for word in entity_words(name)) for name in (first, second))
    only_one, only_two = _difference(one, two)
    return (
        numbers_differ(first, second)
        or _negation_differs(one, two)
        or _opposed(only_one, only_two)
        or _names_differ(first, second)
        or _narrower(one, two, only_one, only_two)
    )


def predicates_differ(first: str, second: str) -> str:
    """Return why two predicates cannot be one relation, or "": negation, direction, opposites, numbers."""
    one, two = predicate_words(first), predicate_words(second)
    only_one, only_two = _difference(one, two)
    return (
        numbers_differ(first, second)
        or _negation_differs(one, two)
        or _direction_differs(one, two)
        or _opposed(only_one, only_two)
        or ("different comparisons" if one != two and "than" in {*one, *two} else "")  # "larger than" and "smaller than"
        or _says_too_little(one, two)
    )


def predicates_contradict(first: str, second: str) -> str:
    """Return why two predicates cannot both hold of one ordered pair, or "": one negates the other, or says the contrary."""
    one, two = predicate_words(first), predicate_words(second)
    only_one, only_two = ([word for word in words if word not in _WEAK] for words in _difference(one, two))
    if _negation_differs(one, two):
        # "No longer" is one negation; in "lives longer with" the word says more than the other predicate does.
        denying = _NEGATIONS | ({"longer"} if ("no", "longer") in {*pairwise(one), *pairwise(two)} else set())
        return "" if set(only_one).symmetric_difference(only_two) - denying else "one is negated"
    if len(only_one) != 1 or len(only_two) != 1:
        return ""
    left, right = only_one[0], only_two[0]
    shorter, longer = sorted((left, right), key=len)
    denied = right in _DENIED.get(left, ()) or longer in {prefix + shorter for prefix in _DENYING_PREFIXES}
    return f'"{left}" denies "{right}"' if denied else ""


def contradicted(predicates: Collection[str]) -> dict[str, set[str]]:
    """Return the predicates that contradict each of these (`predicates_contradict`).

    Only predicates of the same words, except for a negation or one contrary, are compared: one pair of a long document can have
    thousands of predicates.
    """
    if len(predicates) == 1:
        return {}
    contents = {text: frozenset(predicate_words(text)) - _WEAK for text in predicates}
    alike: dict[frozenset[str], set[str]] = {}
    for text, words in contents.items():
        for content in (words, words - _DENYING):
            alike.setdefault(content, set()).add(text)
    result = {}
    for text, words in contents.items():
        others = [words - _DENYING, *((words - {word}) | {denial} for word in words for denial in _denials(word))]
        candidates = {other for content in others for other in alike.get(frozenset(content), ())} - {text}
        result[text] = {other for other in candidates if predicates_contradict(text, other)}
    return result


def _denials(word: str) -> set[str]:
    added = {prefix + word for prefix in _DENYING_PREFIXES}
    return added | {word.removeprefix(prefix) for prefix in _DENYING_PREFIXES} | _DENIED.get(word, set())


def statements_differ(first: str, second: str) -> str:
    """Return why two sentences that read alike still say different things, or "": numbers, negation, opposites."""
    one, two = (tuple(noun(fold(word)) for word in tokens(spelt_out(text))) for text in (first, second))
    differing = _difference(one, two)
    return numbers_differ(first, second) or _negation_differs(one, two) or _opposed(*differing) or _denied(*differing)


def _denied(only_one: list[str], only_two: list[str]) -> str:
    """Return "opposites" where a verb of one sentence alone denies one of the other's, such as "improves" and "worsens"."""
    left, right = ({verb(word) for word in words} for words in (only_one, only_two))
    return "opposites" if any(right & _DENIED.get(word, frozenset()) for word in left) else ""


def numbers_differ(first: str, second: str) -> str:
    """Return "different numbers" when the numbers, numerals or single letters in two texts are not the same, else ""."""
    return "" if _numbers(first) == _numbers(second) else "different numbers"


def _numbers(text: str) -> list[str]:
    words = tokens(text)
    numbers = []
    for place, word in enumerate(words):
        previous = words[place - 1] if place else ""
        low = fold(word)
        if word[0].isdigit():
            numbers.append(word.replace(",", ""))
        elif low in _NUMBERS and low not in {"second", "half"}:
            numbers.append(_NUMBERS[low])
        elif low in _ROMAN and previous and word.isupper():
            numbers.append(_ROMAN[low])
        elif len(word) == 1 and word.isupper() and previous and (place == len(words) - 1 or previous[0].islower()):
            # The letter names a kind ("hepatitis A"); it is not an initial of a name.
            numbers.append({"i": "1"}.get(low, low))
    return sorted(numbers)


def _difference(one: tuple[str, ...], two: tuple[str, ...]) -> tuple[list[str], list[str]]:
    return [word for word in one if word not in two], [word for word in two if word not in one]


def _negation_differs(one: tuple[str, ...], two: tuple[str, ...]) -> str:
    return "" if bool(_NEGATIONS.intersection(one)) == bool(_NEGATIONS.intersection(two)) else "one is negated"


def _opposed(only_one: list[str], only_two: list[str]) -> str:
    for left in only_one:
        for right in only_two:
            if _opposite_words(left, right):
                return f'"{left}" is not "{right}"'
    return ""


def _opposite_words(left: str, right: str) -> bool:
    if left == right:
        return False
    if right in _EXCLUDED.get(left, ()):
        return True
    shorter, longer = sorted((left, right), key=len)
    if len(shorter) > _MIN_STEM and any(longer == prefix + shorter for prefix in _NEGATIVE_PREFIXES):
        return True
    for one, two in _PAIRED_PREFIXES:
        for here, there in ((one, two), (two, one)):
            stem = left.removeprefix(here)
            if stem != left and right == there + stem and len(stem) >= _MIN_STEM:
                return True
    return any(longer == shorter + suffix or longer == shorter.removesuffix("e") + suffix for suffix in _DERIVATIONS)


def _names_differ(first: str, second: str) -> str:
    """Proper names are the same only when titles and initials make the difference."""
    if not (is_name(first) and is_name(second)):
        return ""
    one, two = _name_words(first), _name_words(second)
    if one != two and {clean(first), clean(second)} == {clean(first).upper(), clean(second).upper()}:
        return "different acronyms"
    return "" if one == two or _initials_fit(one, two) else "different proper names"


def _name_words(name: str) -> list[str]:
    """Return the words that make a proper name, without titles before it, numerals as digits."""
    words = [fold(word) for word in tokens(name) if fold(word) not in ARTICLES | {"of"}]
    words = words[:1] + [_ROMAN.get(word, word) for word in words[1:]]
    while len(words) > 1 and words[0] in _TITLES:
        words = words[1:]
    return words


def is_name(text: str) -> bool:
    """Whether every word of a text that can be is capitalised, as in a proper name; "Jong-un" is one word."""
    words = [word.lstrip("('\"") for word in clean(text).split()]
    words = [word for word in words if word[:1].isalpha() and fold(word) not in ARTICLES | PREPOSITIONS | {"of", "and", "de"}]
    return bool(words) and all(word[0].isupper() for word in words)


def _initials_fit(one: list[str], two: list[str]) -> bool:
    """Whether two names have one family name and given names that fit ("J. K. Rowling", "Joanne K. Rowling")."""
    if len(one) < 2 or len(two) < 2 or one[-1] != two[-1]:  # noqa: PLR2004
        return False
    shorter, longer = sorted((one[:-1], two[:-1]), key=len)
    fits = all(left.startswith(right) or right.startswith(left) for left, right in zip(shorter, longer, strict=False))
    return fits and any(len(word) == 1 for word in (*one, *two))


def _narrower(one: tuple[str, ...], two: tuple[str, ...], only_one: list[str], only_two: list[str]) -> str:
    """Tell a name from one that it contains: with more content words it is a kind or a part of it, not the same."""
    extra_one, extra_two = ([word for word in words if word not in _ADDING_NOTHING] for words in (only_one, only_two))
    if extra_one and extra_two:
        return ""
    extra = extra_one + extra_two
    if extra:
        return f'only one has "{extra[0]}"'
    return "" if only_one or only_two or sorted(one) == sorted(two) else "different words"


def _direction_differs(one: tuple[str, ...], two: tuple[str, ...]) -> str:
    left, right = " ".join(one), " ".join(two)
    for forward, backward in _DIRECTIONS:
        if (left in forward and right in backward) or (right in forward and left in backward):
            return "opposite directions"
    if ("by" in one) != ("by" in two):
        return "one is passive"
    if one[:-1] == two[:-1] and {one[-1], two[-1]} <= PREPOSITIONS:
        return "" if one == two else f'"{one[-1]}" is not "{two[-1]}"'
    turned = one[:1] == two[:1] and one[-1] != two[-1] and {one[-1], two[-1]} & {"from", "by"}
    return "opposite directions" if turned else ""


def _says_too_little(one: tuple[str, ...], two: tuple[str, ...]) -> str:
    light = {("be",), ("have",), ("do",), ("can",)}
    return "a bare auxiliary is near to everything" if one != two and (one in light or two in light) else ""


def sounds_like_pronoun(text: str) -> bool:
    """Whether an end of a triple is a bare pronoun, which names nothing by itself."""
    return fold(clean(text)) in _PRONOUNS


_POINTING = re.compile(r"^(?:this|that|these|those|such|the same|the said)\s+", re.IGNORECASE)


def pointed_at(text: str) -> str:
    """Return what a pointing phrase points with ("this disease" gives "disease"), or "" when it points at nothing."""
    cleaned = clean(text)
    match = _POINTING.match(cleaned)
    return cleaned[match.end() :] if match else ""


_REPEATABLE, _ONCE = word_list("repeatable"), word_list("once")


def with_opposition(triples: Iterable[Triple]) -> tuple[Triple, ...]:
    """Return the triples, each with what contradicts it (`Triple.opposes`): predicates of its pair, other numbers or dates."""
    items = tuple(triples)
    by_number = _other_numbers(items)
    keys: dict[tuple[str, str], set[str]] = {}
    for item in items:
        keys.setdefault((item.subject_id, item.object_id), set()).add(item.predicate_key)
    denied = {pair: contradicted(parallel) for pair, parallel in keys.items()}
    result = []
    for item in items:
        keys_of_pair = denied[item.subject_id, item.object_id].get(item.predicate_key, set())
        opposed = tuple(sorted(keys_of_pair | by_number.get((item.subject_id, item.claim), set())))
        result.append(item.model_copy(update={"opposes": opposed}) if opposed != item.opposes else item)
    return tuple(result)


def _other_numbers(triples: Sequence[Triple]) -> dict[tuple[str, str], set[str]]:
    """Return the claims, by subject and claim, with the same subject and predicate and an object of another number or date.

    What one evidence states together is a list ("won in 1998 and 2002"). Most events can repeat: only what happens once, or is
    due, has one date.
    """
    groups: dict[tuple[str, str], dict[str, set[str]]] = {}
    for item in triples:
        evidence = groups.setdefault((item.subject_id, item.predicate_key), {}).setdefault(item.object, set())
        evidence.add(item.evidence_id)
    rivals: dict[tuple[str, str], set[str]] = {}
    for (subject_id, key), objects in groups.items():
        words = set(key.split("_"))
        if len(objects) == 1 or words & _REPEATABLE:
            continue
        for one, two in conflicting_values(sorted(objects), dates=bool(words & _ONCE)):
            if not objects[one] & objects[two]:
                rivals.setdefault((subject_id, f"{key} {one}"), set()).add(f"{key} {two}")
                rivals.setdefault((subject_id, f"{key} {two}"), set()).add(f"{key} {one}")
    return rivals
