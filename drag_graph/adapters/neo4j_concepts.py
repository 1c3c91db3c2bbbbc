"""The concepts of a Neo4j namespace (docs/adr/0015-across-queries.md)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from drag_graph.adapters.neo4j_access import Neo4jAccess
from drag_graph.adapters.neo4j_connection import Work
from drag_graph.adapters.records import node, same_as_record
from drag_graph.concepts import Concept, Embedded, Merge, Naming, SameAs, Unsettled
from drag_graph.ports import Vectors

Item = TypeVar("Item")

ROWS_A_STATEMENT = 1000
VECTORS_A_STATEMENT = 100
"""Each vector is hundreds of numbers; more of them at once make the server's plan no faster."""
ROWS_A_PAGE = 5000
RECORDS_A_PAGE = 1000
"""With vectors these are megabytes."""
LEAST_CANDIDATES = 40
"""What the vector index is asked for at least: it is of all namespaces, and misses some of the nearest when asked for few."""
WIDER = 10
"""How many times more candidates are asked for when those of other namespaces may have hidden some of this one."""

_VECTORS: dict[Embedded, tuple[str, str]] = {
    "Concept": ("concepts_without_vector", "concept_vectors_save"),
    "Evidence": ("link_evidence_missing", "link_evidence_vectors"),
}


