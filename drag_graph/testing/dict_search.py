"""Searching the store in memory: everything is compared, and the score of words is the number of terms in common."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from drag_graph.graph.proof import proven_part
from drag_graph.graph.search_terms import joined_terms
from drag_graph.model import Chunk, Evidence, Subgraph
from drag_graph.ports.graph_search import EVERYTHING, Candidates, Fact, Found, Hit, Passage, Restriction, Unit, is_within
from drag_graph.ports.vectors import Vector, Vectors
from drag_graph.testing.dict_concepts import Holding, Lend, Links


class DictSearch:
    """The `GraphSearch` port over what a namespace holds."""

    def __init__(self, namespace: str, lend: Lend) -> None:
        self._namespace = namespace
        self._lend = lend

    def candidates(
        self, vector: Sequence[float], terms: Sequence[str], k: int, *, source_id: str = "", only: Restriction = EVERYTHING
    ) -> Candidates:
        with self._lend() as content:
            graphs = [graph for graph in content.subgraphs.values() if not only or _is_within(only, graph)]
            vectors = dict(content.links.evidence)
            units = [unit for graph in graphs for unit in _units(graph, content, ())]
        queries = {graph.source_id: graph for graph in graphs if graph.document is None}
        passages = {passage.id: passage for unit in units for passage in unit.passages}
        embeddings = {id_: graph.embedding for id_, graph in queries.items() if _fit(vector, graph.embedding)}
        near = _best({id_: cosine(vector, embedding) for id_, embedding in embeddings.items()}, k)
        by_vector = {id_: cosine(vector, vectors[id_]) for id_ in passages if _fit(vector, vectors.get(id_, ()))}
        by_vector = _best(by_vector, k)
        by_words = _best(_common(terms, {id_: passage.terms for id_, passage in passages.items()}), k)
        # Evidence of a query is found by itself.
        own_terms = {unit.id: unit.terms if unit.is_document else joined_terms(unit.title) for unit in units}
        unit_of = {
            passage.id: unit.id for unit in units for passage in unit.passages if passage.id in {**by_vector, **by_words}
        }
        found = Found(by_vector, by_words, _best(_common(terms, own_terms), k), unit_of)
        return Candidates(
            own=source_id in queries,
            queries=tuple(Hit(id_, score, queries[id_].title) for id_, score in near.items()),
            found=found,
        )

    def units(self, ids: Sequence[str], vectors: Vectors) -> list[Unit]:
        with self._lend() as content:
            graphs = list(content.subgraphs.values())
            return [unit for graph in graphs for unit in _units(graph, content, vectors) if unit.id in ids]

    def around(self, nodes: Sequence[str], limit: int) -> list[Fact]:
        with self._lend() as content:
            links, graphs = content.links, list(content.subgraphs.values())
            facts = [fact for graph in graphs for unit in _units(graph, content, ()) for fact in unit.facts]
        best: dict[str, Fact] = {}
        for node in dict.fromkeys(nodes):

            def is_about(entity_id: str, node: str = node) -> bool:
                return node in (entity_id, links.refers.get(entity_id), _node(links, entity_id))

            about = (fact for fact in facts if is_about(fact.subject_id) or is_about(fact.object_id))
            best |= {fact.id: fact for fact in sorted(about, key=_strength)[: max(limit, 0)]}
        return sorted(best.values(), key=_strength)

    def subgraphs(self, evidence_ids: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[Subgraph]:
        with self._lend() as content:
            graphs = [content.subgraphs[id_] for id_ in sorted(content.subgraphs)]
        wanted = set(pairs)
        parts = []
        for graph in graphs:
            edges = tuple(edge for edge in graph.edges if (edge.subject_id, edge.object_id) in wanted)
            triples = tuple(triple for triple in graph.triples if (triple.subject_id, triple.object_id) in wanted)
            part = {"edges": edges, "triples": triples, "entities": (), "embedding": ()}
            parts.append(proven_part(graph.model_copy(update=part), evidence_ids))
        return [part for part in parts if part.evidence]


def cosine(left: Vector, right: Vector) -> float:
    """Return the cosine of two vectors; 0 where one is all zeros or missing."""
    norm = float(np.linalg.norm(left) * np.linalg.norm(right)) if len(left) == len(right) else 0.0
    return max(-1.0, min(1.0, float(np.dot(left, right)) / norm)) if norm else 0.0


def _fit(vector: Vector, other: Vector) -> bool:
    return len(vector) == len(other) and bool(np.any(vector)) and bool(np.any(other))


def _best(scores: dict[str, float], k: int) -> dict[str, float]:
    """Return the `k` best, best first, ties by id."""
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0]))[: max(k, 0)])


def _common(terms: Sequence[str], texts: dict[str, str]) -> dict[str, float]:
    """Return how many of the terms each text has, by id; texts without any are left out."""
    numbers = {id_: float(len(set(terms) & set(text.split()))) for id_, text in texts.items()}
    return {id_: number for id_, number in numbers.items() if number}


def _strength(fact: Fact) -> tuple[float, str]:
    return (-fact.confidence, fact.id)


def _is_within(only: Restriction, graph: Subgraph) -> bool:
    return is_within(only, graph.source_id, graph.title, *_date_and_tags(graph))


def _date_and_tags(graph: Subgraph) -> tuple[str, tuple[str, ...]]:
    return (graph.document.date, graph.document.tags) if graph.document else (graph.created_at[:10], ())


def _node(links: Links, entity_id: str) -> str:
    """Return the node of an entity: the cluster of its concept, its concept, or itself."""
    concept = links.concepts.get(links.refers.get(entity_id, ""))
    return (concept.cluster or concept.id) if concept else entity_id


def _units(graph: Subgraph, content: Holding, vectors: Iterable[Vector]) -> Iterator[Unit]:
    """Yield the units of a subgraph."""
    whole = Chunk(id=graph.source_id, source_id=graph.source_id, position=0, start=0, end=0, text=graph.title)
    probes = list(vectors)
    for chunk in graph.chunks if graph.document else (whole,):
        evidence = [item for item in graph.evidence if item.kept and (item.chunk_id or graph.source_id) == chunk.id]
        passages = tuple(_passage(item, content.links, probes) for item in evidence)
        if graph.document:
            words = (graph.title, *chunk.heading, chunk.text)
        else:
            words = (graph.title, *(item.text for item in evidence))
        yield Unit(
            id=chunk.id,
            source_id=graph.source_id,
            is_document=graph.document is not None,
            title=graph.title,
            date=_date_and_tags(graph)[0],
            position=chunk.position,
            start=chunk.start,
            page=chunk.page,
            heading=chunk.heading,
            text=chunk.text if graph.document else "",
            terms=" ".join(filter(None, map(joined_terms, words))),
            passages=passages,
            facts=tuple(_facts(graph, chunk.id, {item.id for item in evidence}, content.links)),
        )


def _passage(item: Evidence, links: Links, probes: Sequence[Vector]) -> Passage:
    cosines = tuple(cosine(probe, links.evidence.get(item.id, ())) for probe in probes)
    return Passage(item.id, item.text, item.position, item.start, item.end, joined_terms(item.text), cosines)


def _facts(graph: Subgraph, unit_id: str, evidence_ids: set[str], links: Links) -> Iterator[Fact]:
    for triple in sorted(graph.triples, key=lambda triple: triple.id):
        if triple.evidence_id in evidence_ids:
            yield Fact(
                *(triple.id, unit_id, graph.source_id, triple.evidence_id),
                *(triple.subject_id, triple.subject, _node(links, triple.subject_id), triple.predicate),
                *(triple.object_id, triple.object, _node(links, triple.object_id)),
                triple.confidence,
                triple.predicate_key,
            )
