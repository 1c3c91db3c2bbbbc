"""Search in Neo4j: one statement for each step of `GraphSearch`, and more if those of other namespaces crowd an index."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from drag_graph.graph.proof import proven_part
from drag_graph.graph.search_terms import joined_terms
from drag_graph.model import Subgraph
from drag_graph.ports.graph_search import EVERYTHING, Candidates, Fact, Found, Hit, Passage, Restriction, Unit, is_within
from drag_graph.ports.vectors import Vectors
from drag_graph.stores.neo4j import neo4j_rows as rows
from drag_graph.stores.neo4j.connection import Work
from drag_graph.stores.neo4j.neo4j_access import Neo4jAccess

MOST_TERMS = 150
MOST_SOURCES = 100
"""Maximum number of terms, and of sources that a query names; each counts twice. Lucene refuses more than 1,024 clauses."""
_SOURCE_FIELDS = {"evidence_text": ("source_id",), "unit_text": ("source_id", "id")}


def lucene_query(index: str, namespace: str, terms: Sequence[str], sources: Sequence[str] | None = None) -> str:
    """Return the query for nodes of a namespace with any of these search terms; "" without terms.

    With up to `MOST_SOURCES` sources only theirs are found. The caller must check the namespace again: an index knows its words
    alone. Quoted, a pair of Chinese characters is found as a pair; the index splits it. Only terms count for the score.
    """
    # Lucene would leave out a phrase without a letter, and find everything.
    words = [term for term in dict.fromkeys(terms) if any(map(str.isalnum, term))][:MOST_TERMS]
    if not words:
        return ""
    parts = [f"+namespace:{_quoted([namespace])}^0", f"+({_in_fields(('text', 'terms'), words)})"]
    if sources is not None and len(sources) <= MOST_SOURCES:
        parts.append(f"+({_in_fields(_SOURCE_FIELDS[index], sources)})^0")
    return " ".join(parts)


def _in_fields(fields: Iterable[str], phrases: Sequence[str]) -> str:
    return " ".join(f"{field}:({_quoted(phrases)})" for field in fields)


def _quoted(phrases: Iterable[str]) -> str:
    escaped = (phrase.replace("\\", "\\\\").replace('"', '\\"') for phrase in phrases)
    return " ".join(f'"{phrase}"' for phrase in escaped)


LEAST_CANDIDATES = 100
"""Minimum number of candidates from an index. On random vectors of length 384, the worst case, a vector index missed 2 to 5 %
of the ten nearest with 40 candidates. With 100 it missed at most 0.5 % and took a tenth longer."""
GROWTH = 8
MOST_HITS = 100_000
"""If too few hits of a full-text index are of this namespace, it is asked for this many times more, up to a maximum."""
ENTITIES = 64
TRIPLES = 1000
"""Maximum number of a concept's entities, and of their triples, that are looked at."""
_VECTORS = {"queries": "query_embedding", "evidence": "evidence_embedding"}
_TEXTS = ("evidence_text", "unit_text")

_Lists = dict[str, list[list[Any]]]
"""By the name of an index: [id, score, the question or the unit] of what it found."""