class Neo4jConcepts:
    """The `ConceptStore` port on Neo4j; see there for what each method promises."""

    def __init__(self, access: Neo4jAccess) -> None:
        self._access = access
        self._namespace = access.namespace

    def unlinked(self, after: str, limit: int) -> list[tuple[str, str]]:
        return [(row[0], row[1]) for row in self._page("unlinked_entities", after, limit)]

    def link(self, namings: Sequence[Naming]) -> int:
        rows = [
            [item.concept.id, item.concept.key, item.concept.name, list(item.entity_ids)]
            for item in sorted(namings, key=lambda item: item.concept.id)
        ]
        ((made,),) = self._write("link_concepts", rows=rows) if rows else ((0,),)
        return int(made)

    def tidy(self) -> int:
        wrong = [row[0] for row in self._read("verify_concepts")]
        for some in _chunks(wrong):
            self._write("remove_concepts", concept_ids=some)
        return len(wrong)

    def unsettled(self, after: str, limit: int) -> list[Unsettled]:
        found = self._read("unsettled_concepts", after=after, limit=limit)
        return [Unsettled(Concept(id_, key, name, entities), dict(names)) for id_, key, name, entities, names in found]

    def rename(self, names: Mapping[str, str]) -> None:
        for some in _chunks(sorted(names)):
            self._write_plain("rename_concepts", [{"id": id_, "name": names[id_]} for id_ in some])

    def without_vector(self, label: Embedded, after: str, limit: int) -> list[tuple[str, str]]:
        return [(row[0], row[1]) for row in self._page(_VECTORS[label][0], after, limit)]

    def save_vectors(self, label: Embedded, ids: Sequence[str], vectors: Vectors) -> None:
        rows = [[id_, vector] for id_, vector in zip(ids, vectors.tolist(), strict=True)]
        if rows:
            self._write(_VECTORS[label][1], rows=sorted(rows))

    def all(self) -> Iterator[Concept]:
        for page in self._pages("all_concepts"):
            yield from (Concept(*row) for row in page)

    def other_names(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        for page in self._pages("concept_other_names"):
            yield from ((concept, tuple(variants)) for _, concept, variants in page)

    def read(self, concept_ids: Sequence[str]) -> list[Concept]:
        ids = sorted(set(concept_ids))
        return [Concept(*row) for row in self._read("read_concepts", concept_ids=ids)] if ids else []

    def nearest_concepts(self, vectors: Vectors, k: int, *, floor: float = -1.0) -> list[list[tuple[str, float]]]:
        found: list[list[tuple[str, float]]] = [[] for _ in vectors]
        # A vector of zeros is near to nothing, and the index refuses it.
        open_ = [position for position, vector in enumerate(vectors) if vector.any()] if k > 0 else []
        candidates = max(LEAST_CANDIDATES, 4 * k)
        for number in (candidates, WIDER * candidates):
            asked, open_ = open_, []
            for some in _chunks(asked, VECTORS_A_STATEMENT):
                near, hidden = self._ask(vectors[some], number, k, floor)
                for position, pairs in near.items():
                    found[some[position]] = pairs
                open_ += [some[position] for position in hidden]
        for some in _chunks(open_, VECTORS_A_STATEMENT):
            values = {"vectors": vectors[some].tolist(), "k": k, "floor": floor}
            for position, pairs in self._read("nearest_concepts_exact", **values):
                found[some[position]] = _ranked(pairs, k, floor)
        return found

    def _ask(
        self, vectors: Vectors, candidates: int, k: int, floor: float
    ) -> tuple[dict[int, list[tuple[str, float]]], list[int]]:
        """Return what the index finds, by position, and of which vectors concepts of other namespaces may have hidden some."""
        found, hidden = {}, []
        for position, seen, farthest, pairs in self._read("nearest_concepts", vectors=vectors.tolist(), candidates=candidates):
            found[position] = _ranked(pairs, k, floor)
            if len(found[position]) < k and seen == candidates and farthest >= floor:
                hidden.append(position)
        return found, hidden

    def vectors(self, concept_ids: Sequence[str]) -> dict[str, tuple[float, ...]]:
        ids = sorted(set(concept_ids))
        found = [row for some in _chunks(ids) for row in self._read("concept_vectors", concept_ids=some)]
        return {id_: tuple(vector) for id_, vector in found}

    def same_as(self, concept_ids: Sequence[str]) -> list[SameAs]:
        found: dict[str, SameAs] = {}
        for some in _chunks(sorted(set(concept_ids)), ROWS_A_PAGE):
            found |= {row[0]: SameAs(*row) for row in self._read("concept_same_as", concept_ids=some)}
        return [found[id_] for id_ in sorted(found)]

    def save_same_as(self, made: Sequence[SameAs], withdrawn: Sequence[SameAs]) -> None:
        rows = [
            [item.id, item.left, item.right, item.method, item.score, item.created_at]
            for item in sorted(made, key=lambda item: (item.left, item.right))
        ]
        values = {"namespace": self._namespace}

        def run(work: Work) -> None:
            if withdrawn:
                work.run("delete_concept_same_as", **values, ids=sorted(item.id for item in withdrawn))
            if rows:
                work.run("save_concept_same_as", **values, rows=rows)

        if rows or withdrawn:
            self._access.writing(run)

    def save_clusters(self, clusters: Mapping[str, str]) -> None:
        rows = [{"id": id_, "cluster": clusters[id_]} for id_ in sorted(clusters)]
        if rows:
            self._write_plain("save_concept_clusters", rows)

    def merges(self, text: str = "", limit: int = 100) -> list[Merge]:
        return [_merge(row) for row in self._read("concept_merges", text=text.lower(), limit=limit)]

    def find_merges(self, prefix: str, limit: int = 10) -> list[Merge]:
        return [_merge(row) for row in self._read("find_concept_merges", prefix=prefix, limit=limit)]

    def undo(self, same_as_id: str, undone_at: str) -> None:
        self._write("undo_concept_merge", id=same_as_id, undone_at=undone_at)

    def records(self, *, vectors: bool = True) -> Iterator[dict[str, Any]]:
        """Yield the concepts and the judgements on them as records (`GraphStore.records`); who refers to them is told there."""
        names = ("id", "namespace", "method", "score", "created_at", "undone_at", "source", "target")
        after = ""
        while page := self._page("records_concepts", after, RECORDS_A_PAGE, vectors=vectors):
            yield from (node("Concept", id_, properties) for id_, properties in page)
            for row in self._read("records_concepts_same_as", concept_ids=[id_ for id_, _ in page]):
                yield same_as_record(dict(zip(names, row, strict=True)))
            after = page[-1][0]

    def _read(self, name: str, **values: Any) -> list[list[Any]]:
        return self._access.reading(lambda work: work.rows(name, namespace=self._namespace, **values))

    def _write(self, name: str, **values: Any) -> list[list[Any]]:
        return self._access.writing(lambda work: work.rows(name, namespace=self._namespace, **values))

    def _write_plain(self, name: str, rows: list[dict[str, Any]]) -> None:
        self._access.writing(lambda work: work.run(name, rows=rows))

    def _page(self, name: str, after: str, limit: int, **values: Any) -> list[list[Any]]:
        """Return the page behind a node, by an index that begins with the namespace: others' nodes cost nothing."""
        found = self._access.reading(lambda work: work.rows("unlinked_entities_reached", after=after)) if after else []
        # One that was erased since is gone on from with the first page: what is done is not found again.
        ((reached,),) = found or (("",),)
        return self._read(name, after=after if found else "", reached=reached, limit=limit, **values)

    def _pages(self, name: str) -> Iterator[list[list[Any]]]:
        """Yield pages of rows whose first column is the id. Each is a transaction of its own."""
        after = ""
        while page := self._page(name, after, ROWS_A_PAGE):
            yield page
            after = page[-1][0]


def _ranked(pairs: list[tuple[str, float]], k: int, floor: float) -> list[tuple[str, float]]:
    near = [(id_, max(-1.0, min(1.0, cosine))) for id_, cosine in pairs if cosine >= floor]
    return sorted(near, key=lambda pair: (-pair[1], pair[0]))[:k]


def _merge(row: list[Any]) -> Merge:
    return Merge(SameAs(*row[:7]), row[7], row[8])


def _chunks(items: Sequence[Item], size: int = ROWS_A_STATEMENT) -> Iterator[list[Item]]:
    for start in range(0, len(items), size):
        yield list(items[start : start + size])
