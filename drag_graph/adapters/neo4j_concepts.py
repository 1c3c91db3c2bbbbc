"""The concepts of a Neo4j namespace (docs/adr/0015-across-queries.md)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from drag_graph.adapters.neo4j_access import Neo4jAccess
from drag_graph.adapters.neo4j_connection import Work
from drag_graph.adapters.neo4j_lease import Neo4jLease
from drag_graph.adapters.records import node, same_as_record
from drag_graph.concepts import Concept, Embedded, Linked, Merge, Naming, SameAs, Settled, Unsettled, Waiting
from drag_graph.ports import Vectors
from drag_graph.steps.linking import alias_pairs, same_as_id

Item = TypeVar("Item")
Result = TypeVar("Result")

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
_TRIES = 5
_AT = " "
"""Between the two parts of a place in an index: what it is ordered by first, and the id."""

_VECTORS: dict[Embedded, tuple[str, str]] = {
    "Concept": ("concepts_without_vector", "concept_vectors_save"),
    "Evidence": ("link_evidence_missing", "link_evidence_vectors"),
}


class Neo4jConcepts:
    """The `ConceptStore` port on Neo4j; see there for what each method promises."""

    def __init__(self, access: Neo4jAccess) -> None:
        self._access = access
        self._namespace = access.namespace
        self._lease = Neo4jLease(access)

    def exclusive(self) -> AbstractContextManager[None]:
        return self._lease.held()

    def unlinked(self, after: str, limit: int) -> list[Waiting]:
        return self._waiting("unlinked_entities", after, limit)

    def link(self, namings: Sequence[Naming]) -> Linked:
        rows = [
            [item.concept.id, item.concept.key, item.concept.name, list(item.entity_ids)]
            for item in sorted(namings, key=lambda item: item.concept.id)
        ]
        return Linked(*self._write("link_concepts", rows=rows)[0]) if rows else Linked()

    def tidy(self) -> int:
        wrong = [row[0] for row in self._read("verify_concepts")]
        for some in _chunks(wrong):
            self._write("remove_concepts", concept_ids=some)
        return len(wrong)

    def forget(self) -> None:
        self._write("remove_concepts_kept")

    def unsettled(self, after: str, limit: int) -> list[Unsettled]:
        found = self._there("unsettled_concepts", after=after, limit=limit)
        return [
            Unsettled(
                Concept(id_, key, name, entities),
                {written: number for written, number, _ in names if written is not None},
                sum(forms for _, _, forms in names),
            )
            for id_, key, name, entities, names in found
        ]

    def rename(self, names: Mapping[str, str]) -> None:
        for some in _chunks(sorted(names)):
            rows = [{"id": id_, "name": names[id_]} for id_ in some]
            self._writing(lambda work, rows=rows: work.run("rename_concepts", rows=rows))  # type: ignore[misc]

    def without_vector(self, label: Embedded, after: str, limit: int) -> list[Waiting]:
        return self._waiting(_VECTORS[label][0], after, limit)

    def save_vectors(self, label: Embedded, ids: Sequence[str], vectors: Vectors) -> None:
        rows = [[id_, vector] for id_, vector in zip(ids, vectors.tolist(), strict=True)]
        if rows:
            self._write(_VECTORS[label][1], rows=sorted(rows))

    def all(self) -> Iterator[Concept]:
        for page in self._pages("all_concepts"):
            yield from (Concept(*row[:-1]) for row in page)

    def other_names(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        for page in self._pages("concept_other_names"):
            yield from ((concept, tuple(variants)) for _, concept, variants, _ in page)

    def read(self, concept_ids: Sequence[str]) -> list[Concept]:
        ids = sorted(set(concept_ids))
        return [Concept(*row) for row in self._there("read_concepts", concept_ids=ids)] if ids else []

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
        found = [row for some in _chunks(ids) for row in self._there("concept_vectors", concept_ids=some)]
        return {id_: tuple(vector) for id_, vector in found}

    def same_as(self, concept_ids: Sequence[str]) -> list[SameAs]:
        found: dict[str, SameAs] = {}
        for some in _chunks(sorted(set(concept_ids)), ROWS_A_PAGE):
            found |= {row[0]: SameAs(*row) for row in self._there("concept_same_as", concept_ids=some)}
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
            self._writing(run)

    def save_clusters(self, settled: Sequence[Settled]) -> None:
        rows = [
            [item.concept.id, item.concept.entities, item.concept.cluster, item.joined, item.forms, item.cluster]
            for item in sorted(settled, key=lambda item: item.concept.id)
        ]
        for some in _chunks(rows, ROWS_A_PAGE):
            self._write("save_concept_clusters", rows=some)

    def merges(self, text: str = "", limit: int = 100) -> list[Merge]:
        return [_merge(row) for row in self._there("concept_merges", text=text.lower(), limit=limit)]

    def find_merges(self, prefix: str, limit: int = 10) -> list[Merge]:
        return [_merge(row) for row in self._there("find_concept_merges", prefix=prefix, limit=limit)]

    def undo(self, same_as_id: str, undone_at: str) -> None:
        self._write("undo_concept_merge", id=same_as_id, undone_at=undone_at)

    def records(self, *, vectors: bool = True) -> Iterator[dict[str, Any]]:
        """Yield the concepts and the judgements on them as records (`GraphStore.records`); who refers to them is told there."""
        names = ("id", "namespace", "method", "score", "created_at", "undone_at", "source", "target")
        after = ""
        while page := self._page("records_concepts", after, RECORDS_A_PAGE, vectors=vectors):
            yield from (node("Concept", id_, properties) for id_, properties, _ in page)
            for row in self._there("records_concepts_same_as", concept_ids=[id_ for id_, _, _ in page]):
                yield same_as_record(dict(zip(names, row, strict=True)))
            after = _place(page[-1])

    def _read(self, name: str, **values: Any) -> list[list[Any]]:
        return self._access.reading(lambda work: work.rows(name, namespace=self._namespace, **values))

    def _there(self, name: str, **values: Any) -> list[list[Any]]:
        """Return the rows of what is there.

        Of a node that is erased between its being found and its being read, the server says nothing but nulls. Where all are
        so, they are found again, as no rows means that there are no more.
        """
        for _ in range(_TRIES):
            found = self._read(name, **values)
            whole = [row for row in found if None not in row]
            if whole or not found:
                return whole
        return []

    def _write(self, name: str, **values: Any) -> list[list[Any]]:
        return self._writing(lambda work: work.rows(name, namespace=self._namespace, **values))

    def _writing(self, work: Callable[[Work], Result]) -> Result:
        """Run `work` in a transaction that a linker may make only for as long as it holds its lease."""

        def run(transaction: Work) -> Result:
            self._lease.renew(transaction)
            return work(transaction)

        return self._access.writing(run)

    def _waiting(self, name: str, after: str, limit: int) -> list[Waiting]:
        return [Waiting(row[0], row[1], _place(row)) for row in self._page(name, after, limit)]

    def _page(self, name: str, after: str, limit: int, **values: Any) -> list[list[Any]]:
        """Return the page behind a place in an index that begins with the namespace: others' nodes cost nothing."""
        reached, _, id_ = after.rpartition(_AT)
        return self._there(name, reached=reached, after=id_, limit=limit, **values)

    def _pages(self, name: str) -> Iterator[list[list[Any]]]:
        """Yield pages of rows that begin with an id and end with what comes before it in the index. Each is a transaction."""
        after = ""
        while page := self._page(name, after, ROWS_A_PAGE):
            yield page
            after = _place(page[-1])


