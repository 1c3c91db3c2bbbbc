"""Searching the store in memory, whose concepts it leaves out: by the vectors of its queries alone, within their subgraphs."""

from collections.abc import Sequence

import numpy as np

from drag_graph.graph.expansion import assemble_expansion, ranked
from drag_graph.model import Subgraph
from drag_graph.ports.graph_search import LIMITS, Candidates, Expansion, Hit, Limits, Seed
from drag_graph.testing.dict_concepts import Lend


class DictSearch:
    """The `GraphSearch` port over what a namespace holds."""

    def __init__(self, lend: Lend) -> None:
        self._lend = lend

    def candidates(self, vector: Sequence[float], keys: Sequence[str], k: int, *, source_id: str = "") -> Candidates:
        del keys
        with self._lend() as content:
            graphs = list(content.subgraphs.values())
        near = [
            Hit(one.source_id, cosine(vector, one.embedding), one.query.text)
            for one in graphs
            if one.document is None and any(vector) and len(one.embedding) == len(vector)
        ]
        return Candidates(own=source_id in {one.source_id for one in graphs}, queries=ranked(near, max(k, 0)))

    def expand(self, seeds: Sequence[Seed], hops: int, limits: Limits = LIMITS) -> Expansion:
        del hops, limits
        queries = {seed.id for seed in seeds if seed.kind == "query"}
        with self._lend() as content:
            graphs: list[Subgraph] = [content.subgraphs[id_] for id_ in sorted(queries & content.subgraphs.keys())]
        ways = {edge.id: [(0, graph.source_id)] for graph in graphs for edge in graph.edges}
        return assemble_expansion(graphs, ways, seeds)


def cosine(left: Sequence[float], right: Sequence[float]) -> float:
    """Return the cosine of two vectors; 0 where one is all zeros."""
    norm = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(np.dot(left, right)) / norm if norm else 0.0