class Neo4jSearch:
    """The `GraphSearch` port on Neo4j; see there for what each method promises."""

    def __init__(self, access: Neo4jAccess) -> None:
        self._access = access

    def candidates(
        self, vector: Sequence[float], terms: Sequence[str], k: int, *, source_id: str = "", only: Restriction = EVERYTHING
    ) -> Candidates:
        namespace, k = self._access.namespace, max(k, 0)
        numbers = [float(x) for x in vector] if any(vector) and k else []

        def run(work: Work) -> Candidates:
            sources = self._sources(work, only) if only else None
            queries = {name: lucene_query(name, namespace, terms, sources) for name in _TEXTS if k and sources != []}
            texts = {name: query for name, query in queries.items() if query}
            row, lists = self._from_indexes(work, numbers, texts, k, sources, source_id=source_id)
            evidence, words = (_ranked(lists.get(name, []), k) for name in (_VECTORS["evidence"], "evidence_text"))
            return Candidates(
                own=row["own"] and (sources is None or source_id in sources),
                queries=tuple(
                    Hit(id_, _cosine(score), text) for id_, score, text in _ranked(lists.get(_VECTORS["queries"], []), k)
                ),
                found=Found(
                    by_vector={id_: _cosine(score) for id_, score, _ in evidence},
                    by_words={id_: score for id_, score, _ in words},
                    units_by_words={id_: score for id_, score, _ in _ranked(lists.get("unit_text", []), k)},
                    unit_of={id_: unit for id_, _, unit in [*evidence, *words]},
                ),
            )

        return self._access.in_reading(run)

    def _from_indexes(
        self, work: Work, numbers: list[float], texts: Mapping[str, str], k: int, sources: list[str] | None, **values: Any
    ) -> tuple[dict[str, Any], _Lists]:
        """Return the row of `search_candidates`, and the best `k` or more of each index, if there are so many.

        The indexes are of all namespaces. If one returned all it was asked for, but too few of this one, there may be more.
        """
        namespace, limit = self._access.namespace, max(LEAST_CANDIDATES, 2 * k)
        fixed = {"namespace": namespace, "sources": sources or [], "candidates": limit}
        vectors = [numbers] if numbers and sources is None else []
        (row,) = work.run(
            "search_candidates", **fixed, **values, vectors=vectors, texts=[*map(list, texts.items())], hits=limit
        )
        lists = {name: _present(found) for name, _, found in row["lists"]}
        given, hits = {name: number for name, number, _ in row["lists"]}, limit
        while hits < MOST_HITS and (short := [name for name in texts if given[name] >= hits and len(lists[name]) < k]):
            hits = min(MOST_HITS, GROWTH * hits)
            again = {"vectors": [], "texts": [[name, texts[name]] for name in short], "source_id": ""}
            (more,) = work.run("search_candidates", **fixed, **again, hits=hits)
            for name, number, found in more["lists"]:
                given[name], lists[name] = number, _present(found)
        kinds = [
            kind
            for kind, name in _VECTORS.items()
            if numbers and (sources is not None or (given[name] >= limit and len(lists[name]) < k))
        ]
        if kinds and sources != []:
            among = self._sources(work, EVERYTHING) if sources is None else sources
            (exact,) = work.run("search_exact", namespace=namespace, vector=numbers, sources=among, kinds=kinds, k=k)
            lists |= {_VECTORS[kind]: exact[kind] for kind in kinds}
        return row, lists

    def _sources(self, work: Work, only: Restriction) -> list[str]:
        """Return the ids of the sources that fulfil a restriction."""
        (row,) = work.run("search_sources", namespace=self._access.namespace)
        return [source[0] for source in row["sources"] if is_within(only, *source)]

    def units(self, ids: Sequence[str], vectors: Vectors) -> list[Unit]:
        # No embedding is of the length of an empty list.
        numbers = [vector.tolist() if vector.any() else [] for vector in vectors]
        values = {"ids": list(dict.fromkeys(ids)), "vectors": numbers}
        found = self._access.in_reading(lambda work: work.run("search_units", namespace=self._access.namespace, **values))
        return [_unit(**row) for row in found]

    def around(self, nodes: Sequence[str], limit: int) -> list[Fact]:
        limits = {"limit": max(limit, 0), "entities": ENTITIES, "triples": TRIPLES}
        values = {"nodes": list(dict.fromkeys(filter(None, nodes))), **limits}
        found = self._access.in_reading(lambda work: work.run("search_around", namespace=self._access.namespace, **values))
        facts = {row["triple"][0]: _fact(row["triple"], row["unit"]) for row in found}
        return sorted(facts.values(), key=lambda fact: (-fact.confidence, fact.id))

    def subgraphs(self, evidence_ids: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[Subgraph]:
        namespace = self._access.namespace
        wanted = dict.fromkeys(evidence_ids)
        values = {"evidence_ids": list(wanted), "pairs": [list(pair) for pair in dict.fromkeys(pairs)]}
        found = self._access.in_reading(lambda work: work.run("search_subgraphs", namespace=namespace, **values))
        parts = [proven_part(rows.subgraph_of(rows.without_unfinished(row), namespace), wanted) for row in found]
        return sorted((part for part in parts if part.evidence), key=lambda part: part.source_id)


def _present(found: Sequence[list[Any] | None]) -> list[list[Any]]:
    return [item for item in found if item is not None and item[1] is not None]


def _ranked(found: Sequence[list[Any]], k: int) -> list[list[Any]]:
    return sorted(found, key=lambda item: (-item[1], item[0]))[:k]


def _cosine(score: float) -> float:
    return max(-1.0, min(1.0, score))


def _unit(head: Sequence[Any], passages: Sequence[Sequence[Any]], triples: Sequence[Sequence[Any]]) -> Unit:
    id_, source_id, is_document, title, date, position, start, page, heading, text = head
    own = tuple(_passage(values) for values in sorted(passages, key=lambda item: (item[2], item[0])))
    words = [title, *heading, text] if is_document else [title, *(passage.text for passage in own)]
    terms = " ".join(filter(None, map(joined_terms, words)))
    facts = tuple(sorted((_fact(triple, id_) for triple in triples), key=lambda fact: fact.id))
    return Unit(id_, source_id, is_document, title, date, position, start, page, tuple(heading), text, terms, own, facts)


def _passage(values: Sequence[Any]) -> Passage:
    id_, text, position, start, end, numbers = values
    cosines = tuple(0.0 if number is None else _cosine(number) for number in numbers)
    return Passage(id_, text, position, start, end, joined_terms(text), cosines)


def _fact(triple: Sequence[Any], unit_id: str) -> Fact:
    id_, source_id, evidence_id, subject_id, subject, subject_node, predicate, *object_and_rest = triple
    object_id, object_, object_node, confidence, predicate_key = object_and_rest
    ends = (subject_id, subject, subject_node or subject_id, predicate, object_id, object_, object_node or object_id)
    return Fact(id_, unit_id, source_id, evidence_id, *ends, confidence, predicate_key)