def unlink(work: Work, namespace: str, source_ids: Sequence[str]) -> None:
    """Take the entities of queries from their concepts, before they are replaced in the same transaction.

    Concepts that no other entity refers to go with their judgements, but for those that were taken back: for the sake of these
    a concept stays, without its name. The clusters of all that are touched are open then.
    """
    found = work.rows("erase_concepts_touched", namespace=namespace, source_ids=list(source_ids))
    work.run("unlink_concepts", namespace=namespace, source_ids=list(source_ids))
    pairs = alias_pairs(namespace, ((concept, forms) for concept, _, variants in found for _, forms in variants))
    open_aliases(work, namespace, pairs)


def open_aliases(work: Work, namespace: str, pairs: Iterable[tuple[str, str]], *, withdraw: bool = False) -> None:
    """Open the clusters of concepts whose entities were called by the names of others, and of those others.

    With `withdraw`, the judgements that rest on it go: `link` makes them again where others call them so, too.
    """
    known = sorted(pairs)
    if not known:
        return
    gone = [same_as_id(namespace, *pair) for pair in known] if withdraw else []
    ids = sorted({id_ for pair in known for id_ in pair})
    work.run("erase_concepts_aliases", namespace=namespace, concept_ids=ids, ids=gone)


def _place(row: list[Any]) -> str:
    """Return where in its index the node is whose row begins with its id and ends with what comes before that in the index."""
    return f"{row[-1]}{_AT}{row[0]}"


def _ranked(pairs: list[tuple[str, float]], k: int, floor: float) -> list[tuple[str, float]]:
    near = [(id_, max(-1.0, min(1.0, cosine))) for id_, cosine in pairs if id_ is not None and cosine >= floor]
    return sorted(near, key=lambda pair: (-pair[1], pair[0]))[:k]


def _merge(row: list[Any]) -> Merge:
    return Merge(SameAs(*row[:7]), row[7], row[8])


def _chunks(items: Sequence[Item], size: int = ROWS_A_STATEMENT) -> Iterator[list[Item]]:
    for start in range(0, len(items), size):
        yield list(items[start : start + size])
