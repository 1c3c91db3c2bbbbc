"""Search the whole graph: value what words, vectors and a walk over the graph find (docs/decisions/0009-search.md).

Pure orchestration; the store and the embedder are ports.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from drag_graph.ask import retrieval as retrieve
from drag_graph.ask.context_lines import ListName
from drag_graph.ask.corrected_store import Readable
from drag_graph.ask.dated_passages import by_date
from drag_graph.ask.graph_walk import SEEDS, seeds_of, walk
from drag_graph.ask.unit_values import Valued, best_units, by_walk, passage_values, scores_of, unit_values, with_several_sources
from drag_graph.model import Query
from drag_graph.ports.graph_search import EVERYTHING, Candidates, Fact, Restriction, Unit
from drag_graph.ports.model_roles import Embedder
from drag_graph.ports.vectors import Vectors

FACT_UNITS = 20
"""Number of the best units whose facts are compared with the question."""
COMPARED_FACTS = 8
"""Number of facts, chosen by their words and units, whose vectors are compared."""
FACTS_AROUND = 32
"""Maximum number of facts of each concept that the walk begins at."""
MORE_UNITS = 20
"""Maximum number of units that only the walk finds."""
CERTAIN = 0.9
"""Mean confidence from which the facts that a walk begins at decide alone. Facts that rules read have about 0.8."""
RULES = 0.5
"""How far other facts decide after `link`."""
UNLINKED = 0.1
"""How far they decide before it, when a walk cannot leave the documents that it begins in."""

DECIMALS = 5
"""Further digits of a score depend on which texts were compared together."""

Ranks = Mapping[str, tuple[tuple[ListName, int], ...]]
"""The rank of each passage, by its id, in each list that found it."""


@dataclass(frozen=True, slots=True)
class Search:
    """The vectors of a question and, after it, of the question with each of its options; and what is near to the question."""

    query: Query
    terms: Sequence[str]
    vectors: Vectors
    near: Candidates


@dataclass(frozen=True, slots=True)
class Findings:
    """The passages that a search found, best first, the facts around them, and the rank of each unit in the walk."""

    passages: Sequence[Valued] = ()
    facts: Sequence[tuple[Fact, float]] = ()
    """Facts of the best units with their scores, best first."""
    walked: Mapping[str, float] = field(default_factory=dict)

    def ranks(self, near: Candidates) -> Ranks:
        """Return the rank of each passage in each list that found it, by its id."""
        units = sorted(self.walked, key=lambda id_: (-self.walked[id_], id_))
        queries = {hit.id: rank for rank, hit in enumerate(near.queries[: retrieve.NEIGHBOURS], start=1)}
        by_list: list[tuple[ListName, Mapping[str, int], bool]] = [
            ("query", queries, True),
            ("vector", _places(near.found.by_vector), False),
            ("words", _places(near.found.by_words), False),
            ("graph", {id_: rank for rank, id_ in enumerate(units, start=1)}, True),
        ]
        return {
            item.passage.id: tuple(
                (name, ranks[key])
                for name, ranks, of_unit in by_list
                for key in [item.unit.id if of_unit else item.passage.id]
                if key in ranks
            )
            for item in self.passages
        }


class Searcher:
    """Searches one store."""

    def __init__(self, store: Readable, embedder: Embedder, only: Restriction = EVERYTHING) -> None:
        self._store = store
        self._embedder = embedder
        self._only = only

    def near(self, query: Query) -> Search:
        """Return what is near to a question by words and vectors."""
        texts = [query.text, *(f"{query.text} {option}" for option in query.options)]
        vectors = np.asarray(self._embedder.embed_queries(texts), dtype=np.float32)
        terms = retrieve.question_terms(query.text)
        near = self._store.search.candidates(vectors[0].tolist(), terms, retrieve.NEAREST, source_id=query.id, only=self._only)
        return Search(query, terms, vectors, near)

    def findings(self, search: Search, first: Sequence[str], without: Collection[str] = ()) -> Findings:
        """Return the valued passages and facts. `first` are units of near queries; the sources `without` are left out."""
        units = self._units(best_units(search.near.found, first), search, without)
        if not units:
            return Findings()
        scores = scores_of(units, search.terms, search.near.found)
        values = unit_values(units, scores)
        facts = self._facts(search, units, values)
        walked = self._walk(units, values, facts)
        known = {unit.id for unit in units}
        others = sorted((id_ for id_ in walked if id_ not in known), key=lambda id_: (-walked[id_], id_))
        reached, allowed = self._units(others[:MORE_UNITS], search, without), {unit.source_id for unit in units}
        # The walk knows no restriction, so it only adds units of sources that words or vectors have found.
        if reached := [unit for unit in reached if not self._only or unit.source_id in allowed]:
            units += reached
            scores = scores_of(units, search.terms, search.near.found)
        valued = passage_values(units, scores)
        if walked:
            valued = by_walk(valued, walked, walk_weight([fact for fact, _ in facts[:SEEDS]]))
        return Findings(by_date(with_several_sources(valued), search.query.text), facts, walked)

    def _units(self, ids: Sequence[str], search: Search, without: Collection[str]) -> list[Unit]:
        units = self._store.search.units(ids, search.vectors) if ids else []
        return [unit for unit in units if unit.source_id not in without]

    def _facts(self, search: Search, units: Sequence[Unit], values: Mapping[str, float]) -> list[tuple[Fact, float]]:
        """Return the facts of the best units: by their words and unit, the best of them also by a vector.

        That is their own, or that of their passage if they are not certain.
        """
        best = sorted(units, key=lambda unit: (-values[unit.id], unit.id))[:FACT_UNITS]
        facts = [fact for unit in best for fact in unit.facts]
        if not facts:
            return []
        texts = [f"{fact.subject} {fact.predicate.replace('_', ' ')} {fact.object}" for fact in facts]
        cosines = {passage.id: passage.cosines[0] for unit in best for passage in unit.passages}
        most = max(values.values()) or 1.0
        shares = retrieve.word_shares(search.query.text, texts)
        scores = [share + values[fact.unit_id] / most for fact, share in zip(facts, shares, strict=True)]

        def ordered() -> list[int]:
            return sorted(range(len(facts)), key=lambda place: (-scores[place], texts[place], facts[place].id))

        order = ordered()[:COMPARED_FACTS]
        if walk_weight([facts[place] for place in order]) == 1:
            own = (self._embedder.embed([texts[place] for place in order]) @ search.vectors[0]).tolist()
        else:
            own = [cosines[facts[place].evidence_id] for place in order]
        for place, cosine in zip(order, own, strict=True):
            scores[place] = round(scores[place] + cosine, DECIMALS)
        return [(facts[place], scores[place]) for place in ordered()]

    def _walk(
        self, units: Sequence[Unit], values: Mapping[str, float], facts: Sequence[tuple[Fact, float]]
    ) -> dict[str, float]:
        if not facts:
            return {}
        nodes = [node for fact, _ in facts[:COMPARED_FACTS] for node in (fact.subject_node, fact.object_node)]
        around = self._store.search.around(list(dict.fromkeys(nodes)), FACTS_AROUND)
        every = {fact.id: fact for fact in (*(fact for unit in units for fact in unit.facts), *around)}
        units_by_node: dict[str, set[str]] = {}
        for fact in every.values():
            for node in (fact.subject_node, fact.object_node):
                units_by_node.setdefault(node, set()).add(fact.unit_id)
        seeds = seeds_of([fact for fact, _ in facts], [score for _, score in facts], units_by_node)
        return walk(list(every.values()), seeds, values)


def walk_weight(facts: Sequence[Fact]) -> float:
    """Return how far a walk that begins at these facts decides the order, from 0 to 1."""
    if sum(fact.confidence for fact in facts) >= CERTAIN * len(facts):
        return 1.0
    is_linked = any(fact.subject_node != fact.subject_id or fact.object_node != fact.object_id for fact in facts)
    return RULES if is_linked else UNLINKED


def _places(scores: Mapping[str, float]) -> dict[str, int]:
    return {id_: rank for rank, id_ in enumerate(sorted(scores, key=lambda id_: (-scores[id_], id_)), start=1)}
