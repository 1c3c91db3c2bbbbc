"""The raw side of `graph.py` on Neo4j: the shapes that were fastest, called by the driver with ready-made parameters.

It writes and reads the very same properties, vectors and relationships as the product, into the same database, and so under the
same constraints and indexes, in a namespace of its own. What it does not pay for: making parameters of objects, checking what
it writes, asking what is there already, validating what it reads.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graph_workload import AGGREGATION

from drag_graph.model import Subgraph
from drag_graph.stores.shared.cypher_files import load_from

STATEMENTS = Path(__file__).parent / "graph_cypher"


def row_of(graph: Subgraph) -> list[Any]:
    """Return what `raw_write` takes for one query."""
    query = graph.query
    calls = {item.id: place for place, item in enumerate(graph.calls)}
    ends = {item.id: place for place, item in enumerate(graph.entities)}
    return [
        *(query.id, query.text, list(query.options), query.domain, query.complexity, query.input_id),
        json.dumps(query.metadata),
        *(graph.settings_hash, graph.status, "simple", graph.blind, list(graph.embedding), graph.created_at, graph.expires_at),
        [len(graph.calls), len(graph.evidence), len(graph.entities), len(graph.triples), 0],
        [item.id for item in graph.calls],
        [
            [
                *(c.id, c.stage, c.model, c.prompt_version, c.request_sha256, c.response_sha256),
                *(c.tokens_in, c.tokens_out, c.cost_usd, c.latency_ms, c.created_at, c.follows),
            ]
            for c in graph.calls
        ],
        [
            [
                *(e.id, e.text, e.framing, e.position, e.cosine, e.llm_score, e.score, e.rank, e.kept, e.reason, e.created_at),
                *(e.chunk_id, e.start, e.end),
                calls[e.call_ids[0]],
            ]
            for e in graph.evidence
        ],
        [[x.id, x.name, x.type, list(x.variants)] for x in graph.entities],
        [
            [
                *(t.id, t.predicate, t.predicate_key, t.confidence, t.evidence_id, list(t.call_ids), t.rank),
                *(list(t.opposes), ends[t.subject_id], ends[t.object_id]),
            ]
            for t in graph.triples
        ],
        "00000000-0000-0000-0000-" + query.id[:12],
    ]


class Raw:
    """One namespace of the database, reached by the driver alone."""

    def __init__(self, driver: Any, namespace: str) -> None:
        self.driver = driver
        self.namespace = namespace

    def write(self, rows: Sequence[list[Any]], *, aggregated: bool = True, how: str = "raw_write") -> None:
        """Write queries in one transaction; `aggregated`, with their simple edges."""
        made = [(how, {"queries": rows})]
        if aggregated:
            merging = {"threshold": AGGREGATION.threshold, "top_k": AGGREGATION.top_k}
            made.append(("raw_aggregate", {"source_ids": [row[0] for row in rows], **merging}))

        def work(transaction: Any) -> None:
            for name, values in made:
                transaction.run(*self._bound(name, namespace=self.namespace, **values)).consume()

        with self.driver.session() as session:
            session.execute_write(work)

    def kinds(self, source_id: str) -> list[list[Any]]:
        """Return the labels and types of a query and what hangs on it, of either side, with the names of their properties."""
        return sorted(self._rows("kinds", source_id=source_id))

    def there(self, ids: Sequence[str]) -> list[str]:
        """Return which of these are stored."""
        return [row[0] for row in self._rows("raw_there", source_ids=ids)]

    def read(self, ids: Sequence[str]) -> list[list[Any]]:
        """Return the rows of queries: one auto-commit statement, which is one round trip."""
        return self._rows("raw_read", namespace=self.namespace, source_ids=ids)

    def aggregate(self, ids: Sequence[str]) -> None:
        """Make the simple edges of queries anew in one transaction."""

        def work(transaction: Any) -> None:
            values = {"namespace": self.namespace, "source_ids": ids}
            merging = {"threshold": AGGREGATION.threshold, "top_k": AGGREGATION.top_k}
            transaction.run(*self._bound("raw_erase_edges", **values)).consume()
            transaction.run(*self._bound("raw_aggregate", **values, **merging)).consume()

        with self.driver.session() as session:
            session.execute_write(work)

    def aggregate_all(self) -> None:
        """Make all simple edges of the namespace anew, IN TRANSACTIONS of 100."""
        merging = {"threshold": AGGREGATION.threshold, "top_k": AGGREGATION.top_k}
        self._rows("raw_erase_all", namespace=self.namespace)
        self._rows("raw_aggregate_all", namespace=self.namespace, **merging)

    def count(self) -> int:
        """Return how many queries the namespace has."""
        return int(self._rows("raw_count", namespace=self.namespace)[0][0])

    def nearest(self, vector: Sequence[float], candidates: int) -> list[list[Any]]:
        """Return the nearest query with its subgraph and evidence, by one statement."""
        return self._rows("raw_nearest", namespace=self.namespace, vector=vector, candidates=candidates)

    def _rows(self, name: str, **values: Any) -> list[list[Any]]:
        with self.driver.session() as session:
            return session.run(*self._bound(name, **values)).values()

    def _bound(self, name: str, **values: Any) -> tuple[str, dict[str, Any]]:
        return load_from_cached(name).bind(**values)


_LOADED: dict[str, Any] = {}


def load_from_cached(name: str) -> Any:
    """Return the raw statement of that name for Neo4j."""
    if name not in _LOADED:
        _LOADED[name] = load_from(STATEMENTS, name, "neo4j")
    return _LOADED[name]
