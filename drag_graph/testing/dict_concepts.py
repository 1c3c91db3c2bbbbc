"""The concepts of the store in memory: the `ConceptStore` port over dictionaries."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from drag_graph.errors import StoreLocked
from drag_graph.graph.name_forms import concept_id, concept_key
from drag_graph.model import Entity, Subgraph
from drag_graph.ports.concept_store import Changes, Concept, SameAs, UnlinkedSource, Waiting, Written
from drag_graph.ports.vectors import Vectors
from drag_graph.stores.shared.shared_rows import link, node, same_as_record


@dataclass
class Links:
    """What `link` made in one namespace: concepts, which one each entity refers to, judgements, vectors, sources linked."""

    concepts: dict[str, Concept] = field(default_factory=dict)
    refers: dict[str, str] = field(default_factory=dict)
    same_as: dict[str, SameAs] = field(default_factory=dict)
    evidence: dict[str, tuple[float, ...]] = field(default_factory=dict)
    linked: set[str] = field(default_factory=set)
    is_being_linked: bool = False

    def touched(self, entities: Iterable[Entity], namespace: str) -> set[str]:
        """Return the concepts that these entities refer to, and those that their other names name."""
        linked_entities = [item for item in entities if item.id in self.refers]
        named = {concept_id(namespace, concept_key(form)) for item in linked_entities for form in item.variants}
        return {self.refers[item.id] for item in linked_entities} | named

    def forget(
        self, subgraph: Subgraph, gone: Collection[str], written: dict[str, Entity], *, keeps_orphans: bool = False
    ) -> None:
        """Take away what hangs on entities and evidence of a subgraph that go; `written` are the entities that are left."""
        touched = self.touched(subgraph.entities, subgraph.source.namespace)
        for id_ in self.refers.keys() & gone:
            del self.refers[id_]
        for id_ in self.evidence.keys() & gone:
            del self.evidence[id_]
        self.recount(touched, written)
        if not keeps_orphans:
            self.remove_orphans(touched | self.abandoned(written, subgraph.source.namespace))

    def recount(self, concept_ids: Iterable[str], written: dict[str, Entity]) -> None:
        """Count the entities of concepts again, call one as an entity of it is written, and let it wait to be judged."""
        members: dict[str, list[str]] = {}
        for entity, id_ in self.refers.items():
            members.setdefault(id_, []).append(written[entity].name)
        for id_ in set(concept_ids) & self.concepts.keys():
            there, names = self.concepts[id_], members.get(id_, [])
            if names and there.name not in names:
                there = replace(there, name=min(names), vector=None)
            self.concepts[id_] = replace(there, entities=len(names), cluster="", revision=there.revision + 1)

    def abandoned(self, written: dict[str, Entity], namespace: str) -> set[str]:
        """Return the concepts without entities, but those with an undone judgement that an entity will refer to again."""
        names = (item.name for id_, item in written.items() if id_ not in self.refers)
        named = {concept_id(namespace, concept_key(name)) for name in names}
        undone = {end for item in self.same_as.values() if item.undone_at for end in (item.left, item.right)}
        return {id_ for id_, item in self.concepts.items() if not item.entities} - (named & undone)

    def remove_orphans(self, concept_ids: Iterable[str]) -> int:
        """Remove those that no entity refers to, with their judgements; those that were judged with them wait again."""
        orphans = {id_ for id_ in concept_ids if id_ in self.concepts and not self.concepts[id_].entities}
        for item in [item for item in self.same_as.values() if orphans & {item.left, item.right}]:
            del self.same_as[item.id]
            for end in {item.left, item.right}:
                self.concepts[end] = replace(self.concepts[end], cluster="", revision=self.concepts[end].revision + 1)
        for id_ in orphans:
            del self.concepts[id_]
        return len(orphans)


class Holding(Protocol):
    """What a namespace holds, as far as concepts go."""

    subgraphs: dict[str, Subgraph]
    links: Links


Lend = Callable[[], AbstractContextManager[Holding]]


class DictConcepts:
    """The `ConceptStore` port; see there for what each method promises."""

    def __init__(self, namespace: str, lend: Lend) -> None:
        self._namespace = namespace
        self._lend = lend

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        with self._lend() as content:
            links = content.links
            if links.is_being_linked:
                raise StoreLocked(f"namespace {self._namespace!r} is being linked by another")
            links.is_being_linked = True
        try:
            yield
        finally:
            links.is_being_linked = False

    def waiting(self, limit: int) -> Waiting:
        with self._lend() as content:
            ids = sorted(content.subgraphs.keys() - content.links.linked)[:limit]
            sources = tuple(_unlinked(content.subgraphs[id_], content.links) for id_ in ids)
            return Waiting(sources, any(not item.cluster for item in content.links.concepts.values()))

    def write(self, changes: Changes) -> Written:
        with self._lend() as content:
            links, entities = content.links, written(content)
            evidence_ids = {item.id for graph in content.subgraphs.values() for item in graph.evidence}
            links.evidence |= {id_: tuple(vector) for id_, vector in changes.evidence.items() if id_ in evidence_ids}
            fresh = {item.id: item for item in changes.concepts if item.id not in links.concepts}
            links.concepts |= fresh
            new = {entity: id_ for entity, id_ in changes.links if entity in entities and entity not in links.refers}
            links.refers |= new
            touched = {*(item.id for item in changes.concepts), *changes.recounted}
            links.recount(touched, entities)
            removed = links.remove_orphans(touched)
            for item in changes.named:
                if (there := self._same(links, item)) is not None:
                    links.concepts[item.id] = replace(there, name=item.name, vector=tuple(item.vector or ()))
            for same in changes.withdrawn:
                links.same_as.pop(same.id, None)
            links.same_as |= {same.id: same for same in changes.made if {same.left, same.right} <= links.concepts.keys()}
            for item, cluster in changes.clusters:
                if (there := self._same(links, item)) is not None:
                    links.concepts[item.id] = replace(there, cluster=cluster)
            graphs = [content.subgraphs[id_] for id_ in changes.sources if id_ in content.subgraphs]
            done = [_unlinked(graph, links) for graph in graphs]
            links.linked |= {source.id for source in done if not source.entities and not source.evidence}
            return Written(len(new), max(0, len(fresh) - removed))

    @staticmethod
    def _same(links: Links, item: Concept) -> Concept | None:
        """Return the concept where it is of the revision that was read."""
        there = links.concepts.get(item.id)
        return there if there and there.revision == item.revision else None

    def read(self, concept_ids: Sequence[str] | None = None) -> list[Concept]:
        with self._lend() as content:
            entities, links = written(content), content.links
            names: dict[str, Counter[str]] = {}
            variants: dict[str, list[tuple[str, ...]]] = {}
            for entity, id_ in links.refers.items():
                names.setdefault(id_, Counter())[entities[entity].name] += 1
                if entities[entity].variants:
                    variants.setdefault(id_, []).append(entities[entity].variants)
            if concept_ids is None:
                pairs = sorted(links.concepts.items())
                return [replace(item, variants=tuple(variants.get(id_, ())), vector=None) for id_, item in pairs]
            there = sorted(set(concept_ids) & links.concepts.keys())
            return [replace(links.concepts[id_], names=names.get(id_, {})) for id_ in there]

    def nearest_concepts(self, vectors: Vectors, k: int, *, floor: float = -1.0) -> Iterator[list[tuple[str, float]]]:
        with self._lend() as content:
            vectors_by_id = {id_: item.vector for id_, item in content.links.concepts.items() if item.vector}
        for vector in vectors:
            pairs = [(id_, float(np.dot(vector, other))) for id_, other in vectors_by_id.items() if vector.any()]
            near = sorted((pair for pair in pairs if pair[1] >= floor), key=lambda pair: (-pair[1], pair[0]))
            yield near[: max(k, 0)]

    def same_as(
        self, concept_ids: Sequence[str] | None = None, *, text: str = "", prefix: str = "", limit: int = 100
    ) -> list[SameAs]:
        with self._lend() as content:
            names = {id_: item.name for id_, item in content.links.concepts.items()}
            selected = [
                replace(item, left_name=names[item.left], right_name=names[item.right])
                for _, item in sorted(content.links.same_as.items())
            ]
        if concept_ids is not None:
            return [item for item in selected if {*concept_ids} & {item.left, item.right}]
        judgements = (
            item
            for item in selected
            if item.id.startswith(prefix) and text.lower() in f"{item.left_name}\n{item.right_name}".lower()
        )
        return sorted(judgements, key=lambda item: (item.left_name, item.right_name, item.id))[:limit]

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the concepts, which entities refer to them, and the judgements as records (`GraphStore.records`)."""
        with self._lend() as content:
            links = content.links
        mine = {"namespace": self._namespace}
        for item in links.concepts.values():
            own = {"id": item.id, "key": item.key, "name": item.name, "entities": item.entities, "cluster": item.cluster}
            yield node("Concept", item.id, {**mine, **own, "embedding": item.vector})
        for entity, concept in links.refers.items():
            yield link("REFERS_TO", entity, concept, self._namespace)
        for same in links.same_as.values():
            yield same_as_record(same, self._namespace)


def written(content: Holding) -> dict[str, Entity]:
    """Return the stored entities by id."""
    return {item.id: item for graph in content.subgraphs.values() for item in graph.entities}


def _unlinked(graph: Subgraph, links: Links) -> UnlinkedSource:
    return UnlinkedSource(
        graph.source_id,
        tuple(sorted((item.id, item.name) for item in graph.entities if item.id not in links.refers)),
        tuple(sorted((item.id, item.text) for item in graph.kept_evidence if item.id not in links.evidence)),
    )
