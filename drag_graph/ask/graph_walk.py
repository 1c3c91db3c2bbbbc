"""Rank units by a walk over the graph that begins at the facts nearest to a question (docs/decisions/0009-search.md).

Personalised PageRank over concepts and units, after HippoRAG (Gutierrez et al., "HippoRAG: Neurobiologically Inspired
Long-Term Memory for Large Language Models", 2024, and "From RAG to Memory", 2025). A unit is linked to the concepts of its
facts, and two concepts by each fact about both. Pure functions.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from drag_graph.ports.graph_search import Fact

Numbers = NDArray[np.float64]

SEEDS = 5
"""Number of facts that the walk begins at."""
DAMPING = 0.5
UNIT_WEIGHT = 0.03
"""Weight of the best unit among the places where the walk begins; the strongest concept has 1."""
STEPS = 20
DECIMALS = 9
"""Further digits depend on the order of sums."""


def walk(facts: Sequence[Fact], seeds: Mapping[str, float], units: Mapping[str, float]) -> dict[str, float]:
    """Return the rank of each unit with a fact, the best one 1, to `DECIMALS` decimals.

    `seeds` are weights of concepts, `units` values of units; the walk begins at all of these.
    """
    unit_ids = dict.fromkeys([*units, *(fact.unit_id for fact in facts)])
    nodes = dict.fromkeys(node for fact in facts for node in (fact.subject_node, fact.object_node))
    places = {name: place for place, name in enumerate([*unit_ids, *nodes])}
    start = np.zeros(len(places))
    most = max(seeds.values(), default=1.0) or 1.0
    for name, weight in seeds.items():
        if name in places:
            start[places[name]] += weight / most
    low, high = min(units.values(), default=0.0), max(units.values(), default=0.0)
    for name, value in units.items():
        start[places[name]] += UNIT_WEIGHT * (value - low) / ((high - low) or 1.0)
    if not start.any():
        return {}
    ranks = _ranks(start / start.sum(), _weights(facts, places))[: len(unit_ids)]
    with_facts = {fact.unit_id for fact in facts}
    scaled = (ranks / (ranks.max() or 1.0)).round(DECIMALS).tolist()
    return {id_: rank for id_, rank in zip(unit_ids, scaled, strict=True) if id_ in with_facts}


def seeds_of(facts: Sequence[Fact], scores: Sequence[float], units_by_node: Mapping[str, Collection[str]]) -> dict[str, float]:
    """Return the weights of the concepts of the facts with the highest scores, of equal ones the first.

    What many units mention weighs less.
    """
    best = sorted(range(len(facts)), key=lambda place: -scores[place])[:SEEDS]
    weights: dict[str, float] = {}
    for place in best:
        for node in (facts[place].subject_node, facts[place].object_node):
            weights[node] = weights.get(node, 0.0) + max(scores[place], 0.0) / max(len(units_by_node.get(node, ())), 1)
    return weights


def _weights(facts: Iterable[Fact], places: Mapping[str, int]) -> dict[tuple[int, int], float]:
    """Return the weights of the edges between places, each in both directions."""
    weights: dict[tuple[int, int], float] = {}
    for fact in facts:
        unit, first, second = (places[name] for name in (fact.unit_id, fact.subject_node, fact.object_node))
        if first != second:
            weights[first, second] = weights[second, first] = weights.get((first, second), 0.0) + fact.confidence
        for node in (first, second):
            weights[unit, node] = weights[node, unit] = max(weights.get((unit, node), 0.0), fact.confidence)
    return weights


def _ranks(start: Numbers, weights: Mapping[tuple[int, int], float]) -> Numbers:
    """Return the personalised PageRank of each place."""
    if not weights:
        return start
    origins, targets = (np.array(side) for side in zip(*weights, strict=True))
    values = np.fromiter(weights.values(), float, len(weights))
    out = np.bincount(origins, values, minlength=len(start))
    shares = values / out[origins]
    ranks = start
    for _ in range(STEPS):
        ranks = (1 - DAMPING) * start + DAMPING * np.bincount(targets, ranks[origins] * shares, minlength=len(start))
    return ranks
