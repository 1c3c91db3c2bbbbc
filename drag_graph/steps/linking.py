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
"""The strongest first: a pair that several speak for rests on the first of them."""


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


def same_by_name(one: str, other: str) -> bool:
    """Whether two names of one `stronger_key` are the same thing: no guard sees a difference."""
    return stronger_key(one) == stronger_key(other) and not entities_differ(one, other)


def same_by_alias(name: str, alias: str, share: float, point: OperatingPoint) -> bool:
    """Whether a concept is the same thing as the one that its entities' other name is the name of.

    `share` in [0, 1]: of the entities that are also called `alias`, how many are called `name`. A family name alone, which a
    guard refuses, means somebody only within one query. An acronym is exempt from the guards when it is long enough.
    """
    if share < point.share:
        return False
    short, long = sorted((name, alias), key=len)
    acronym = abbreviates(short, long) and sum(map(str.isalnum, short)) >= SHORTEST_ACRONYM
    return acronym or not entities_differ(name, alias)


def same_by_vector(one: str, other: str, cosine: float, point: OperatingPoint) -> bool:
    """Whether two names are the same thing by the cosine of their vectors: near enough, and no guard knows better."""
    return cosine >= point.cosine and not entities_differ(one, other)


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
