"""The concepts of a namespace of an embedded store (docs/adr/0015-across-queries.md)."""

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from drag_graph.adapters.ladybug_access import LadybugAccess
from drag_graph.adapters.ladybug_engine import Row, Session
from drag_graph.adapters.ladybug_rows import link_record, node_record
from drag_graph.adapters.ladybug_vectors import VectorIndex
from drag_graph.adapters.records import same_as_record
from drag_graph.concepts import Concept, Embedded, Linked, Merge, Naming, SameAs, Settled, Unsettled, Waiting
from drag_graph.errors import StoreLocked
from drag_graph.ports import Vectors
from drag_graph.steps.linking import alias_pairs, same_as_id

ROWS_AT_ONCE = 32
"""As in `ladybug_store`: the engine handles the rows that a statement was first planned with again in every later call."""
VECTORS_AT_ONCE = 4
VECTORS_A_BLOCK = 512
"""Vectors compared with all others at once: so many rows of cosines are in memory together."""

_VECTORS: dict[Embedded, tuple[str, str]] = {
    "Concept": ("concepts_without_vector", "concept_vectors_save"),
    "Evidence": ("link_evidence_missing", "link_evidence_vectors"),
}

_linked: dict[tuple[str, str], str] = {}
"""The threads that link, by file and namespace; other processes are kept out by the lock on the file."""
_linked_lock = threading.Lock()


