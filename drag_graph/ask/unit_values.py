"""Value units and passages for a question, by words, vectors and their surroundings (docs/adr/0048).

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
NEIGHBOUR = 0.8
"""Fraction of a passage's value that its neighbours in the unit have at least."""
UNIT_COSINE = 2.0
"""Weight of the mean cosine of a unit's passages: it is about half of the cosine of the whole text."""
WHOLE = 0.25
"""Fraction of its best passage that counts for all passages of a source."""
FIRST, FIRST_SOURCES = 1.1, 12
"""Factor for the best passage of each of the best sources, so that several sources are shown."""


@dataclass(frozen=True, slots=True)
class Valued:
    """A passage, its unit, its value for the question (0 or more), and the value of its own text alone."""

    passage: Passage
    unit: Unit
    value: float
    own: float


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


def unit_values(units: Sequence[Unit], terms: Sequence[str]) -> dict[str, float]:
    """Return the value of each unit by id: words and cosine of the whole, and of its best passage."""
    whole = _scaled_bm25([unit.terms for unit in units], terms)
    own = _own_values([(unit, passage) for unit in units for passage in unit.passages], terms, words=0.5)
    return {
        unit.id: max([0.0, *(own[passage.id] for passage in unit.passages)]) + score / 2 + _mean_cosine(unit)
        for unit, score in zip(units, whole, strict=True)
    }


def passage_values(units: Sequence[Unit], terms: Sequence[str], found: Found) -> list[Valued]:
    """Return the passages with a value, best first, ties by text."""
    with_hits = set(found.unit_of.values())
    hits = [
        (unit, passage)
        for unit in units
        for passage in unit.passages
        if passage.id in found.unit_of or unit.id not in with_hits
    ]
    own = _own_values(hits, terms)
    whole = dict(zip([unit.id for unit in units], _scaled_bm25([unit.terms for unit in units], terms), strict=True))
    near = {unit.id: _with_neighbours(unit, own) for unit in units}
    best: dict[str, float] = {}
    for unit in units:
        best[unit.source_id] = max([best.get(unit.source_id, 0.0), *near[unit.id].values()])
    valued = [
        Valued(passage, unit, near[unit.id][passage.id] + around, own.get(passage.id, 0.0))
        for unit in units
        for around in [whole[unit.id] + _mean_cosine(unit) + WHOLE * best[unit.source_id]]
        for passage in unit.passages
        if near[unit.id][passage.id] > 0
    ]
    return sorted(valued, key=_order)


def by_walk(valued: Sequence[Valued], ranks: Mapping[str, float], weight: float) -> list[Valued]:
    """Return the passages with the units in the order of a walk, as far as `weight` (0 to 1) says.

    At weight 1, the best passages of the units have the same values as before, in the order of the ranks.
    """
    best: dict[str, float] = {}
    texts: dict[str, tuple[str, int, str]] = {}
    for item in valued:
        unit = item.unit
        best[unit.id] = max(best.get(unit.id, 0.0), item.value)
        texts.setdefault(unit.id, (unit.title, unit.position, unit.id))  # ids depend on paths
    walked = sorted(best, key=lambda id_: (-ranks.get(id_, 0.0), -best[id_], texts[id_]))
    shifts = {id_: weight * (value - best[id_]) for id_, value in zip(walked, sorted(best.values(), reverse=True), strict=True)}
    return sorted((replace(item, value=item.value + shifts[item.unit.id]) for item in valued), key=_order)


def with_several_sources(valued: Sequence[Valued]) -> list[Valued]:
    """Return the passages with a higher value for the best one of each of the best sources."""
    raised, sources = list[Valued](), set[str]()
    for item in valued:
        is_first = item.unit.source_id not in sources and len(sources) < FIRST_SOURCES
        sources.add(item.unit.source_id)
        raised.append(replace(item, value=item.value * FIRST) if is_first else item)
    return sorted(raised, key=_order)


def _own_values(passages: Sequence[tuple[Unit, Passage]], terms: Sequence[str], words: float = 1.0) -> dict[str, float]:
    scores = _scaled_bm25([passage.terms for _, passage in passages], terms)
    return {
        passage.id: max(passage.cosines[0], 0.0) + words * score for (_, passage), score in zip(passages, scores, strict=True)
    }


def _with_neighbours(unit: Unit, own: Mapping[str, float]) -> dict[str, float]:
    """Return the value of each passage of a unit; neighbours in a document count."""
    values = {passage.id: own.get(passage.id, 0.0) for passage in unit.passages}
    if unit.is_document:
        for before, after in pairwise(unit.passages):
            values[after.id] = max(values[after.id], NEIGHBOUR * own.get(before.id, 0.0))
            values[before.id] = max(values[before.id], NEIGHBOUR * own.get(after.id, 0.0))
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


def _order(item: Valued) -> tuple[float, str, str]:
    return (-item.value, item.passage.text, item.passage.id)
