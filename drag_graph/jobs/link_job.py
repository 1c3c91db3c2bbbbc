"""The run of `drag-graph link` (docs/linking.md): what is new in a namespace is joined with what is there. No I/O itself."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

import numpy as np

from drag_graph.graph.names import canonical_name, concept_id, concept_key, same_as_id
from drag_graph.graph.paging import pages
from drag_graph.link.same_as import DIGITS, Names, clusters, cosine, operating_point, pair, verdict
from drag_graph.ports.concept_store import METHODS, Changes, Concept, ConceptStore, Method, SameAs, UnlinkedSource
from drag_graph.ports.model_roles import Embedder

Item = TypeVar("Item")

SOURCES_AT_ONCE = 100
"""Sources whose entities are read together."""
LINKS_AT_ONCE = 2000
"""Entities that are linked, or clusters that are written, in one transaction."""
TEXTS_AT_ONCE = 256
"""Texts that are embedded together, and whose vectors are written in one transaction."""
JUDGED_AT_ONCE = 500
"""Concepts that are judged together; what is judged is stored, and not judged again by a run that goes on."""
PASSES = 3
"""How often one run comes back to what was changed under its hands, before it leaves it to the next."""
NEIGHBOURS = 10
"""Nearest concepts that each is compared with."""

Step = Literal["linked", "embedded", "judged"]
OnProgress = Callable[[Step, int], None]
"""Called with what is going on and how much of it is done in this run."""


@dataclass
class LinkReport:
    """What one run did: how many entities were linked, concepts made, and so on; `merged` is by method.

    `left_open` is how many concepts others changed so often meanwhile that the next run has to judge them.
    """

    entities: int = 0
    concepts: int = 0
    concept_vectors: int = 0
    evidence_vectors: int = 0
    judged: int = 0
    withdrawn: int = 0
    merged: dict[Method, int] = field(default_factory=dict)
    left_open: int = 0

    def document(self) -> dict[str, object]:
        """Return the document that `link --json` prints."""
        return {
            "entities": self.entities,
            "concepts": self.concepts,
            "vectors": {"concepts": self.concept_vectors, "evidence": self.evidence_vectors},
            "judged": self.judged,
            "merged": {method: self.merged.get(method, 0) for method in METHODS},
            "withdrawn": self.withdrawn,
            "left_open": self.left_open,
        }


class Linker:
    """The run of `drag-graph link`, and taking a judgement back.

    Every write leaves a state that another run goes on from, to the same end; with nothing new, nothing is written. What others
    erase or replace meanwhile is judged again. `now` is the time that judgements are dated with (UTC, ISO 8601).
    """

    def __init__(
        self,
        store: ConceptStore,
        namespace: str,
        embedder: Embedder,
        now: Callable[[], str],
        on_progress: OnProgress | None = None,
    ) -> None:
        self._store = store
        self._namespace = namespace
        self._embedder = embedder
        self._point = operating_point(embedder.name)
        self._now = now
        self._on_progress = on_progress or (lambda _step, _done: None)

    def run(self) -> LinkReport:
        """Link what is new. Raises StoreError, or ModelError of a remote embedder; what is done by then is kept.

        Raises StoreLocked when another linker is at work in the namespace.
        """
        report = LinkReport()
        with self._store.exclusive():
            self._link(report)
            for _ in range(PASSES):
                if not self._store.waiting(0).has_concepts:
                    return report
                self._judge(report)
            report.left_open = sum(not item.cluster for item in self._store.read())
        return report

    def undo(self, merge: SameAs) -> None:
        """Take a judgement back: the two are one thing no more, and no run makes them so again. Raises StoreLocked."""
        self._set(replace(merge, undone_at=self._now()))

    def redo(self, merge: SameAs) -> None:
        """Let a judgement that was taken back stand again. Raises StoreLocked."""
        self._set(replace(merge, undone_at=""))

    def _set(self, item: SameAs) -> None:
        with self._store.exclusive():
            self._store.write(Changes(made=[item], clusters=self._clusters({item.left, item.right}, {}, changed=item)))

    # ---- what is new

    def _link(self, report: LinkReport) -> None:
        seen: Counter[str] = Counter()
        while sources := self._store.waiting(SOURCES_AT_ONCE).sources:
            if all(seen[source.id] >= PASSES for source in sources):
                return  # changed again and again under our hands
            seen.update(source.id for source in sources)
            self._embed_evidence([item for source in sources for item in source.evidence], report)
            ids = [source.id for source in sources]
            for concepts, links in [*self._called(sources)] or [([], [])]:
                written = self._store.write(Changes(concepts=concepts, links=links, sources=ids))
                report.entities += written.entities
                report.concepts += written.concepts
                self._on_progress("linked", report.entities)

    def _called(self, sources: Iterable[UnlinkedSource]) -> Iterator[tuple[list[Concept], list[tuple[str, str]]]]:
        """Yield the concepts of the sources' entities, and which entity is called so, a few at a time."""
        for some in pages([item for source in sources for item in source.entities], LINKS_AT_ONCE):
            keys = {id_: concept_key(name) for id_, name in some}
            named = {keys[id_]: name for id_, name in reversed(some)}
            ids = {key: concept_id(self._namespace, key) for key in named}
            yield [Concept(ids[key], key, name) for key, name in named.items()], [(id_, ids[key]) for id_, key in keys.items()]

    def _embed_evidence(self, texts: Sequence[tuple[str, str]], report: LinkReport) -> None:
        for some in pages(texts, TEXTS_AT_ONCE):
            vectors = self._embedder.embed([text for _, text in some])
            self._store.write(Changes(evidence={id_: vector for (id_, _), vector in zip(some, vectors, strict=True)}))
            report.evidence_vectors += len(some)
            self._on_progress("embedded", report.evidence_vectors)

    # ---- what is the same thing

    def _judge(self, report: LinkReport) -> None:
        """Judge the concepts that wait, block by block.

        One that is changed after it was read here is not as its revision says any more: its cluster is left empty.
        """
        known = Names.of(self._store.read(), self._namespace)
        waiting = [item for item in known.concepts.values() if not item.cluster]
        orphans = [item.id for item in waiting if not item.entities]
        for some in pages(orphans, LINKS_AT_ONCE):
            self._store.write(Changes(recounted=some))
        for id_ in orphans:
            del known.concepts[id_]
        ids = [item.id for item in waiting if item.entities]
        for some in pages(ids, TEXTS_AT_ONCE):
            self._name(some, known, report)
        known.index()
        for some in pages(ids, JUDGED_AT_ONCE):
            self._judge_block(some, known, report)
            report.judged += len(some)
            self._on_progress("judged", report.judged)

    def _name(self, concept_ids: Sequence[str], known: Names, report: LinkReport) -> None:
        """Call concepts as most of their entities are written, and embed what is called otherwise than before."""
        stale = []
        for item in self._store.read(concept_ids):
            best = canonical_name(dict(item.names)) if item.names else item.name
            known.concepts[item.id] = replace(known.concepts[item.id], name=best)
            if item.vector is None or item.name != best:
                stale.append(replace(item, name=best))
        if stale:
            vectors = self._embedder.embed([item.name for item in stale]).tolist()
            self._store.write(Changes(named=[replace(item, vector=one) for item, one in zip(stale, vectors, strict=True)]))
            report.concept_vectors += len(stale)
            self._on_progress("embedded", report.concept_vectors)

    def _judge_block(self, block: Sequence[str], known: Names, report: LinkReport) -> None:
        made, withdrawn = self._judgements(block, known)
        if made or withdrawn:
            self._store.write(Changes(made=made, withdrawn=withdrawn))
        ends = {end for item in (*made, *withdrawn) for end in (item.left, item.right)}
        for some in pages(self._clusters({*block, *ends}, known.concepts, judged=block), LINKS_AT_ONCE):
            self._store.write(Changes(clusters=some))
            known.concepts.update((item.id, replace(item, cluster=cluster)) for item, cluster in some)
        for item in made:
            report.merged[item.method] = report.merged.get(item.method, 0) + 1
        report.withdrawn += len(withdrawn)

    def _judgements(self, block: Sequence[str], known: Names) -> tuple[list[SameAs], list[SameAs]]:
        """Return the judgements to make or change that these concepts are part of, and those that nothing speaks for now."""
        stored = {(item.left, item.right): item for item in self._store.same_as([*block, *known.aliases(block)])}
        vectors = {item.id: item.vector for item in self._store.read(block)}
        pairs = {*stored, *known.pairs(block), *self._near(vectors)}
        pairs = {ends for ends in pairs if all(end in known.concepts for end in ends)}
        others = sorted({end for ends in pairs for end in ends} - vectors.keys())
        vectors |= {item.id: item.vector for item in self._store.read(others)}
        made, withdrawn, now = [], [], self._now()
        for left, right in sorted(pairs):
            item = stored.get((left, right))
            if item is not None and item.undone_at:
                continue
            names = known.concepts[left].name, known.concepts[right].name
            near = cosine(vectors.get(left), vectors.get(right))
            found = verdict(*names, known.share(left, right), near, self._point)
            if found is None:
                withdrawn += [item] if item else []
            elif item is None:
                made.append(SameAs(same_as_id(self._namespace, left, right), left, right, *found, now))
            elif (item.method, item.score) != found:
                made.append(replace(item, method=found[0], score=found[1]))
        return made, withdrawn

    def _near(self, vectors: Mapping[str, Sequence[float] | None]) -> Iterator[tuple[str, str]]:
        """Yield the pairs of these concepts and their nearest, where they are near enough."""
        # Of one that was all zeros an embedded store keeps nothing.
        ids = sorted(id_ for id_, vector in vectors.items() if vector is not None and any(vector))
        if not ids or self._point.cosine > 1.0:
            return
        # A little below, because an index and we may differ in the last digits; the judgement goes by our cosine.
        floor = self._point.cosine - 10**-DIGITS
        rows = np.asarray([vectors[id_] for id_ in ids], dtype=np.float32)
        for id_, near in zip(ids, self._store.nearest_concepts(rows, NEIGHBOURS + 1, floor=floor), strict=True):
            yield from (pair(id_, other) for other, _ in near if other != id_)

    def _clusters(
        self,
        touched: Collection[str],
        known: Mapping[str, Concept],
        *,
        judged: Collection[str] = (),
        changed: SameAs | None = None,
    ) -> list[tuple[Concept, str]]:
        """Work out again the clusters of all that is joined with what was touched; return those that are others now.

        A concept that waits gets none before it is `judged`. `changed` is a judgement that is about to be written.
        """
        found: dict[str, Concept] = {}
        joined: set[tuple[str, str]] = set()
        ask = set(touched)
        while ask:
            found |= {id_: known[id_] for id_ in ask if id_ in known}
            found |= {item.id: item for item in self._store.read(sorted(ask - known.keys()))}
            same = {item.id: item for item in self._store.same_as(sorted(ask))}
            standing = [item for item in (same | ({changed.id: changed} if changed else {})).values() if not item.undone_at]
            joined |= {(item.left, item.right) for item in standing}
            ask = {end for item in standing for end in (item.left, item.right)} - found.keys() - ask
        entities = {id_: item.entities for id_, item in found.items()}
        pairs = sorted(ends for ends in joined if all(end in entities for end in ends))
        due = {*judged, *(id_ for id_, item in found.items() if item.cluster)}
        made = clusters(entities, pairs)
        return [(found[id_], made[id_]) for id_ in sorted(due & found.keys()) if made[id_] != found[id_].cluster]