class LadybugConcepts:
    """The `ConceptStore` port on an embedded store; see there for what each method promises."""

    def __init__(self, access: LadybugAccess) -> None:
        self._access = access
        self._namespace = access.namespace
        self._index: VectorIndex | None = None

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        place = os.path.realpath(self._access.location), self._namespace
        with _linked_lock:
            if place in _linked:
                where, who = f"namespace {self._namespace!r} of {self._access.location}", f"thread {_linked[place]}"
                raise StoreLocked(f"{where} is being linked by {who} of this process", hint="It is free when that ends.")
            _linked[place] = threading.current_thread().name
        try:
            yield
        finally:
            del _linked[place]

    def unlinked(self, after: str, limit: int) -> list[Waiting]:
        return self._waiting("unlinked_entities", after, limit)

    def link(self, namings: Sequence[Naming]) -> Linked:
        if not namings:
            return Linked()
        ids = [item.concept.id for item in namings]
        links = [{"entity": id_, "concept": item.concept.id} for item in namings for id_ in item.entity_ids]
        with self._access.writing() as session:
            there = {row["id"]: row for row in self._rows(session, "read_concepts", _ids(ids))}
            named = [{"id": item.concept.id, "key": item.concept.key, "name": item.concept.name} for item in namings]
            fresh = [row for row in named if row["id"] not in there]
            self._rows(session, "link_concepts", fresh)
            self._rows(session, "link_concepts_entities", links)
            counted = {row["id"]: row["entities"] for row in self._rows(session, "link_concepts_counts", _ids(ids))}
            kept = {id_ for id_, row in there.items() if not row["name"]}
            self._rows(session, "link_concepts_named", [row for row in named if row["id"] in kept and counted[row["id"]]])
            self._rows(session, "remove_concepts", _ids(id_ for id_ in counted if not counted[id_] and id_ not in kept))
        before = {id_: row["entities"] or 0 for id_, row in there.items()}
        made = [id_ for id_, number in counted.items() if number and not before.get(id_)]
        return Linked(sum(counted.values()) - sum(before.values()), len(made))

    def tidy(self) -> int:
        with self._access.reading() as session:
            wrong = [row["id"] for row in session.run("verify_concepts", namespace=self._namespace)]
        if wrong:
            with self._access.writing() as session:
                counted = self._rows(session, "link_concepts_counts", _ids(wrong))
                self._remove(session, [row["id"] for row in counted if not row["entities"]])
        return len(wrong)

    def forget(self) -> None:
        with self._access.reading() as session:
            kept = session.run("remove_concepts_kept", namespace=self._namespace)
        if kept:
            with self._access.writing() as session:
                counted = self._rows(session, "link_concepts_counts", kept)
                self._remove(session, [row["id"] for row in counted if not row["entities"]])

    def unlink(self, session: Session, source_id: str) -> None:
        """Take a query's entities from their concepts, before they are replaced in the same transaction.

        Concepts that no other entity refers to go with their judgements, but for those that were taken back: for the sake of
        these a concept stays, without its name. The clusters of all that are touched are open then.
        """
        named = session.run("erase_concepts_touched", namespace=self._namespace, source_id=source_id)
        found = session.run("unlink_concepts", namespace=self._namespace, source_id=source_id)
        self._rows(session, "unlink_concepts_counts", [row for row in found if row["entities"] > 0])
        gone = [row["id"] for row in found if row["entities"] <= 0]
        judged = {row["id"]: _same_as(row) for row in self._rows(session, "concept_same_as", _ids(gone))}
        undone = {end for item in judged.values() if item.undone_at for end in (item.left, item.right)}
        kept = [id_ for id_ in gone if id_ in undone]
        self._remove(session, [id_ for id_ in gone if id_ not in undone])
        self._rows(session, "remove_concepts_neighbours", _ids(kept))
        self._rows(session, "delete_concept_same_as", [_pair(item) for item in judged.values()])
        self._rows(session, "unlink_concepts_kept", _ids(kept))
        self.open_aliases(session, alias_pairs(self._namespace, ((row["id"], row["variants"]) for row in named)))

    def open_aliases(self, session: Session, pairs: Iterable[tuple[str, str]], *, withdraw: bool = False) -> None:
        """Open the clusters of concepts whose entities were called by the names of others, and of those others.

        With `withdraw`, the judgements that rest on it go: `link` makes them again where others call them so, too.
        """
        known = sorted(pairs)
        ids = sorted({id_ for pair in known for id_ in pair})
        clusters = {row["cluster"] for row in self._rows(session, "read_concepts", _ids(ids))} - {""}
        if clusters:
            session.run("erase_concepts_clusters", namespace=self._namespace, clusters=sorted(clusters))
        if withdraw:
            same_as = [(same_as_id(self._namespace, *pair), *sorted(pair)) for pair in known]
            rows = [{"id": id_, "left": left, "right": right} for id_, left, right in same_as]
            self._rows(session, "erase_concepts_aliases", rows)

    def _remove(self, session: Session, concept_ids: Sequence[str]) -> None:
        self._rows(session, "remove_concepts_neighbours", _ids(concept_ids))
        self._rows(session, "remove_concepts", _ids(concept_ids))

    def unsettled(self, after: str, limit: int) -> list[Unsettled]:
        concepts: dict[str, Concept] = {}
        names: dict[str, dict[str, int]] = {}
        forms: dict[str, int] = {}
        for row in self._page("unsettled_concepts", after, limit):
            concepts[row["id"]] = Concept(row["id"], row["key"], row["name"], row["entities"])
            names.setdefault(row["id"], {})[row["written"]] = row["number"]
            forms[row["id"]] = forms.get(row["id"], 0) + int(row["forms"] or 0)
        return [Unsettled(concepts[id_], names[id_], forms[id_]) for id_ in sorted(concepts)]

    def rename(self, names: Mapping[str, str]) -> None:
        self._write("rename_concepts", [{"id": id_, "name": name} for id_, name in names.items()])

    def without_vector(self, label: Embedded, after: str, limit: int) -> list[Waiting]:
        return self._waiting(_VECTORS[label][0], after, limit)

    def save_vectors(self, label: Embedded, ids: Sequence[str], vectors: Vectors) -> None:
        rows = [{"id": id_, "vector": vector} for id_, vector in zip(ids, vectors.tolist(), strict=True)]
        self._write(_VECTORS[label][1], rows, VECTORS_AT_ONCE)

    def all(self) -> Iterator[Concept]:
        for row in self._access.ready().stream("all_concepts", namespace=self._namespace):
            yield Concept(**row)

    def other_names(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        for row in self._access.ready().stream("concept_other_names", namespace=self._namespace):
            yield row["concept"], tuple(row["variants"])

    def read(self, concept_ids: Sequence[str]) -> list[Concept]:
        return [Concept(**row) for row in self._read("read_concepts", concept_ids)]

    def nearest_concepts(self, vectors: Vectors, k: int, *, floor: float = -1.0) -> list[list[tuple[str, float]]]:
        index = self._vectors()
        found: list[list[tuple[str, float]]] = []
        for start in range(0, len(vectors), VECTORS_A_BLOCK):
            found += _nearest(index, vectors[start : start + VECTORS_A_BLOCK], k, floor)
        return found

    def _vectors(self) -> VectorIndex:
        engine, index = self._access.ready(), self._index
        if index is None or index.version != engine.version:
            # The version is taken before the vectors, so that a write in between only makes the next call read again.
            index = VectorIndex.of(engine.version, engine.stream("nearest_concepts", namespace=self._namespace))
            self._index = index
        return index

    def vectors(self, concept_ids: Sequence[str]) -> dict[str, tuple[float, ...]]:
        return {row["id"]: tuple(row["embedding"]) for row in self._read("concept_vectors", concept_ids)}

    def same_as(self, concept_ids: Sequence[str]) -> list[SameAs]:
        found = {row["id"]: row for row in self._read("concept_same_as", concept_ids)}
        return [_same_as(found[id_]) for id_ in sorted(found)]

    def save_same_as(self, made: Sequence[SameAs], withdrawn: Sequence[SameAs]) -> None:
        rows = [{**_pair(item), "method": item.method, "score": item.score, "created_at": item.created_at} for item in made]
        gone = [_pair(item) for item in withdrawn]
        if not rows and not gone:
            return
        with self._access.writing(keeps_vectors=True) as session:
            self._rows(session, "delete_concept_same_as", gone)
            self._rows(session, "delete_concept_same_as_ends", _ids(end for row in gone for end in (row["left"], row["right"])))
            self._rows(session, "save_concept_same_as", rows)

    def save_clusters(self, settled: Sequence[Settled]) -> None:
        if not settled:
            return
        ids = [item.concept.id for item in settled]
        formed = [item.concept.id for item in settled if item.forms is not None]
        with self._access.writing(keeps_vectors=True) as session:
            # Nobody else writes meanwhile.
            found = {row["id"]: row for row in self._rows(session, "save_concept_clusters_joined", _ids(ids))}
            counted = self._rows(session, "save_concept_clusters_forms", _ids(formed))
            forms = {row["id"]: int(row["forms"] or 0) for row in counted}
            same = [item for item in settled if _is_same(item, found.get(item.concept.id), forms.get(item.concept.id, 0))]
            rows = [{"id": item.concept.id, "cluster": item.cluster} for item in same]
            self._rows(session, "save_concept_clusters", rows)

    def merges(self, text: str = "", limit: int = 100) -> list[Merge]:
        with self._access.reading() as session:
            found = session.run("concept_merges", namespace=self._namespace, text=text.lower(), limit=limit)
        return [_merge(row) for row in found]

    def find_merges(self, prefix: str, limit: int = 10) -> list[Merge]:
        with self._access.reading() as session:
            found = session.run("find_concept_merges", namespace=self._namespace, prefix=prefix, limit=limit)
        return [_merge(row) for row in found]

    def undo(self, same_as_id: str, undone_at: str) -> None:
        with self._access.writing() as session:
            session.run("undo_concept_merge", namespace=self._namespace, id=same_as_id, undone_at=undone_at)

    def records(self) -> Iterator[Row]:
        """Yield the concepts, which entities refer to them, and the judgements as records (`GraphStore.records`)."""
        engine, mine = self._access.ready(), {"namespace": self._namespace}
        for row in engine.stream("records_concepts", **mine):
            yield node_record("Concept", row)
        for row in engine.stream("records_links_concepts", **mine):
            yield link_record(self._namespace, row)
        for row in engine.stream("records_concepts_same_as", **mine):
            yield same_as_record(row)

    def _waiting(self, name: str, after: str, limit: int) -> list[Waiting]:
        return [Waiting(row["id"], row["text"], row["id"]) for row in self._page(name, after, limit)]

    def _page(self, name: str, after: str, limit: int) -> list[Row]:
        with self._access.reading() as session:
            return session.run(name, namespace=self._namespace, after=after, limit=limit)

    def _read(self, name: str, concept_ids: Iterable[str]) -> list[Row]:
        with self._access.reading() as session:
            return self._rows(session, name, _ids(dict.fromkeys(concept_ids)))

    def _write(self, name: str, rows: Sequence[Row], at_once: int = ROWS_AT_ONCE) -> None:
        if rows:
            with self._access.writing() as session:
                self._rows(session, name, rows, at_once)

    def _rows(self, session: Session, name: str, rows: Sequence[Row], at_once: int = ROWS_AT_ONCE) -> list[Row]:
        """Run a statement over rows, a few at a time, and not at all where there are none; return what it returns."""
        named = [{**row, "namespace": self._namespace} for row in rows]
        return [row for at in range(0, len(named), at_once) for row in session.run(name, rows=named[at : at + at_once])]


def _nearest(index: VectorIndex, vectors: Vectors, k: int, floor: float) -> list[list[tuple[str, float]]]:
    if k < 1 or not index.ids or vectors.shape[1] != index.vectors.shape[1]:
        return [[] for _ in vectors]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    found = []
    for cosines, length in zip(units @ index.vectors.T, lengths[:, 0], strict=True):
        # All that are at least as near as the k-th, so that equal cosines are put in order by id.
        least = max(floor, float(np.partition(cosines, -k)[-k])) if k < len(index.ids) else floor
        places = np.flatnonzero(cosines >= least).tolist() if length else []
        pairs = [(index.ids[place], max(-1.0, min(1.0, float(cosines[place])))) for place in places]
        found.append(sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k])
    return found


def _is_same(item: Settled, found: Row | None, forms: int) -> bool:
    """Whether a concept is as it was when its cluster was worked out."""
    if found is None:
        return False
    now = found["entities"], found["cluster"], found["joined"]
    return now == (item.concept.entities, item.concept.cluster, item.joined) and item.forms in (None, forms)


def _ids(ids: Iterable[str]) -> list[Row]:
    return [{"id": id_} for id_ in ids]


def _pair(item: SameAs) -> Row:
    return {"id": item.id, "left": item.left, "right": item.right}


def _same_as(row: Row) -> SameAs:
    left, right = sorted((row["left"], row["right"]))
    return SameAs(row["id"], left, right, row["method"], row["score"], row["created_at"], row["undone_at"])


def _merge(row: Row) -> Merge:
    return Merge(_same_as(row), row["left_name"], row["right_name"])
