"""Link the sources of a namespace by their concepts (docs/decisions/0008-linking.md). All I/O goes through ports."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import islice
from typing import Literal

import numpy as np

from drag_graph.concurrency.interruption import Interruption, on_ctrl_c
from drag_graph.graph.name_forms import canonical_name, concept_id, concept_key, same_as_id
from drag_graph.graph.paging import pages
from drag_graph.link.same_as import DIGITS, Names, clusters, cosine, operating_point, pair, verdict
from drag_graph.ports.concept_store import METHODS, Changes, Concept, ConceptStore, Method, SameAs, UnlinkedSource
from drag_graph.ports.model_roles import Embedder
from drag_graph.ports.vectors import Vectors

SOURCES_AT_ONCE = 100
"""Number of sources whose entities are read together."""
LINKS_AT_ONCE = 2000
"""Number of entities linked, or clusters written, in one transaction."""
TEXTS_AT_ONCE = 256
"""Number of texts embedded together; their vectors are written in one transaction."""
JUDGED_AT_ONCE = 500
"""Number of concepts judged together. Judgements are stored, so an interrupted run does not repeat them."""
PASSES = 3
"""Number of attempts for sources and concepts that other processes keep changing; the next run takes over after that."""
NEIGHBOURS = 10
"""Number of nearest concepts that each concept is compared with."""

Step = Literal["linked", "embedded", "judged"]
OnProgress = Callable[[Step, int], None]
"""Called with the kind of work and the number of items done in this run."""


@dataclass
class LinkReport:
    """The result of a run. `merged` counts merges by method; `left_open` counts concepts left to the next run.

    Concepts stay open if other processes change them too often during the run.
    """

    entities: int = 0
    concepts: int = 0
    concept_vectors: int = 0
    evidence_vectors: int = 0
    judged: int = 0
    withdrawn: int = 0
    merged: Counter[Method] = field(default_factory=Counter)
    left_open: int = 0

    def to_dict(self) -> dict[str, object]:
        """Return the document that `link --json` prints."""
        return {
            "entities": self.entities,
            "concepts": self.concepts,
            "vectors": {"concepts": self.concept_vectors, "evidence": self.evidence_vectors},
            "judged": self.judged,
            "merged": {method: self.merged[method] for method in METHODS},
            "withdrawn": self.withdrawn,
            "left_open": self.left_open,
        }


@dataclass(eq=False)
class Linker:
    """Links what is new, and undoes or restores merges.

    Every write leaves a state that another run can resume from, with the same final result; if nothing is new, nothing is
    written. Sources that are erased or replaced meanwhile are judged again. `now` returns the time that judgements are dated
    with (UTC, ISO 8601).
    """

    store: ConceptStore
    namespace: str
    embedder: Embedder
    now: Callable[[], str]
    _: KW_ONLY
    on_progress: OnProgress | None = None
    interruption: Interruption | None = None

    def __post_init__(self) -> None:
        self._point = operating_point(self.embedder.name)
        self._on_progress = self.on_progress or (lambda _step, _done: None)
        self._interruption = self.interruption or Interruption()

    def run(self) -> LinkReport:
        """Link what is new.

        Raises StoreError, ModelError of a remote embedder, StoreLocked if another linker is at work in the namespace, and
        Interrupted after Ctrl-C. Finished work is stored.
        """
        report = LinkReport()
        with on_ctrl_c(self._interruption.interrupt), self.store.exclusive():
            self._link(report)
            for _ in range(PASSES):
                if not self.store.waiting(0).has_concepts:
                    return report
                self._judge(report)
            report.left_open = sum(not item.cluster for item in self.store.read())
        return report

    def make(self, merge: SameAs) -> None:
        """Write a person's merge. Raises StoreLocked."""
        self._set(replace(merge, created_at=self.now()))

    def undo(self, merge: SameAs) -> None:
        """Undo a merge permanently: no later run makes it again. Raises StoreLocked."""
        self._set(replace(merge, undone_at=self.now()))

    def redo(self, merge: SameAs) -> None:
        """Restore a merge that was undone. Raises StoreLocked."""
        self._set(replace(merge, undone_at=""))

    def _set(self, merge: SameAs) -> None:
        with self.store.exclusive():
            self.store.write(Changes(made=[merge], clusters=self._clusters({merge.left, merge.right}, {}, changed=merge)))

    def _advance(self, step: Step, done: int) -> None:
        """Report progress between two writes, the only places where a run may end early."""
        self._on_progress(step, done)
        self._interruption.check()

    # ---- new sources

    def _link(self, report: LinkReport) -> None:
        attempts: Counter[str] = Counter()
        while sources := self.store.waiting(SOURCES_AT_ONCE).sources:
            if all(attempts[source.id] >= PASSES for source in sources):
                return  # other processes keep changing them
            attempts.update(source.id for source in sources)
            self._embed_evidence([item for source in sources for item in source.evidence], report)
            ids = [source.id for source in sources]
            for concepts, links in [*self._concepts_of(sources)] or [([], [])]:
                written = self.store.write(Changes(concepts=concepts, links=links, sources=ids))
                report.entities += written.entities
                report.concepts += written.concepts
                self._advance("linked", report.entities)

    def _concepts_of(self, sources: Iterable[UnlinkedSource]) -> Iterator[tuple[list[Concept], list[tuple[str, str]]]]:
        """Yield, page by page, the concepts of the sources' entities, and (entity id, concept id) pairs."""
        for page in pages([item for source in sources for item in source.entities], LINKS_AT_ONCE):
            keys = {id_: concept_key(name) for id_, name in page}
            names = {keys[id_]: name for id_, name in reversed(page)}
            ids = {key: concept_id(self.namespace, key) for key in names}
            yield [Concept(ids[key], key, name) for key, name in names.items()], [(id_, ids[key]) for id_, key in keys.items()]

    def _embed_evidence(self, texts: Sequence[tuple[str, str]], report: LinkReport) -> None:
        for page in pages(texts, TEXTS_AT_ONCE):
            vectors = self.embedder.embed([text for _, text in page])
            self.store.write(Changes(evidence={id_: vector for (id_, _), vector in zip(page, vectors, strict=True)}))
            report.evidence_vectors += len(page)
            self._advance("embedded", report.evidence_vectors)

    # ---- same concepts

    def _judge(self, report: LinkReport) -> None:
        """Judge waiting concepts, block by block. A concept that changes after it was read here stays open."""
        names = Names.of(self.store.read(), self.namespace)
        waiting = [item for item in names.concepts.values() if not item.cluster]
        orphans = [item.id for item in waiting if not item.entities]
        for page in pages(orphans, LINKS_AT_ONCE):
            self.store.write(Changes(recounted=page))
        for id_ in orphans:
            del names.concepts[id_]
        ids = [item.id for item in waiting if item.entities]
        vectors = dict.fromkeys(ids, np.zeros(0, dtype=np.float32))
        for page in pages(ids, TEXTS_AT_ONCE):
            vectors |= self._name(page, names, report)
        names.index()
        near = self._near(vectors)
        for page in pages(ids, JUDGED_AT_ONCE):
            self._judge_block(page, dict(islice(near, len(page))), names, report)
            report.judged += len(page)
            self._advance("judged", report.judged)

    def _name(self, concept_ids: Sequence[str], names: Names, report: LinkReport) -> dict[str, Vectors]:
        """Give concepts the most frequent spelling of their entities, embed names that changed, and return the vectors."""
        stale, vectors = [], dict[str, Vectors]()
        for item in self.store.read(concept_ids):
            best = canonical_name(dict(item.names)) if item.names else item.name
            names.concepts[item.id] = replace(names.concepts[item.id], name=best)
            if item.vector is None or item.name != best:
                stale.append(replace(item, name=best))
            else:
                vectors[item.id] = np.asarray(item.vector, dtype=np.float32)
        if stale:
            rows = self.embedder.embed([item.name for item in stale])
            named = [replace(item, vector=row) for item, row in zip(stale, rows.tolist(), strict=True)]
            self.store.write(Changes(named=named))
            vectors |= {item.id: row for item, row in zip(stale, rows, strict=True)}
            report.concept_vectors += len(stale)
            self._advance("embedded", report.concept_vectors)
        return vectors

    def _judge_block(self, block: Sequence[str], near: Mapping[str, Sequence[str]], names: Names, report: LinkReport) -> None:
        merges, withdrawn = self._judgements(block, near, names)
        if merges or withdrawn:
            self.store.write(Changes(made=merges, withdrawn=withdrawn))
        ends = {end for item in (*merges, *withdrawn) for end in (item.left, item.right)}
        for page in pages(self._clusters({*block, *ends}, names.concepts, judged=block), LINKS_AT_ONCE):
            self.store.write(Changes(clusters=page))
            names.concepts.update((item.id, replace(item, cluster=cluster)) for item, cluster in page)
        report.merged.update(item.method for item in merges)
        report.withdrawn += len(withdrawn)

    def _judgements(
        self, block: Sequence[str], near: Mapping[str, Sequence[str]], names: Names
    ) -> tuple[list[SameAs], list[SameAs]]:
        """Return the merges to write for a block of concepts, and those to withdraw because nothing supports them.

        `near` maps each concept to its nearest concepts.
        """
        stored = {(item.left, item.right): item for item in self.store.same_as([*block, *names.aliases(block)])}
        vectors = {item.id: item.vector for item in self.store.read(block)}
        pairs = {*stored, *names.pairs(block), *(pair(id_, other) for id_, others in near.items() for other in others)}
        pairs = {ends for ends in pairs if all(end in names.concepts for end in ends)}
        others = sorted({end for ends in pairs for end in ends} - vectors.keys())
        vectors |= {item.id: item.vector for item in self.store.read(others)}
        merges, withdrawn, now = [], [], self.now()
        for left, right in sorted(pairs):
            item = stored.get((left, right))
            if item is not None and (item.undone_at or item.method == "person"):
                continue
            both = names.concepts[left].name, names.concepts[right].name
            similarity = cosine(vectors.get(left), vectors.get(right))
            judgement = verdict(*both, names.share(left, right), similarity, self._point)
            if judgement is None:
                withdrawn += [item] if item else []
            elif item is None:
                merges.append(SameAs(same_as_id(self.namespace, left, right), left, right, *judgement, now))
            elif (item.method, item.score) != judgement:
                merges.append(replace(item, method=judgement[0], score=judgement[1]))
        return merges, withdrawn

    def _near(self, vectors: dict[str, Vectors]) -> Iterator[tuple[str, list[str]]]:
        """Yield each concept with its nearest neighbours above the embedder's minimum similarity; a zero vector has none.

        Empties `vectors`, which may need gigabytes.
        """
        is_asked = {id_: self._point.cosine <= 1.0 and bool(vector.any()) for id_, vector in vectors.items()}
        rows = [vectors[id_] for id_, asked in is_asked.items() if asked]
        vectors.clear()
        # An index may differ from our cosine in the last digits; the judgement uses our cosine.
        floor = self._point.cosine - 10**-DIGITS
        found = self.store.nearest_concepts(np.stack(rows), NEIGHBOURS + 1, floor=floor) if rows else iter(())
        del rows
        for id_, asked in is_asked.items():
            yield id_, [other for other, _ in (next(found) if asked else ()) if other != id_]

    def _clusters(
        self,
        touched: Collection[str],
        concepts: Mapping[str, Concept],
        *,
        judged: Collection[str] = (),
        changed: SameAs | None = None,
    ) -> list[tuple[Concept, str]]:
        """Return the concepts connected to `touched` whose cluster changes, each with its new cluster.

        A waiting concept gets a cluster only once it is `judged`. `changed` is a merge that is about to be written.
        """
        members: dict[str, Concept] = {}
        joined: set[tuple[str, str]] = set()
        front = set(touched)
        while front:
            members |= {id_: concepts[id_] for id_ in front if id_ in concepts}
            members |= {item.id: item for item in self.store.read(sorted(front - concepts.keys()))}
            merges = {item.id: item for item in self.store.same_as(sorted(front))}
            if changed:
                merges[changed.id] = changed
            valid = [item for item in merges.values() if not item.undone_at]
            joined |= {(item.left, item.right) for item in valid}
            front = {end for item in valid for end in (item.left, item.right)} - members.keys() - front
        entities = {id_: item.entities for id_, item in members.items()}
        pairs = sorted(ends for ends in joined if all(end in entities for end in ends))
        due = {*judged, *(id_ for id_, item in members.items() if item.cluster)}
        new = clusters(entities, pairs)
        return [(members[id_], new[id_]) for id_ in sorted(due & members.keys()) if new[id_] != members[id_].cluster]
