"""The concepts of the store in memory: the `ConceptStore` port over dictionaries."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from drag_graph.adapters.records import link, node, same_as_record
from drag_graph.concepts import Concept, Embedded, Linked, Merge, Naming, SameAs, Settled, Unsettled, Waiting
from drag_graph.errors import StoreLocked
from drag_graph.model import Entity, Subgraph
from drag_graph.ports import Vectors
from drag_graph.steps.linking import alias_pairs, same_as_id


@dataclass
class Links:
    """What `link` made in one namespace: concepts, which one each entity refers to, judgements, and vectors by label and id."""

    concepts: dict[str, Concept] = field(default_factory=dict)
    refers: dict[str, str] = field(default_factory=dict)
    same_as: dict[str, SameAs] = field(default_factory=dict)
    vectors: dict[Embedded, dict[str, tuple[float, ...]]] = field(default_factory=lambda: {"Concept": {}, "Evidence": {}})

    is_being_linked: bool = False

    def forget(
        self, entities: Collection[Entity], evidence_ids: Collection[str], namespace: str, *, is_replaced: bool = False
    ) -> None:
        """Take away what hangs on entities and evidence that go: a concept that is replaced keeps what was taken back."""
        pairs = alias_pairs(namespace, ((self.refers[item.id], item.variants) for item in entities if item.id in self.refers))
        for id_ in self.refers.keys() & {item.id for item in entities}:
            self._drop(self.refers.pop(id_), is_replaced=is_replaced)
        for id_ in self.vectors["Evidence"].keys() & set(evidence_ids):
            del self.vectors["Evidence"][id_]
        self.open_aliases(namespace, pairs, withdraw=not is_replaced)

    def open_aliases(self, namespace: str, pairs: Iterable[tuple[str, str]], *, withdraw: bool) -> None:
        """Open the clusters of concepts whose entities were called by the names of others, and of those others."""
        for pair in pairs:
            clusters = {self.concepts[id_].cluster for id_ in pair if id_ in self.concepts}
            self._open(item.id for item in list(self.concepts.values()) if item.cluster in clusters)
            item = self.same_as.get(same_as_id(namespace, *pair))
            if withdraw and item and item.method == "alias" and not item.undone_at:
                del self.same_as[item.id]

    def _open(self, concept_ids: Iterable[str]) -> None:
        for id_ in concept_ids:
            self.concepts[id_] = replace(self.concepts[id_], cluster="")

    def _drop(self, concept_id: str, *, is_replaced: bool) -> None:
        there = self.concepts[concept_id]
        entities = sum(id_ == concept_id for id_ in self.refers.values())
        self._open(item.id for item in list(self.concepts.values()) if item.cluster == there.cluster)
        self.concepts[concept_id] = replace(there, entities=entities, cluster="")
        if not entities:
            self.remove(concept_id, keeps_undone=is_replaced)

    def remove(self, concept_id: str, *, keeps_undone: bool = False) -> None:
        """Remove a concept with its judgements, or all of it but what was taken back and its id."""
        on_it = [item for item in self.same_as.values() if concept_id in (item.left, item.right)]
        kept = [item for item in on_it if keeps_undone and item.undone_at]
        for item in on_it:
            self._open({item.left, item.right})
            if item not in kept:
                del self.same_as[item.id]
        self.vectors["Concept"].pop(concept_id, None)
        if kept:
            self.concepts[concept_id] = Concept(concept_id, "", "")
        else:
            del self.concepts[concept_id]


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

    def unlinked(self, after: str, limit: int) -> list[Waiting]:
        links, entities, _ = self._now()
        ids = sorted(id_ for id_ in entities.keys() - links.refers.keys() if id_ > after)
        return [Waiting(id_, entities[id_].name, id_) for id_ in ids][:limit]

    def link(self, namings: Sequence[Naming]) -> Linked:
        links, entities, _ = self._now()
        made = linked = 0
        for item in namings:
            id_ = item.concept.id
            fresh = [entity for entity in item.entity_ids if entity in entities and entity not in links.refers]
            if fresh:
                links.refers |= dict.fromkeys(fresh, id_)
                there = links.concepts.get(id_, item.concept)
                made += not there.entities
                linked += len(fresh)
                there = there if there.name else item.concept
                links.concepts[id_] = replace(there, entities=there.entities + len(fresh), cluster="")
        return Linked(linked, made)

    def tidy(self) -> int:
        self._now()
        return 0

    def forget(self) -> None:
        links, _, _ = self._now()
        for id_ in [item.id for item in links.concepts.values() if not item.entities]:
            links.remove(id_)

    def unsettled(self, after: str, limit: int) -> list[Unsettled]:
        links, entities, _ = self._now()
        names: dict[str, Counter[str]] = {}
        for entity, id_ in links.refers.items():
            names.setdefault(id_, Counter())[entities[entity].name] += 1
        open_ = [item for _, item in sorted(links.concepts.items()) if not item.cluster and item.id > after and item.name]
        return [Unsettled(item, names[item.id], self._forms(item.id)) for item in open_[:limit]]

    def rename(self, names: Mapping[str, str]) -> None:
        links, _, _ = self._now()
        for id_, name in names.items():
            links.concepts[id_] = replace(links.concepts[id_], name=name)
            links.vectors["Concept"].pop(id_, None)

    def without_vector(self, label: Embedded, after: str, limit: int) -> list[Waiting]:
        links, _, statements = self._now()
        texts = statements if label == "Evidence" else {id_: item.name for id_, item in links.concepts.items() if item.name}
        ids = sorted(id_ for id_ in texts.keys() - links.vectors[label].keys() if id_ > after)
        return [Waiting(id_, texts[id_], id_) for id_ in ids][:limit]

    def save_vectors(self, label: Embedded, ids: Sequence[str], vectors: Vectors) -> None:
        links, _, statements = self._now()
        there: Collection[str] = statements if label == "Evidence" else links.concepts
        for id_, vector in zip(ids, vectors.tolist(), strict=True):
            if id_ in there:
                links.vectors[label][id_] = tuple(vector)

    def all(self) -> Iterator[Concept]:
        yield from list(self._now()[0].concepts.values())

    def other_names(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        links, entities, _ = self._now()
        for entity, concept in list(links.refers.items()):
            if entities[entity].variants:
                yield concept, entities[entity].variants

    def read(self, concept_ids: Sequence[str]) -> list[Concept]:
        links, _, _ = self._now()
        return [links.concepts[id_] for id_ in sorted(set(concept_ids)) if id_ in links.concepts]

    def nearest_concepts(self, vectors: Vectors, k: int, *, floor: float = -1.0) -> list[list[tuple[str, float]]]:
        known = self._now()[0].vectors["Concept"]
        found = []
        for vector in vectors:
            pairs = [(id_, float(np.dot(vector, other))) for id_, other in known.items() if vector.any()]
            near = sorted((pair for pair in pairs if pair[1] >= floor), key=lambda pair: (-pair[1], pair[0]))
            found.append(near[: max(k, 0)])
        return found

    def vectors(self, concept_ids: Sequence[str]) -> dict[str, tuple[float, ...]]:
        known = self._now()[0].vectors["Concept"]
        return {id_: known[id_] for id_ in concept_ids if id_ in known}

    def same_as(self, concept_ids: Sequence[str]) -> list[SameAs]:
        wanted = set(concept_ids)
        return [item for _, item in sorted(self._now()[0].same_as.items()) if wanted & {item.left, item.right}]

    def save_same_as(self, made: Sequence[SameAs], withdrawn: Sequence[SameAs]) -> None:
        links, _, _ = self._now()
        for item in withdrawn:
            if item.id in links.same_as and not links.same_as[item.id].undone_at:
                del links.same_as[item.id]
                for end in {item.left, item.right} & links.concepts.keys():
                    links.concepts[end] = replace(links.concepts[end], cluster="")
        for item in made:
            there = links.same_as.get(item.id, replace(item, undone_at=""))
            if not there.undone_at and {item.left, item.right} <= links.concepts.keys():
                links.same_as[item.id] = replace(there, method=item.method, score=item.score)

    def save_clusters(self, settled: Sequence[Settled]) -> None:
        links, _, _ = self._now()
        for item in settled:
            there = links.concepts.get(item.concept.id)
            if there is None or (there.entities, there.cluster) != (item.concept.entities, item.concept.cluster):
                continue
            standing = [one for one in links.same_as.values() if there.id in (one.left, one.right) and not one.undone_at]
            if len(standing) == item.joined and item.forms in (None, self._forms(there.id)):
                links.concepts[there.id] = replace(there, cluster=item.cluster)

    def _forms(self, concept_id: str) -> int:
        links, entities, _ = self._now()
        return sum(len(entities[id_].variants) for id_, concept in links.refers.items() if concept == concept_id)

    def merges(self, text: str = "", limit: int = 100) -> list[Merge]:
        found = [item for item in self._merges() if text.lower() in item.left.lower() or text.lower() in item.right.lower()]
        return sorted(found, key=lambda item: (item.left, item.right, item.same_as.id))[:limit]

    def find_merges(self, prefix: str, limit: int = 10) -> list[Merge]:
        return [item for item in self._merges() if item.same_as.id.startswith(prefix)][:limit]

    def undo(self, same_as_id: str, undone_at: str) -> None:
        links, _, _ = self._now()
        item = links.same_as[same_as_id] = replace(links.same_as[same_as_id], undone_at=undone_at)
        for end in (item.left, item.right):
            links.concepts[end] = replace(links.concepts[end], cluster="")

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the concepts, which entities refer to them, and the judgements as records (`GraphStore.records`)."""
        links, _, _ = self._now()
        mine = {"namespace": self._namespace}
        for item in links.concepts.values():
            own = {"id": item.id, "key": item.key, "name": item.name, "entities": item.entities, "cluster": item.cluster}
            yield node("Concept", item.id, {**mine, **own, "embedding": links.vectors["Concept"].get(item.id)})
        for entity, concept in links.refers.items():
            yield link("REFERS_TO", entity, concept, self._namespace)
        for same in links.same_as.values():
            own = {"id": same.id, "method": same.method, "score": same.score}
            times = {"created_at": same.created_at, "undone_at": same.undone_at}
            yield same_as_record({**mine, **own, **times, "source": same.left, "target": same.right})

    def _merges(self) -> list[Merge]:
        links, _, _ = self._now()
        return [
            Merge(item, links.concepts[item.left].name, links.concepts[item.right].name)
            for _, item in sorted(links.same_as.items())
            if links.concepts[item.left].name and links.concepts[item.right].name
        ]

    def _now(self) -> tuple[Links, dict[str, Entity], dict[str, str]]:
        """Return the links (concepts are called as an entity that is there), the entities and the kept statements by id."""
        with self._lend() as content:
            graphs, links = list(content.subgraphs.values()), content.links
            entities = {item.id: item for graph in graphs for item in graph.entities}
            statements = {item.id: item.text for graph in graphs for item in graph.kept_evidence}
            written: dict[str, set[str]] = {}
            for entity, id_ in links.refers.items():
                written.setdefault(id_, set()).add(entities[entity].name)
            for id_, names in written.items():
                if links.concepts[id_].name not in names:
                    links.concepts[id_] = replace(links.concepts[id_], name=min(names))
                    links.vectors["Concept"].pop(id_, None)
        return links, entities, statements
