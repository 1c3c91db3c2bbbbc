"""A store without the claims that a person marked wrong (docs/how-to/correct-refresh-erase.md).

All lines of `ask` and `search`, and the edges that communities summarise, pass through it. Corrections are read once, at the
first use, so an object serves one question.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from drag_graph.graph.paging import SUBGRAPHS_PER_PAGE, pages
from drag_graph.graph.rejected_claims import rejected_evidence, without_rejected
from drag_graph.graph.search_terms import joined_terms
from drag_graph.model import Subgraph
from drag_graph.ports.community_store import CommunityStore
from drag_graph.ports.correction_store import RejectedClaims
from drag_graph.ports.graph_search import EVERYTHING, Candidates, Fact, Found, GraphSearch, Restriction, Unit
from drag_graph.ports.graph_store import GraphStore, LinkedEdge
from drag_graph.ports.vectors import Vectors


class CorrectedStore:
    """A store for reading, without rejected claims."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store

    @cached_property
    def rejected(self) -> RejectedClaims:
        """The claims that are left out."""
        return self._store.corrections.rejected()

    @property
    def search(self) -> "CorrectedSearch":
        return CorrectedSearch(self._store.search, self)

    @property
    def communities(self) -> CommunityStore:
        return self._store.communities

    def read(self, source_ids: Sequence[str]) -> list[Subgraph]:
        return self.corrected(self._store.read(source_ids))

    def corrected(self, subgraphs: Sequence[Subgraph]) -> list[Subgraph]:
        """Return whole subgraphs without rejected claims."""
        return [without_rejected(item, self.rejected, is_whole=True) for item in subgraphs]

    def linked_edges(self, community_id: str = "") -> Iterator[LinkedEdge]:
        """Yield the edges that have a claim left, as its other claims state them."""
        edges: Iterable[LinkedEdge] = self._store.linked_edges(community_id)
        affected = self.rejected.source_ids
        if community_id:
            edges = list(edges)
            affected &= {edge.source_id for edge in edges}
        # These are read first: reading within an open stream would wait for a compaction that waits for the stream.
        subgraphs = (item for ids in pages(sorted(affected), SUBGRAPHS_PER_PAGE) for item in self.read(ids))
        corrected = {edge.id: edge for item in subgraphs for edge in item.edges}
        for edge in edges:
            if edge.source_id not in self.rejected.source_ids:
                yield edge
            elif own := corrected.get(edge.id):
                names = ("statement", "predicates", "confidence", "support", "contradicts")
                yield replace(edge, **{name: getattr(own, name) for name in names})


class CorrectedSearch:
    """The `GraphSearch` port without rejected claims, and without evidence of queries that states only such claims."""

    def __init__(self, search: GraphSearch, store: CorrectedStore) -> None:
        self._search = search
        self._store = store

    def candidates(
        self, vector: Sequence[float], terms: Sequence[str], k: int, *, source_id: str = "", only: Restriction = EVERYTHING
    ) -> Candidates:
        rejected = self._store.rejected  # first, so that the steps of the search follow each other closely
        near = self._search.candidates(vector, terms, k, source_id=source_id, only=only)
        # A query is its own unit. Passages of documents stay.
        queries = rejected.source_ids & set(near.found.unit_of.values())
        units = self._search.units(sorted(queries), np.asarray([vector], dtype=np.float32)) if queries else []
        hidden = {id_ for unit in units for id_ in rejected_evidence(unit.facts, rejected)}
        return replace(near, found=_without(near.found, hidden)) if hidden else near

    def units(self, ids: Sequence[str], vectors: Vectors) -> list[Unit]:
        return [_corrected(unit, self._store.rejected) for unit in self._search.units(ids, vectors)]

    def around(self, nodes: Sequence[str], limit: int) -> list[Fact]:
        return [fact for fact in self._search.around(nodes, limit) if fact not in self._store.rejected]

    def subgraphs(self, evidence_ids: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[Subgraph]:
        parts = self._search.subgraphs(evidence_ids, pairs)
        return [without_rejected(part, self._store.rejected, is_whole=False) for part in parts]


Readable = GraphStore | CorrectedStore
"""The part of a store that finding lines reads."""


def _without(found: Found, hidden: Collection[str]) -> Found:
    lists = (found.by_vector, found.by_words)
    by_vector, by_words = ({id_: score for id_, score in scores.items() if id_ not in hidden} for scores in lists)
    unit_of = {id_: unit for id_, unit in found.unit_of.items() if id_ not in hidden}
    return replace(found, by_vector=by_vector, by_words=by_words, unit_of=unit_of)


def _corrected(unit: Unit, rejected: RejectedClaims) -> Unit:
    if unit.source_id not in rejected.source_ids:
        return unit
    facts = tuple(fact for fact in unit.facts if fact not in rejected)
    if unit.is_document:
        return replace(unit, facts=facts)
    hidden = rejected_evidence(unit.facts, rejected)
    passages = tuple(item for item in unit.passages if item.id not in hidden)
    terms = " ".join([joined_terms(unit.title), *(item.terms for item in passages)])
    return replace(unit, facts=facts, passages=passages, terms=terms)
