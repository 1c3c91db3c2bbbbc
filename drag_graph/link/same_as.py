"""Decide which concepts are the same thing, by name, alias and vector, and form clusters (docs/decisions/0008-linking.md).

Each pair is judged only from what is stored about the two concepts. The result therefore depends neither on the order of the
pairs nor on earlier judgements.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from drag_graph.graph.contradictions import entities_differ
from drag_graph.graph.name_forms import abbreviates, concept_id, concept_key, stronger_key
from drag_graph.ports.concept_store import Concept, Method


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The thresholds above which two concepts are the same thing.

    `cosine` applies to the vectors of the names; above 1, vectors decide nothing. `share` applies to an alias: the minimum
    fraction of the entities with this alias that must belong to the one concept.
    """

    cosine: float
    share: float = 0.75


MEASURED: Mapping[str, OperatingPoint] = {
    "sentence-transformers/all-MiniLM-L6-v2": OperatingPoint(cosine=0.875),
    "lexical": OperatingPoint(cosine=0.9),
}
"""Operating points by embedder, measured by `bench/linking.py` (docs/decisions/0008-linking.md)."""
UNMEASURED = OperatingPoint(cosine=0.95)
"""For an embedder without measurements."""
SHORTEST_ACRONYM = 3
"""Minimum number of letters. Acronyms of two letters are too ambiguous across sources."""
DIGITS = 4


def operating_point(embedder_name: str) -> OperatingPoint:
    """Return the measured operating point of an embedder."""
    return MEASURED.get("lexical" if embedder_name.startswith("lexical") else embedder_name, UNMEASURED)


def verdict(one: str, other: str, share: float, cosine: float, point: OperatingPoint) -> tuple[Method, float] | None:
    """Return the method by which two names are the same thing and its score, or None if nothing supports that.

    `share` (0 to 1) is the fraction of the entities with one name as alias that are called by the other. `cosine` (-1 to 1)
    is that of the names' vectors.
    """
    differ = bool(entities_differ(one, other))
    if not differ and stronger_key(one) == stronger_key(other):
        return "name", 1.0
    if share >= point.share and (not differ or _acronym(one, other)):
        return "alias", round(share, DIGITS)
    return ("embedding", cosine) if not differ and cosine >= point.cosine else None


def _acronym(one: str, other: str) -> bool:
    """Whether one name is a long enough acronym of the other, which the guards treat as different names.

    A family name alone does not count: it identifies a person only within one source.
    """
    short, long = sorted((one, other), key=lambda name: (len(name), name))
    return abbreviates(short, long) and sum(map(str.isalnum, short)) >= SHORTEST_ACRONYM


def clusters(entities: Mapping[str, int], joined: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the cluster of each concept: of all concepts connected by `joined`, the one with most entities, then smallest id.

    `entities` is the number of entities of each concept. Raises KeyError if an end of a pair is missing from it.
    """
    parent = {id_: id_ for id_ in entities}

    def find(id_: str) -> str:
        while parent[id_] != id_:
            parent[id_] = parent[parent[id_]]
            id_ = parent[id_]
        return id_

    for first, second in joined:
        one, two = (find(end) for end in (first, second))
        # The concept with most entities wins, so the root does not depend on the order of the pairs.
        winner, loser = sorted((one, two), key=lambda id_: (-entities[id_], id_))
        parent[loser] = winner
    return {id_: find(id_) for id_ in entities}


@dataclass
class Names:
    """The names and aliases of all concepts, from which the pairs to judge are derived."""

    concepts: dict[str, Concept]
    called: dict[str, Counter[str]] = field(default_factory=dict)
    """For the concept of an alias: the number of entities with that alias, by their concept."""
    _aliases: dict[str, set[str]] = field(default_factory=dict)
    _alike: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, concepts: Iterable[Concept], namespace: str) -> "Names":
        """Collect names and aliases of all concepts. Call `index` once the names are final."""
        names = cls({})
        for item in concepts:
            names.concepts[item.id] = item
            for variants in item.variants:
                for alias in {concept_id(namespace, concept_key(variant)) for variant in variants} - {item.id}:
                    names.called.setdefault(alias, Counter())[item.id] += 1
        return names

    def index(self) -> None:
        """Prepare `pairs`: index similar names and aliases."""
        for id_, item in self.concepts.items():
            self._alike.setdefault(stronger_key(item.name), []).append(id_)
        self.called = {alias: concepts for alias, concepts in self.called.items() if alias in self.concepts}
        for alias, concepts in self.called.items():
            for id_ in concepts:
                self._aliases.setdefault(id_, set()).add(alias)

    def aliases(self, block: Iterable[str]) -> set[str]:
        """Return the concepts whose names are aliases of these."""
        return {alias for id_ in block for alias in self._aliases.get(id_, ())}

    def pairs(self, block: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield the pairs that a name or alias of these concepts supports, and the pairs whose `share` they change."""
        for id_ in block:
            yield from (pair(id_, other) for other in self._alike[stronger_key(self.concepts[id_].name)] if other != id_)
        for alias in {*block, *self.aliases(block)}:
            yield from (pair(alias, id_) for id_ in self.called.get(alias, ()))

    def share(self, one: str, other: str) -> float:
        """Return the larger fraction of entities with one concept's name as alias that belong to the other concept."""
        return max(_share(self.called.get(one), other), _share(self.called.get(other), one))


def _share(called: Counter[str] | None, concept: str) -> float:
    return called[concept] / called.total() if called else 0.0


def pair(one: str, other: str) -> tuple[str, str]:
    """Return two ids in the order of a judgement."""
    return (one, other) if one < other else (other, one)


def cosine(one: Sequence[float] | None, other: Sequence[float] | None) -> float:
    """Return the cosine of two unit vectors, rounded so that all engines agree; 0 if one is missing."""
    if one is None or other is None or len(one) != len(other):
        return 0.0
    return round(max(-1.0, min(1.0, float(np.dot(np.asarray(one, np.float64), np.asarray(other, np.float64))))), DIGITS)
