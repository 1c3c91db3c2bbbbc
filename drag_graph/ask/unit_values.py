"""Value units and passages for a question, by words, vectors and their surroundings (docs/decisions/0009-search.md).

A small passage is found well, but what answers often stands next to it. So a passage counts for itself, for its neighbours,
for its unit (a chunk, or a query with its evidence) and for its document. Words count by BM25 among the candidates alone:
Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009. Pure functions.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from drag_graph.ports.graph_search import Found, Passage, Unit

UNITS = 100
"""Number of units that are valued."""
SATURATION, LENGTHS = 1.5, 0.75
"""The parameters k1 and b of BM25."""
AFTER, BEFORE = 0.99, 0.8
"""Fractions of a passage's value that the passage after it and the one before it have at least: answers follow questions."""
UNIT_COSINE = 2.0
"""Weight of the mean cosine of a unit's passages: it is about half of the cosine of the whole text."""
WHOLE = 0.25
"""Fraction of its best passage that counts for all passages of a source."""
FIRST, FIRST_SOURCES = 1.1, 24
"""Factor for the best passage of each of the best sources, so that several sources are shown."""


@dataclass(frozen=True, slots=True)
class Valued:
    """A passage, its unit, and its value for the question: above 0, unless a walk moves its unit back."""

    passage: Passage
    unit: Unit
    value: float

    def times(self, factor: float) -> "Valued":
        """Return this with a value that is higher for a factor above 1, and lower for one below, even of a negative value."""
        return replace(self, value=self.value + abs(self.value) * (factor - 1))


def best_units(found: Found, first: Sequence[str] = ()) -> list[str]:
    """Return the ids of the units to value: `first`, then the best by what a search found, ties by id."""
    most, most_unit = max(found.by_words.values(), default=1.0), max(found.units_by_words.values(), default=1.0)
    scores: dict[str, float] = {}
    for id_, unit in found.unit_of.items():
        score = max(found.by_vector.get(id_, 0.0), 0.0) + found.by_words.get(id_, 0.0) / most
        scores[unit] = max(scores.get(unit, 0.0), score)
    for unit, score in found.units_by_words.items():
        scores[unit] = scores.get(unit, 0.0) + score / most_unit
    ranked = sorted(scores, key=lambda id_: (-scores[id_], id_))
    return list(dict.fromkeys([*first, *ranked[:UNITS]]))


@dataclass(frozen=True, slots=True)
class Scores:
    """BM25 scores, divided by the highest one, of the passages that a search hit and of whole units, by id."""

    passages: Mapping[str, float]
    units: Mapping[str, float]


def scores_of(units: Sequence[Unit], terms: Sequence[str], found: Found) -> Scores:
    """Return the scores of units and of their hits; of a unit without a hit, all passages count as hits."""
    with_hits = set(found.unit_of.values())
    hits = [passage for unit in units for passage in unit.passages if passage.id in found.unit_of or unit.id not in with_hits]
    words = _scaled_bm25([passage.terms for passage in hits], terms)
    whole = _scaled_bm25([unit.terms for unit in units], terms)
    return Scores(
        {passage.id: score for passage, score in zip(hits, words, strict=True)},
        {unit.id: score for unit, score in zip(units, whole, strict=True)},
    )


def unit_values(units: Sequence[Unit], scores: Scores) -> dict[str, float]:
    """Return the value of each unit by id: words and cosine of the whole, and of its best passage."""
    return {
        unit.id: max([0.0, *(_own_value(passage, scores, 0.5) for passage in unit.passages if passage.id in scores.passages)])
        + scores.units[unit.id] / 2
        + _mean_cosine(unit)
        for unit in units
    }


