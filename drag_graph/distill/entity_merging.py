"""Merge the entity names and the predicates of one subgraph that mean the same (measured in docs/explanation/pipeline.md).

Names merge by key, then by acronym, then by embedding: if the cosine reaches a threshold and no guard objects
(`drag_graph.graph.contradictions`). The result does not depend on the order of the names.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from drag_graph.graph.contradictions import entities_differ, predicates_differ
from drag_graph.graph.name_forms import (
    abbreviates,
    acronym_aside,
    acronym_words,
    common_words,
    entity_key,
    fold,
    is_acronym,
    predicate_key,
    spaced,
    tokens,
)
from drag_graph.ports.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The minimum cosines (0 to 1) for merging two entity names or two predicates.

    A predicate is embedded within the sentence `frame`, because a bare verb means little to a sentence model. For an embedder
    of spellings the frame is empty: it would make all predicates similar.
    """

    entity: float
    predicate: float
    frame: str = "X {} Y"


MEASURED: Mapping[str, Thresholds] = {
    "sentence-transformers/all-MiniLM-L6-v2": Thresholds(entity=0.825, predicate=0.825),
    "lexical": Thresholds(entity=0.8, predicate=0.7, frame="{}"),
}
"""The best thresholds by embedder, measured by `bench/entity_merging.py`."""
COMPARED = 2_000
"""Number of names, or of predicates, of a subgraph that are compared by vector. The time grows with its square."""
UNMEASURED = Thresholds(entity=0.9, predicate=0.85)
"""For an embedder without measurements."""


def thresholds_for(embedder_name: str, similarity: float | None = None) -> Thresholds:
    """Return the measured thresholds of an embedder, or `similarity` for both."""
    measured = MEASURED.get("lexical" if embedder_name.startswith("lexical") else embedder_name, UNMEASURED)
    return measured if similarity is None else replace(measured, entity=similarity, predicate=similarity)


class _Groups:
    """Disjoint groups of positions."""

    def __init__(self, size: int) -> None:
        self._group_of = [[position] for position in range(size)]

    def of(self, position: int) -> list[int]:
        return self._group_of[position]

    def join(self, first: int, second: int) -> None:
        smaller, larger = sorted((self.of(first), self.of(second)), key=len)
        if smaller is not larger:
            larger += smaller
            for position in smaller:
                self._group_of[position] = larger

    def all(self) -> list[list[int]]:
        return list({id(group): group for group in self._group_of}.values())


def entity_keys(name: str, common: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the keys of a name: one, or two for "long form (LF)"."""
    aside = acronym_aside(name)
    return frozenset(entity_key(part, common) for part in (aside or (name,)))


def merge_entities(names: Sequence[str], vectors: Vectors, threshold: float) -> list[list[int]]:
    """Return the positions of distinct `names` in groups, one group per entity.

    `vectors` has a unit row for each of the first names; the others merge by key and acronym. Groups join by embedding only if
    the guards see no difference between any name of one and any name of the other.
    """
    common = common_words(names)
    return _merged(names, lambda name: entity_keys(name, common), vectors, threshold, entities_differ, acronyms=True)


def predicate_text(predicate: str, frame: str) -> str:
    """Return the text that is embedded for a predicate."""
    return frame.format(spaced(predicate))


def merge_predicates(predicates: Sequence[str], vectors: Vectors, threshold: float) -> list[list[int]]:
    """Return the positions of distinct `predicates` in groups, one group per relation.

    `vectors` has a unit row for the `predicate_text` of each of the first ones; the others merge by key.
    """
    return _merged(predicates, lambda text: frozenset((predicate_key(text),)), vectors, threshold, predicates_differ)


def _merged(
    names: Sequence[str],
    keys_of: Callable[[str], frozenset[str]],
    vectors: Vectors,
    threshold: float,
    differ: Callable[[str, str], str],
    *,
    acronyms: bool = False,
) -> list[list[int]]:
    order = sorted(range(len(names)), key=lambda position: names[position])
    ordered = [names[position] for position in order]
    groups = _Groups(len(ordered))
    first: dict[str, int] = {}
    for position, name in enumerate(ordered):
        for key in sorted(keys_of(name)):
            groups.join(first.setdefault(key, position), position)
    if acronyms:
        _join_acronyms(ordered, groups)
    compared = [place for place, position in enumerate(order) if position < len(vectors)]
    _join_by_vector(ordered, compared, vectors[[order[place] for place in compared]], threshold, groups=groups, differ=differ)
    return sorted(sorted(order[position] for position in group) for group in groups.all())


def _join_acronyms(names: Sequence[str], groups: _Groups) -> None:
    """Join an acronym with its long form, if all matching long forms are one entity."""
    by_initial: dict[str, list[int]] = {}
    for position, name in enumerate(names):
        by_initial.setdefault("".join(acronym_words(name)[:1])[:1], []).append(position)
    for position, short in enumerate(names):
        if not is_acronym(short) or len(tokens(short)) != 1:
            continue
        alike = by_initial.get(fold(short)[:1], ())
        long = [other for other in alike if other != position and abbreviates(short, names[other])]
        if long and all(groups.of(other) is groups.of(long[0]) for other in long):
            groups.join(position, long[0])


def _join_by_vector(
    names: Sequence[str],
    compared: Sequence[int],
    vectors: Vectors,
    threshold: float,
    *,
    groups: _Groups,
    differ: Callable[[str, str], str],
) -> None:
    cosines = np.triu(vectors @ vectors.T, k=1)
    pairs = [(int(left), int(right)) for left, right in np.argwhere(cosines >= threshold)]
    cached = cache(differ)  # a group that has grown is compared again
    # The nearest first. Rounded, because the last bits of a vector must not decide between two pairs.
    for _, left, right in sorted((round(-float(cosines[pair]), 5), *pair) for pair in pairs):
        one, two = groups.of(compared[left]), groups.of(compared[right])
        if one is not two and not any(cached(names[here], names[there]) for here in one for there in two):
            groups.join(compared[left], compared[right])
