"""The concepts of a namespace, over statements with the same names and rows in every dialect."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from drag_graph.graph.name_forms import concept_id, concept_key
from drag_graph.graph.paging import pages
from drag_graph.ports.concept_store import Changes, Concept, ConceptStore, SameAs, UnlinkedSource, Waiting, Written
from drag_graph.ports.vectors import Vector
from drag_graph.stores.shared.shared_rows import node, same_as_record
from drag_graph.stores.shared.transaction import ALL, NamespacePart, Result, Row, Run, run_by_ids

PAGE = 2000
_TRIES = 5


class SharedConcepts(NamespacePart, ConceptStore):
    """The `ConceptStore` port, except `exclusive` and `nearest_concepts`; the contract of each method is there."""

    @abstractmethod
    def _writing(self, work: Callable[[Run], Result], changed_vectors: Collection[str]) -> Result:
        """Return the result of `work` in one writing transaction, which is refused after another linker has taken over.

        `changed_vectors` are the ids of the nodes whose vectors it may change.
        """

    def waiting(self, limit: int) -> Waiting:
        rows = self._rows("waiting", limit=limit)
        # On Neo4j a source that another transaction erases between match and read has no id.
        sources = sorted(row["id"] for row in rows if row["kind"] == "source" and row["id"])
        parts: dict[str, dict[str, list[tuple[str, str]]]] = {id_: {"entity": [], "evidence": []} for id_ in sources}
        for row in self._access.in_reading(lambda session: self._unlinked(session.run, sources)):
            parts[row["source_id"]][row["kind"]].append((row["id"], row["text"]))
        return Waiting(
            tuple(UnlinkedSource(id_, tuple(sorted(of["entity"])), tuple(sorted(of["evidence"]))) for id_, of in parts.items()),
            has_concepts=any(row["kind"] == "concept" for row in rows),
        )

    def _unlinked(self, run: Run, source_ids: Sequence[str]) -> list[Row]:
        parts = run_by_ids(run, "unlinked_parts", source_ids, namespace=self._namespace)
        return [row for row in parts if row["text"] is not None]

    def write(self, changes: Changes) -> Written:
        concepts = {item.id for item in (*changes.concepts, *changes.named)}
        changed_vectors = concepts.union(changes.evidence, changes.recounted)
        return self._writing(lambda run: self._write(run, changes), changed_vectors)

    def _write(self, run: Run, changes: Changes) -> Written:
        # This locks the sources, so that no entity is replaced or erased while it is linked to a concept.
        run_by_ids(run, "mark_linked", changes.sources, namespace=self._namespace, linked=False)
        self.save_vectors(run, changes.evidence)
        numbers = self._link(run, changes)
        to_parameter = self._access.sent_vector
        named = [
            {"id": c.id, "revision": c.revision, "name": c.name, "vector": to_parameter(c.vector or ())} for c in changes.named
        ]
        self._each(run, "name_concepts", _by_id(named), self.vectors_at_once)
        self._each(run, "delete_same_as", [_same_as_row(item) for item in changes.withdrawn])
        self._each(run, "save_same_as", [_same_as_row(item) for item in changes.made])
        clusters = [{"id": item.id, "revision": item.revision, "cluster": cluster} for item, cluster in changes.clusters]
        self._each(run, "cluster_concepts", _by_id(clusters))
        unlinked = {row["source_id"] for row in self._unlinked(run, changes.sources)}
        run_by_ids(run, "mark_linked", set(changes.sources) - unlinked, namespace=self._namespace, linked=True)
        return numbers

    def save_vectors(self, run: Run, evidence: Mapping[str, Vector]) -> None:
        """Write vectors of evidence by id, in a transaction whose `changed_vectors` include them."""
        for page in pages(sorted(evidence), self.vectors_at_once):
            rows = [{"id": id_, "vector": self._access.sent_vector(evidence[id_])} for id_ in page]
            self._each(run, "save_evidence_vectors", rows, self.vectors_at_once)

    def _link(self, run: Run, changes: Changes) -> Written:
        ids = [item.id for item in changes.concepts]
        existing = {row["id"] for row in self._each(run, "read_concepts", [{"id": id_} for id_ in ids])}
        fresh = [{"id": item.id, "key": item.key, "name": item.name} for item in changes.concepts if item.id not in existing]
        self._each(run, "make_concepts", _by_id(fresh))
        links = [{"entity": entity, "concept": concept} for entity, concept in changes.links]
        linked = self._each(run, "link_entities", sorted(links, key=lambda row: (row["concept"], row["entity"])))
        removed = remove_orphan_concepts(run, self._namespace, [*ids, *changes.recounted])
        return Written(sum(row["number"] for row in linked), max(0, len(fresh) - removed))

    def read(self, concept_ids: Sequence[str] | None = None) -> list[Concept]:
        if concept_ids is None:
            rows = [row for page in self._pages(vectors=False) for row in page]
            return [_concept(row, variants=tuple(tuple(forms) for forms in row["variants"])) for row in rows]
        ids = sorted(set(concept_ids))
        names: dict[str, dict[str, int]] = {}

        def work(run: Run) -> list[Row]:
            rows = self._each(run, "read_concepts", [{"id": id_} for id_ in ids], self.vectors_at_once)
            for row in run_by_ids(run, "read_concept_names", ids, namespace=self._namespace):
                names.setdefault(row["id"], {})[row["written"]] = row["number"]
            return rows

        rows = _by_id(self._access.in_reading(lambda session: work(session.run))) if ids else []
        return [
            _concept(row, names=names.get(row["id"], {}), vector=self._access.kept_vector(row["embedding"]))
            for row in rows
            if row["name"] is not None
        ]

    def same_as(
        self, concept_ids: Sequence[str] | None = None, *, text: str = "", prefix: str = "", limit: int = 100
    ) -> list[SameAs]:
        if concept_ids is None:
            return [_same_as(row) for row in self._rows("list_same_as", text=text.lower(), prefix=prefix, limit=limit)]
        ids = [{"id": id_} for id_ in sorted(set(concept_ids))]
        found = self._access.in_reading(lambda session: self._each(session.run, "read_same_as", ids))
        rows = {row["id"]: row for row in found if row["left"]}
        return [_same_as(rows[id_]) for id_ in sorted(rows)]

    def records(self, *, vectors: bool = True) -> Iterator[Row]:
        """Yield the concepts and the judgements on them as records (`GraphStore.records`)."""
        names = ("id", "namespace", "key", "name", "entities", "cluster", "embedding")
        for page in self._pages(vectors=vectors):
            for row in page:
                properties = {**row, "namespace": self._namespace, "embedding": self._access.kept_vector(row["embedding"])}
                yield node("Concept", row["id"], {name: properties[name] for name in names})
            for item in self.same_as([row["id"] for row in page]):
                # Its ends may be in two pages: it belongs to the first one.
                if item.left in {row["id"] for row in page}:
                    yield same_as_record(item, self._namespace)

    def _pages(self, *, vectors: bool) -> Iterator[list[Row]]:
        """Yield pages of concepts by id. Each page is its own transaction, so that a slow reader keeps none open."""
        after, tries = "", _TRIES
        while rows := self._rows("all_concepts", after=after, limit=PAGE, vectors=vectors):
            # If a node is erased while it is read, Neo4j returns nulls.
            page = [row for row in rows if row["id"] is not None and row["name"] is not None]
            tries = _TRIES if page else tries - 1
            if page:
                after = max(row["id"] for row in page)
                yield _by_id(page)
            elif not tries:
                return


def touched_concepts(run: Run, namespace: str, source_ids: Sequence[str]) -> list[str]:
    """Return the ids of the concepts of these sources' entities, and of the concepts that have their other names.

    Call it before the entities are erased or replaced, and `recount_concepts` or `remove_orphan_concepts` after that in the
    same transaction.
    """
    rows = run_by_ids(run, "concepts_of_sources", source_ids, "source_ids", namespace=namespace)
    keys = {concept_key(form) for row in rows for form in row["variants"]}
    return sorted({row["id"] for row in rows if row["id"]} | {concept_id(namespace, key) for key in keys})


def recount_concepts(run: Run, namespace: str, ids: Collection[str]) -> None:
    """Count the entities of concepts again and let `link` judge them again. A concept may be left without entities."""
    run_by_ids(run, "recount_concepts", ids, namespace=namespace)


def remove_orphan_concepts(run: Run, namespace: str, ids: Collection[str]) -> int:
    """Count the entities of concepts again, remove concepts without any, and return their number."""
    recount_concepts(run, namespace, ids)
    return sum(row["number"] for row in run_by_ids(run, "remove_orphan_concepts", ids, namespace=namespace))


def abandoned_concepts(run: Run, namespace: str) -> list[str]:
    """Return the ids of concepts that lost their last entity when a document was replaced, so that an erasure removes them.

    A concept with an undone judgement stays if an unlinked source has its name, because it will have an entity again.
    """
    undone = {row["id"]: row["is_undone"] for row in run("abandoned_concepts", namespace=namespace)}
    named = set[str]()
    if any(undone.values()):
        waiting = [row["id"] for row in run("waiting", namespace=namespace, limit=ALL) if row["kind"] == "source"]
        parts = run_by_ids(run, "unlinked_parts", waiting, namespace=namespace)
        named = {concept_id(namespace, concept_key(row["text"])) for row in parts if row["kind"] == "entity"}
    # On Neo4j a concept that another transaction erases between match and read has no properties.
    return [id_ for id_, is_undone in undone.items() if id_ and not (is_undone and id_ in named)]


def _concept(row: Row, **more: Any) -> Concept:
    return Concept(row["id"], row["key"], row["name"], row["entities"], row["cluster"], row["revision"], **more)


def _same_as(row: Row) -> SameAs:
    (left, left_name), (right, right_name) = sorted((row[end], row[f"{end}_name"]) for end in ("left", "right"))
    return SameAs(
        row["id"], left, right, row["method"], row["score"], row["created_at"], row["undone_at"], left_name, right_name
    )


def _same_as_row(item: SameAs) -> Row:
    return {name: getattr(item, name) for name in ("id", "left", "right", "method", "score", "created_at", "undone_at")}


def _by_id(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: str(row["id"]))
