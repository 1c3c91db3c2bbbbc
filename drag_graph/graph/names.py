"""Choose an entity's name among its variants, and normalise names for concepts (docs/decisions/0008-linking.md)."""

from collections import Counter
from collections.abc import Iterable

from drag_graph.graph.inflection import noun
from drag_graph.graph.name_forms import ARTICLES, abbreviates, acronym_aside, entity_key, entity_words
from drag_graph.identity import content_id


def concept_key(name: str) -> str:
    """Return the normal name: case, accents, articles, hyphens, British spelling, plurals of plain words do not matter."""
    return entity_key(name)


def concept_ids(namespace: str, keys: Iterable[str]) -> list[str]:
    """Return the ids of the concepts of normal names, each once, in their order."""
    return list(dict.fromkeys(concept_id(namespace, key) for key in keys))


def concept_id(namespace: str, key: str) -> str:
    """Return the id of the concept of a normal name."""
    return content_id(namespace, "concept", key)


def same_as_id(namespace: str, one: str, other: str) -> str:
    """Return the id of the judgement on two concepts, whichever is named first."""
    return content_id(namespace, "same_as", *sorted((one, other)))


def stronger_key(name: str) -> str:
    """Return the normal name with every word in the singular, capitalised ones too ("Cells" is "cell")."""
    return " ".join(noun(word) for word in entity_words(name))


def canonical_name(counts: dict[str, int]) -> str:
    """Return the name of an entity: a full name before its acronym, then the most frequent, then the shortest.

    A leading article goes, unless it belongs to a proper name ("The Beatles"), and so does an acronym in brackets.
    """
    plain: Counter[str] = Counter()
    for name, count in counts.items():
        plain[_bare(name)] += count
    names = sorted(plain)

    def order(name: str) -> tuple[bool, int, int, bool, str]:
        part = any(other != name and abbreviates(name, other) for other in names)
        return (part, -plain[name], len(name), name[:1].isupper(), name)

    return min(names, key=order)


def _bare(name: str) -> str:
    aside = acronym_aside(name)
    words = (aside[0] if aside else name).split()
    if len(words) > 1 and words[0].casefold() in ARTICLES and not words[1][0].isupper():
        words = words[1:]
    return " ".join(words)
