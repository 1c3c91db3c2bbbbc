"""Searching the store in memory, which has no concepts: by the vectors of its queries alone, within their subgraphs."""

from collections.abc import Callable, Sequence

from drag_graph.model import Subgraph
from drag_graph.ports.search import LIMITS, Candidates, Expansion, Hit, Limits, Seed, assemble_expansion

Nearest = Callable[[Sequence[float], int], list[tuple[str, float]]]
Read = Callable[[Sequence[str]], list[Subgraph]]


class DictSearch:
    """The `GraphSearch` port over a store's own `nearest_queries` and `read`."""

    def __init__(self, nearest: Nearest, read: Read) -> None:
        self._nearest = nearest
        self._read = read

    def candidates(self, vector: Sequence[float], keys: Sequence[str], k: int, *, source_id: str = "") -> Candidates:
        del keys
        near = self._nearest(vector, k) if any(vector) else []
        texts = {graph.source_id: graph.query.text for graph in self._read([id_ for id_, _ in near])}
        hits = tuple(Hit(id_, cosine, texts[id_]) for id_, cosine in near if id_ in texts)
        return Candidates(own=bool(self._read([source_id])), queries=hits)

    def expand(self, seeds: Sequence[Seed], hops: int, limits: Limits = LIMITS) -> Expansion:
        del hops, limits
        queries = {seed.id: seed for seed in seeds if seed.kind == "query"}
        graphs = self._read(sorted(queries))
        ways = {edge.id: [(0, graph.source_id)] for graph in graphs for edge in graph.edges}
        return assemble_expansion(graphs, ways, seeds)
