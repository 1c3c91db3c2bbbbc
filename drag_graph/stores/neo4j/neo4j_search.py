"""Search in Neo4j: one statement for each step of `GraphSearch`."""

from collections.abc import Sequence
from typing import Any

from drag_graph.graph.expansion import ADJACENT, assemble_expansion, concept_ids, ranked
from drag_graph.ports.graph_search import LIMITS, Candidates, Expansion, Hit, Limits, Seed
from drag_graph.stores.neo4j import neo4j_rows as rows
from drag_graph.stores.neo4j.connection import Work
from drag_graph.stores.neo4j.neo4j_access import Neo4jAccess

LEAST_CANDIDATES = 100
"""Minimum number of candidates from a vector index. On random vectors of length 384, the worst case, it missed 2 to 5 % of the
ten nearest with 40 candidates. With 100 it missed at most 0.5 % and took a tenth longer."""


class Neo4jSearch:
    """The `GraphSearch` port on Neo4j; see there for what each method promises."""

    def __init__(self, access: Neo4jAccess) -> None:
        self._access = access

    def candidates(self, vector: Sequence[float], keys: Sequence[str], k: int, *, source_id: str = "") -> Candidates:
        numbers = [float(x) for x in vector] if any(vector) and k > 0 else []
        ids = concept_ids(self._access.namespace, keys)
        names = {"namespace": self._access.namespace}

        def run(work: Work) -> Candidates:
            limit = max(LEAST_CANDIDATES, 2 * k)
            values = {"source_id": source_id, "vectors": [numbers] if numbers else [], "candidates": limit, "concepts": ids}
            (row,) = work.run("search_candidates", **names, **values)
            hits_by_list = {name: hits for name, _, hits in row["lists"]}
            # The index returned all it was asked for, but too few in this namespace: there may be more.
            full = [name for name, number, hits in row["lists"] if number >= limit and len(hits) < k]
            if short := [name for name in full if row["linked"] or name != "similar"]:
                (exact,) = work.run("search_candidates_exact", **names, vector=numbers, lists=short, k=k)
                hits_by_list |= {name: exact[name] for name in short}
            ranks = {name: ranked(map(_hit, hits), k) for name, hits in hits_by_list.items()}
            by_id = {hit.id: hit for hit in map(_hit, row["named"])}
            return Candidates(own=row["own"], named=tuple(by_id[id_] for id_ in ids if id_ in by_id), **ranks)

        return self._access.in_reading(run)

    def expand(self, seeds: Sequence[Seed], hops: int, limits: Limits = LIMITS) -> Expansion:
        if not seeds:
            return Expansion()
        values = {
            "queries": [[seed.id, seed.score] for seed in seeds if seed.kind == "query"],
            "evidence": [[seed.id, seed.score, seed.source_id] for seed in seeds if seed.kind == "evidence"],
            "clusters": [[seed.id, seed.score] for seed in seeds if seed.kind == "concept"],
            "hops": hops,
            "entities": limits.entities,
            "edges": limits.edges,
            "near": limits.near,
            "frontier": limits.frontier,
            "beyond": limits.beyond,
            "far": limits.far,
            "adjacent": ADJACENT,
        }
        namespace = self._access.namespace
        graph_rows = self._access.in_reading(lambda work: work.run("search_expand", namespace=namespace, **values))
        subgraphs, ways = [], dict[str, list[tuple[int, str]]]()
        for row in sorted(graph_rows, key=lambda row: str(row["head"]["id"])):
            subgraphs.append(rows.subgraph_of(row, namespace))
            ways |= {edge[0]: [(hop, seed) for hop, seed in way] for edge, way in zip(row["edges"], row["ways"], strict=True)}
        return assemble_expansion(subgraphs, ways, seeds)


def _hit(row: Sequence[Any]) -> Hit:
    id_, score, text, source_id, cluster, entities = row
    return Hit(id_, max(-1.0, min(1.0, score)), text, source_id, cluster, entities)
