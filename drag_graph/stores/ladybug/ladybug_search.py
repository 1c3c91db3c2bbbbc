"""Search in an embedded store: `drag_graph.ports.graph_search.GraphSearch`.

The engine's vector index needs a download, so vectors are compared here, all at once, in single precision. After a write, the
vectors that it may have changed are read again; all of them, if these are many or unknown, as after a replacement, an erasure
or a failed write. An expansion is a few statements of one reading transaction.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from drag_graph.graph.expansion import Step, Walk, concept_ids, ranked
from drag_graph.graph.paging import pages
from drag_graph.model import Subgraph
from drag_graph.ports.graph_search import LIMITS, Candidates, Expansion, Hit, Limits, Seed
from drag_graph.stores.ladybug.ladybug_access import LadybugAccess
from drag_graph.stores.ladybug.ladybug_transaction import LadybugTransaction
from drag_graph.stores.ladybug.subgraph_reading import read_subgraphs
from drag_graph.stores.ladybug.vector_index import VectorIndex
from drag_graph.stores.shared.transaction import NamespacePart, Row

IDS_AT_ONCE = 32
"""The engine processes the rows that a statement was planned with again in every later call."""
READ_BY_IDS = 8
"""Up to one vector in this many is read by its id, which takes six times as long as reading it among all."""
_CANDIDATES = ("queries", "evidence", "similar")
_VECTORS = {
    "queries": "search_candidates_query_vectors",
    "evidence": "search_candidates_evidence_vectors",
    "similar": "search_candidates_concept_vectors",
    "communities": "search_candidates_community_vectors",
    "summaries": "summary_vectors",
}


class LadybugSearch:
    """The `GraphSearch` port on an embedded store; see there for what each method promises."""

    def __init__(self, access: LadybugAccess) -> None:
        self._access = access
        self._indexes: dict[str, VectorIndex] = {}

    def index(self, kind: str) -> VectorIndex:
        """Return the current vectors of `queries`, `evidence`, `similar` concepts or `communities`."""
        engine, index = self._access.ready(), self._indexes.get(kind)
        # The version is taken before the vectors, so that a write in between only makes the next call read again.
        version = engine.version
        if index is not None and index.version != version:
            index = self._renewed(kind, index, version)
        if index is None:
            index = VectorIndex.of(version, engine.stream(_VECTORS[kind], namespace=self._access.namespace))
        self._indexes[kind] = index
        return index

    def _renewed(self, kind: str, index: VectorIndex, version: int) -> VectorIndex | None:
        """Return the index with everything written since; None if reading all vectors is necessary or cheaper."""
        changed = self._access.ready().changed_since(index.version)
        if changed is None or len(changed) > max(IDS_AT_ONCE, len(index.ids) // READ_BY_IDS):
            return None
        return index.renewed(version, changed, self._vectors(kind, changed))

    def _vectors(self, kind: str, ids: Sequence[str]) -> Iterator[Row]:
        with self._access.reading() as session:
            for page in pages(ids, IDS_AT_ONCE):
                yield from session.run(f"search_candidates_vectors_{kind}", namespace=self._access.namespace, ids=page)

    def candidates(self, vector: Sequence[float], keys: Sequence[str], k: int, *, source_id: str = "") -> Candidates:
        rows = np.asarray([vector], dtype=np.float32)
        pairs = {kind: self.index(kind).nearest(rows, k)[0] if any(vector) else [] for kind in _CANDIDATES}
        ids = concept_ids(self._access.namespace, keys)
        with self._access.reading() as session:
            own = session.run("read_sources", namespace=self._access.namespace, ids=[source_id])
            ranks = {kind: ranked(self._hits(session, dict(hits)), k) for kind, hits in pairs.items()}
            named = {hit.id: hit for hit in self._hits(session, dict.fromkeys(ids, 1.0))}
        return Candidates(own=bool(own), named=tuple(named[id_] for id_ in ids if id_ in named), **ranks)

    def _hits(self, session: LadybugTransaction, scores: dict[str, float]) -> list[Hit]:
        rows = [
            row
            for page in pages(list(scores), IDS_AT_ONCE)
            for row in session.run("search_candidates", namespace=self._access.namespace, ids=page)
        ]
        return [
            Hit(row["id"], scores[row["id"]], row["text"], row["source_id"], row["cluster"], row["entities"]) for row in rows
        ]

    def expand(self, seeds: Sequence[Seed], hops: int, limits: Limits = LIMITS) -> Expansion:
        walk = Walk()
        named = [seed for seed in seeds if seed.kind == "concept"]
        with self._access.reading() as session:
            for seed in seeds:
                walk.steps += self._direct_steps(session, seed)
            walk.steps += self._named(session, named, limits)
            if hops > 1:
                walk.steps += self._far(session, walk, limits)
            graphs = self._subgraphs(session, walk.source_ids(seeds))
        return walk.expansion(graphs, seeds)

    def _named(self, session: LadybugTransaction, seeds: Sequence[Seed], limits: Limits) -> list[Step]:
        """Return the edges that clusters lead to."""
        members = self._members(session, [seed.id for seed in seeds])
        steps: list[Step] = []
        for seed in seeds:
            entities = self._entities(session, members[seed.id], limits.entities)
            rows = sorted(self._edges(session, entities), key=lambda row: (-row["confidence"], row["id"]))[: limits.edges]
            steps += [_step(row, 1, seed.id, seed.score) for row in rows]
        return sorted(steps, key=lambda step: (-step.score * step.confidence, step.edge_id, step.seed))[: limits.near]

    def _direct_steps(self, session: LadybugTransaction, seed: Seed) -> list[Step]:
        """Return the edges that a query or an evidence leads to."""
        if seed.kind == "concept":
            return []
        source_id = seed.id if seed.kind == "query" else seed.source_id
        rows = session.run("read_subgraphs_edges", namespace=self._access.namespace, source_id=source_id)
        edges = [{**row, "source_id": source_id} for row in rows]
        if seed.kind == "query":
            return [_step(row, 0, seed.id, seed.score) for row in edges]
        return [_step(row, 1, seed.id, seed.score) for row in edges if seed.id in row["evidence_ids"]]

    def _far(self, session: LadybugTransaction, walk: Walk, limits: Limits) -> list[Step]:
        existing = {step.edge_id for step in walk.steps}
        steps: list[tuple[float, Step]] = []
        frontier = walk.frontier(limits.frontier)
        called = {entity: session.run("search_expand_concepts", entity=entity) for entity, _ in frontier}
        members = self._members(session, [row["cluster"] for names in called.values() for row in names if row["cluster"]])
        for entity, way in frontier:
            entities = self._entities(session, [row["id"] for row in called[entity]], limits.beyond)
            clusters = [row["cluster"] for row in called[entity] if row["cluster"]]
            entities += self._entities(session, [id_ for cluster in clusters for id_ in members[cluster]], limits.beyond)
            strength = way.score * way.confidence
            steps += [
                (strength * row["confidence"], _step(row, way.hop + 1, way.seed, way.score))
                for row in self._edges(session, list(dict.fromkeys([entity, *entities])))
                if row["id"] not in existing
            ]
        steps.sort(key=lambda pair: (-pair[0], pair[1].edge_id))
        return list(dict.fromkeys(step for _, step in steps))[: limits.far]

    def _subgraphs(self, session: LadybugTransaction, source_ids: Sequence[str]) -> list[Subgraph]:
        subgraphs = [
            subgraph
            for page in pages(source_ids, IDS_AT_ONCE)
            for subgraph in read_subgraphs(session, self._access.namespace, page)
        ]
        return sorted(subgraphs, key=lambda subgraph: subgraph.source_id)

    def _members(self, session: LadybugTransaction, clusters: Sequence[str]) -> dict[str, list[str]]:
        """Return the concepts of each cluster; the representing one comes first, even while the cluster is not judged.

        One statement for all, because it scans every concept of the namespace.
        """
        members = {cluster: {cluster: None} for cluster in clusters}
        if members:
            rows = session.run("search_expand", namespace=self._access.namespace, clusters=list(members))
            for row in sorted(rows, key=lambda row: str(row["id"])):
                members[row["cluster"]][row["id"]] = None
        return {cluster: list(ids) for cluster, ids in members.items()}

    @staticmethod
    def _entities(session: LadybugTransaction, concepts: Sequence[str], limit: int) -> list[str]:
        ids: list[str] = []
        for concept in concepts:
            if len(ids) < limit:
                ids += [row["id"] for row in session.run("search_expand_entities", concept=concept, limit=limit - len(ids))]
        return ids

    @staticmethod
    def _edges(session: LadybugTransaction, entities: Sequence[str]) -> list[Row]:
        rows = [row for entity in entities for row in session.run("search_expand_edges", entity=entity)]
        return list({row["id"]: row for row in rows}.values())


class LadybugPart(NamespacePart):
    """A part of a store with vector search; `index` returns the vectors of a kind (`LadybugSearch.index`)."""

    def __init__(self, access: LadybugAccess, index: Callable[[str], VectorIndex]) -> None:
        super().__init__(access)
        self._index = index


def _step(row: Row, hop: int, seed: str, score: float) -> Step:
    return Step(row["id"], row["source_id"], row["confidence"], (row["subject_id"], row["object_id"]), hop, seed, score)
