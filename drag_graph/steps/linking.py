"""Which concepts are the same thing, and what follows (docs/linking.md): names, aliases, vectors; clusters.

Each pair is judged by itself, from what is stored of the two and from nothing that was judged before, so that the result
depends neither on the order nor on how often the judging is begun anew.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from drag_graph.identity import content_id
from drag_graph.steps.guards import entities_differ
from drag_graph.steps.inflection import noun
from drag_graph.steps.surface import abbreviates, entity_key, entity_words

Method = Literal["alias", "name", "embedding"]
METHODS: tuple[Method, ...] = ("name", "alias", "embedding")
"""The first comes first: a pair that several speak for rests on the first of them."""


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """From where on two concepts are the same thing. `cosine` is of their names' vectors, above 1 where vectors decide nothing.

    `share` is of an alias: of the entities that are also called so, the least share that must be of the one concept.
    """

    cosine: float
    share: float = 0.75


MEASURED: Mapping[str, OperatingPoint] = {
    "sentence-transformers/all-MiniLM-L6-v2": OperatingPoint(cosine=0.875),
    "lexical": OperatingPoint(cosine=0.9),
}
"""By embedder, from `bench/linking.py` (docs/linking.md)."""
UNMEASURED = OperatingPoint(cosine=0.95)
"""For an embedder that nobody has measured."""
SHORTEST_ACRONYM = 3
"""Letters: two stand for too many things to be the same one in two queries."""
_DIGITS = 4


def operating_point(embedder_name: str) -> OperatingPoint:
    """Return the measured operating point of an embedder."""
    return MEASURED.get("lexical" if embedder_name.startswith("lexical") else embedder_name, UNMEASURED)


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


def alias_pairs(namespace: str, forms: Iterable[tuple[str, Iterable[str]]]) -> set[tuple[str, str]]:
    """Return which concepts are called by the names of which others, from concepts and other names of their entities."""
    pairs = {(concept, concept_id(namespace, concept_key(form))) for concept, some in forms for form in some}
    return {(concept, alias) for concept, alias in pairs if concept != alias}


def verdict(one: str, other: str, share: float, cosine: float, point: OperatingPoint) -> tuple[Method, float] | None:
    """Return by which method two names are the same thing, and the score, or None when they are not (or nobody can tell).

    `share` in [0, 1]: of the entities that are also called by one of the names, how many are called by the other (0 for none).
    `cosine` in [-1, 1] is that of the names' vectors.
    """
    differ = bool(entities_differ(one, other))
    if not differ and stronger_key(one) == stronger_key(other):
        return "name", 1.0
    if share >= point.share and (not differ or _acronym(one, other)):
        return "alias", round(share, _DIGITS)
    return ("embedding", cosine) if not differ and cosine >= point.cosine else None


def _acronym(one: str, other: str) -> bool:
    """Whether one is a long enough acronym of the other: the guards call those different names.

    A family name alone is none: it means somebody only within one query.
    """
    short, long = sorted((one, other), key=lambda name: (len(name), name))
    return abbreviates(short, long) and sum(map(str.isalnum, short)) >= SHORTEST_ACRONYM


def clusters(entities: Mapping[str, int], joined: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the cluster of each concept: of all that `joined` connects, the one with most entities, then the smallest id.

    `entities` is how many entities each concept has; both ends of every pair are among them. Raises KeyError where one is not.
    """
    parent = {id_: id_ for id_ in entities}

    def find(id_: str) -> str:
        while parent[id_] != id_:
            parent[id_] = parent[parent[id_]]
            id_ = parent[id_]
        return id_

    for left, right in joined:
        one, two = (find(end) for end in (left, right))
        # The one that stands for more wins, so the root is the answer whatever the order of the pairs.
        winner, loser = sorted((one, two), key=lambda id_: (-entities[id_], id_))
        parent[loser] = winner
    return {id_: find(id_) for id_ in entities}
