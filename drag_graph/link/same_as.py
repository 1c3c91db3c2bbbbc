"""Which concepts are the same thing, and what follows (docs/linking.md): names, aliases, vectors; clusters.

Each pair is judged by itself, from what is stored of the two and from nothing that was judged before, so that the result
depends neither on the order nor on how often the judging is begun anew.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from drag_graph.graph.contradictions import entities_differ
from drag_graph.graph.name_forms import abbreviates
from drag_graph.graph.names import concept_id, concept_key, stronger_key
from drag_graph.ports.concept_store import Concept, Method


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
"""Letters: two stand for too many things to be the same one in two sources."""
DIGITS = 4


def operating_point(embedder_name: str) -> OperatingPoint:
    """Return the measured operating point of an embedder."""
    return MEASURED.get("lexical" if embedder_name.startswith("lexical") else embedder_name, UNMEASURED)


def verdict(one: str, other: str, share: float, cosine: float, point: OperatingPoint) -> tuple[Method, float] | None:
    """Return by which method two names are the same thing, and the score, or None when they are not (or nobody can tell).

    `share` in [0, 1]: of the entities that are also called by one of the names, how many are called by the other (0 for none).
    `cosine` in [-1, 1] is that of the names' vectors.
    """
    differ = bool(entities_differ(one, other))
    if not differ and stronger_key(one) == stronger_key(other):
        return "name", 1.0
    if share >= point.share and (not differ or _acronym(one, other)):
        return "alias", round(share, DIGITS)
    return ("embedding", cosine) if not differ and cosine >= point.cosine else None


def _acronym(one: str, other: str) -> bool:
    """Whether one is a long enough acronym of the other: the guards call those different names.

    A family name alone is none: it means somebody only within one source.
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


@dataclass
class Names:
    """What all concepts are called, and which are also called by whose name: where the pairs to judge come from."""

    concepts: dict[str, Concept]
    called: dict[str, Counter[str]] = field(default_factory=dict)
    """By the concept of another name: how many entities of which concepts have it."""
    _aliases: dict[str, set[str]] = field(default_factory=dict)
    _alike: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, concepts: Iterable[Concept], namespace: str) -> "Names":
        """Read all concepts, once; `index` comes when their names are settled."""
        known = cls({})
        for item in concepts:
            known.concepts[item.id] = item
            for variants in item.variants:
                for alias in {concept_id(namespace, concept_key(variant)) for variant in variants} - {item.id}:
                    known.called.setdefault(alias, Counter())[item.id] += 1
        return known

    def index(self) -> None:
        """Prepare `pairs`: which names are alike, and which are there as other names."""
        for id_, item in self.concepts.items():
            self._alike.setdefault(stronger_key(item.name), []).append(id_)
        self.called = {alias: concepts for alias, concepts in self.called.items() if alias in self.concepts}
        for alias, concepts in self.called.items():
            for id_ in concepts:
                self._aliases.setdefault(id_, set()).add(alias)

    def aliases(self, block: Iterable[str]) -> set[str]:
        """Return the concepts by whose names these are called, too."""
        return {alias for id_ in block for alias in self._aliases.get(id_, ())}

    def pairs(self, block: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield the pairs that a name or an alias of these concepts speaks for, and those whose shares they change."""
        for id_ in block:
            yield from (pair(id_, other) for other in self._alike[stronger_key(self.concepts[id_].name)] if other != id_)
        for alias in {*block, *self.aliases(block)}:
            yield from (pair(alias, id_) for id_ in self.called.get(alias, ()))

    def share(self, one: str, other: str) -> float:
        """Return the greater of the shares: of the entities also called by the one's name, those of the other concept."""
        return max(_share(self.called.get(one), other), _share(self.called.get(other), one))


def _share(called: Counter[str] | None, concept: str) -> float:
    return called[concept] / called.total() if called else 0.0


def pair(one: str, other: str) -> tuple[str, str]:
    """Return two ids as a judgement has them."""
    return (one, other) if one < other else (other, one)


def cosine(one: Sequence[float] | None, other: Sequence[float] | None) -> float:
    """Return the cosine of two unit vectors, rounded, so that every run and engine finds the same; 0 where one is missing."""
    if one is None or other is None or len(one) != len(other):
        return 0.0
    return round(max(-1.0, min(1.0, float(np.dot(np.asarray(one, np.float64), np.asarray(other, np.float64))))), DIGITS)