def passage_values(units: Sequence[Unit], scores: Scores) -> list[Valued]:
    """Return the passages with a value, best first, ties by text."""
    own = {
        passage.id: _own_value(passage, scores) for unit in units for passage in unit.passages if passage.id in scores.passages
    }
    near = {unit.id: _with_neighbours(unit, own) for unit in units}
    best: dict[str, float] = {}
    for unit in units:
        best[unit.source_id] = max([best.get(unit.source_id, 0.0), *near[unit.id].values()])
    valued = [
        Valued(passage, unit, near[unit.id][passage.id] + around)
        for unit in units
        for around in [scores.units[unit.id] + _mean_cosine(unit) + WHOLE * best[unit.source_id]]
        for passage in unit.passages
        if near[unit.id][passage.id] > 0 or not unit.is_document
    ]
    return sorted(valued, key=order_of)


def by_walk(valued: Sequence[Valued], ranks: Mapping[str, float], weight: float) -> list[Valued]:
    """Return the passages with the units in the order of a walk, as far as `weight` (0 to 1) says.

    At weight 1, the best passages of the units have the same values as before, in the order of the ranks. Units without a
    fact, such as a table, have no rank and keep their values.
    """
    best: dict[str, float] = {}
    texts: dict[str, tuple[str, int, str]] = {}
    for item in valued:
        unit = item.unit
        if unit.id in ranks:
            best[unit.id] = max(best.get(unit.id, 0.0), item.value)
            texts.setdefault(unit.id, (unit.title, unit.position, unit.id))  # ids depend on paths
    walked = sorted(best, key=lambda id_: (-ranks[id_], -best[id_], texts[id_]))
    shifts = {id_: weight * (value - best[id_]) for id_, value in zip(walked, sorted(best.values(), reverse=True), strict=True)}
    return sorted((replace(item, value=item.value + shifts.get(item.unit.id, 0.0)) for item in valued), key=order_of)


def with_several_sources(valued: Sequence[Valued]) -> list[Valued]:
    """Return the passages with a higher value for the best one of each of the best sources."""
    raised, sources = list[Valued](), set[str]()
    for item in valued:
        is_first = item.unit.source_id not in sources and len(sources) < FIRST_SOURCES
        sources.add(item.unit.source_id)
        raised.append(item.times(FIRST) if is_first else item)
    return sorted(raised, key=order_of)


def _own_value(passage: Passage, scores: Scores, words: float = 1.0) -> float:
    return max(passage.cosines[0], 0.0) + words * scores.passages[passage.id]


def _with_neighbours(unit: Unit, own: Mapping[str, float]) -> dict[str, float]:
    """Return the value of each passage of a unit; neighbours in a document count."""
    values = {passage.id: own.get(passage.id, 0.0) for passage in unit.passages}
    if unit.is_document:
        for before, after in pairwise(unit.passages):
            values[after.id] = max(values[after.id], AFTER * own.get(before.id, 0.0))
            values[before.id] = max(values[before.id], BEFORE * own.get(after.id, 0.0))
    return values


def _mean_cosine(unit: Unit) -> float:
    mean = sum(passage.cosines[0] for passage in unit.passages) / max(len(unit.passages), 1)
    return UNIT_COSINE * max(mean, 0.0)


def _scaled_bm25(texts: Sequence[str], terms: Sequence[str]) -> list[float]:
    """Return the BM25 score of each text, given as terms, divided by the highest one."""
    words = [text.split() for text in texts]
    mean = sum(map(len, words)) / max(len(words), 1) or 1.0
    scores = [0.0] * len(words)
    for term in dict.fromkeys(terms):
        numbers = [(place, text.count(term)) for place, text in enumerate(words)]
        having = [(place, number) for place, number in numbers if number]
        weight = math.log(1 + (len(words) - len(having) + 0.5) / (len(having) + 0.5))
        for place, number in having:
            length = SATURATION * (1 - LENGTHS + LENGTHS * len(words[place]) / mean)
            scores[place] += weight * number * (SATURATION + 1) / (number + length)
    most = max(scores, default=0.0) or 1.0
    return [score / most for score in scores]


def order_of(item: Valued) -> tuple[float, str, str]:
    """Return what passages are sorted by: best first, ties by text."""
    return (-item.value, item.passage.text, item.passage.id)
