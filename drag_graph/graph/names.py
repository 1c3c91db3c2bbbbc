"""The normal names that concepts stand for, and the ids made of them (docs/linking.md)."""

from drag_graph.graph.inflection import noun
from drag_graph.graph.surface import entity_key, entity_words
from drag_graph.identity import content_id


def concept_key(name: str) -> str:
    """Return the normal name: case, accents, articles, hyphens, British spelling, plurals of plain words do not matter."""
    return entity_key(name)


def concept_id(namespace: str, key: str) -> str:
    """Return the id of the concept of a normal name."""
    return content_id(namespace, "concept", key)


def same_as_id(namespace: str, one: str, other: str) -> str:
    """Return the id of the judgement on two concepts, whichever is named first."""
    return content_id(namespace, "same_as", *sorted((one, other)))


def stronger_key(name: str) -> str:
    """Return the normal name with every word in the singular, capitalised ones too ("Cells" is "cell")."""
    return " ".join(noun(word) for word in entity_words(name))
