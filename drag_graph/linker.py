"""The run of `drag-graph link` (docs/linking.md): what is new in a namespace is joined with what is there. No I/O itself."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from drag_graph.concepts import Concept, ConceptStore, Embedded, Merge, Naming, SameAs, Settled, Unsettled
from drag_graph.ports import Embedder
from drag_graph.steps.canonical import canonical_name
from drag_graph.steps.linking import (
    METHODS,
    Method,
    clusters,
    concept_id,
    concept_key,
    operating_point,
    same_as_id,
    stronger_key,
    verdict,
)

NAMES_AT_ONCE = 5000
"""Entities or concepts that are read and written together."""
TEXTS_AT_ONCE = 256
"""Texts that are embedded together, and whose vectors are written in one transaction."""
JUDGED_AT_ONCE = 2000
"""Concepts that are judged together; what is judged is stored, and not judged again by a run that goes on."""
PASSES = 3
"""How often one run comes back to concepts that were erased or replaced under its hands, before it leaves them to the next."""
NEIGHBOURS = 10
"""Nearest concepts that each is compared with."""
_DIGITS = 4

Step = Literal["linked", "named", "embedded", "judged"]
Told = Callable[[Step, int], None]
"""Called with what is going on and how much of it is done in this run."""


@dataclass
class LinkReport:
    """What one run did: how many entities were linked, concepts made, and so on; `merged` is by method.

    `left_open` is how many concepts others changed so often meanwhile that the next run has to judge them.
    """

    entities: int = 0
    concepts: int = 0
    corrected: int = 0
    concept_vectors: int = 0
    evidence_vectors: int = 0
    judged: int = 0
    withdrawn: int = 0
    merged: dict[Method, int] = field(default_factory=dict)
    left_open: int = 0

    def document(self) -> dict[str, object]:
        """Return the document that `link --json` prints."""
        merged = {method: self.merged.get(method, 0) for method in METHODS}
        return {
            "entities": self.entities,
            "concepts": self.concepts,
            "corrected": self.corrected,
            "vectors": {"concepts": self.concept_vectors, "evidence": self.evidence_vectors},
            "judged": self.judged,
            "merged": merged,
            "withdrawn": self.withdrawn,
            "left_open": self.left_open,
        }


class Linker:
    """The run of `drag-graph link`, and taking a judgement back.

    Every write leaves a state that another run goes on from, to the same end; with nothing new, nothing is written. What others
    erase or replace meanwhile is judged again. `now` is the time that judgements are dated with (UTC, ISO 8601).
    """

    def __init__(
        self, store: ConceptStore, namespace: str, embedder: Embedder, now: Callable[[], str], told: Told | None = None
    ) -> None:
        self._store = store
        self._namespace = namespace
        self._embedder = embedder
        self._point = operating_point(embedder.name)
        self._now = now
        self._told = told or (lambda _step, _done: None)

    def run(self) -> LinkReport:
        """Link what is new. Raises StoreError, or ModelError of a remote embedder; what is done by then is kept.

        Raises StoreLocked when another linker is at work in the namespace.
        """
        with self._store.exclusive():
            return self._run()

    def _run(self) -> LinkReport:
        report = LinkReport(corrected=self._store.tidy())
        self._link(report)
        self._store.forget()
        report.evidence_vectors = self._embed("Evidence")
        known: _Names | None = None
        for _ in range(PASSES):
            if not self._store.unsettled("", 1):
                break
            self._name()
            report.concept_vectors += self._embed("Concept")
            known = self._judge(report, known)
        report.left_open = self._open()
        return report

    def undo(self, merge: Merge) -> None:
        """Take a judgement back: the two are one thing no more, and no run makes them so again. Raises StoreLocked."""
        self._set(merge, self._now())

    def redo(self, merge: Merge) -> None:
        """Let a judgement that was taken back stand again. Raises StoreLocked."""
        self._set(merge, "")

    def _set(self, merge: Merge, undone_at: str) -> None:
        ends = (merge.same_as.left, merge.same_as.right)
        with self._store.exclusive():
            settled = [item for item in self._store.read(ends) if item.cluster]
            self._store.undo(merge.same_as.id, undone_at)
            # One that was open before has yet to be judged.
            self._cluster(ends, {item.id: (item.entities, None) for item in settled})

    def _link(self, report: LinkReport) -> None:
        after = ""
        while page := self._store.unlinked(after, NAMES_AT_ONCE):
            after = page[-1].place
            called: dict[str, tuple[str, list[str]]] = {}
            for entity in page:
                called.setdefault(concept_key(entity.text), (entity.text, []))[1].append(entity.id)
            namings = [
                Naming(Concept(concept_id(self._namespace, key), key, name), tuple(ids)) for key, (name, ids) in called.items()
            ]
            linked = self._store.link(namings)
            report.concepts += linked.concepts
            report.entities += linked.entities
            self._told("linked", report.entities)

    def _name(self) -> None:
        """Call every concept as most of its entities are written."""
        after, done = "", 0
        while page := self._store.unsettled(after, NAMES_AT_ONCE):
            after = page[-1].concept.id
            if misnamed := {item.concept.id: _best_name(item) for item in page if _best_name(item) != item.concept.name}:
                self._store.rename(misnamed)
            done += len(page)
            self._told("named", done)

    def _embed(self, label: Embedded) -> int:
        after, done = "", 0
        while page := self._store.without_vector(label, after, TEXTS_AT_ONCE):
            after = page[-1].place
            self._store.save_vectors(label, [item.id for item in page], self._embedder.embed([item.text for item in page]))
            done += len(page)
            self._told("embedded", done)
        return done

    def _open(self) -> int:
        after, number = "", 0
        while page := self._store.unsettled(after, NAMES_AT_ONCE):
            after, number = page[-1].concept.id, number + len(page)
        return number

    def _judge(self, report: LinkReport, known: "_Names | None") -> "_Names | None":
        """Judge the concepts whose clusters are open, once, block by block; return the names that are known then.

        A concept that is not as the names say was changed since they were read. Then they are read again, once; what is changed
        even then stays open, as does one that has to be called otherwise first.
        """
        after, is_fresh = "", False
        while page := self._store.unsettled(after, JUDGED_AT_ONCE):
            after = page[-1].concept.id
            shifted: set[str] = set()
            if known is None or (not is_fresh and any(known.differs_from(item) for item in page)):
                before, known, is_fresh = known, _Names.of(self._store, self._namespace), True
                shifted = known.shifted_since(before) if before else set()
            block = [item for item in page if not known.differs_from(item) and _best_name(item) == item.concept.name]
            self._settle(block, shifted, known, report)
            report.judged += len(block)
            self._told("judged", report.judged)
        return known

    def _settle(self, block: Sequence[Unsettled], shifted: Collection[str], known: "_Names", report: LinkReport) -> None:
        made, withdrawn = self._judgements([item.concept.id for item in block], shifted, known)
        if made or withdrawn:
            self._store.save_same_as(made, withdrawn)
        judged = {item.concept.id: (item.concept.entities, item.forms) for item in block}
        self._cluster({*judged, *(end for item in (*made, *withdrawn) for end in (item.left, item.right))}, judged)
        for item in made:
            report.merged[item.method] = report.merged.get(item.method, 0) + 1
        report.withdrawn += len(withdrawn)

    def _judgements(self, block: Sequence[str], shifted: Collection[str], known: "_Names") -> tuple[list[SameAs], list[SameAs]]:
        """Return the judgements to make or change that these concepts are part of, and those that nothing speaks for now.

        `shifted` are concepts by whose names others are called otherwise than when they were judged.
        """
        aliases = {alias for id_ in block for alias in known.aliases_of.get(id_, ())} | set(shifted)
        there = {(item.left, item.right): item for item in self._store.same_as([*block, *aliases])}
        pairs = {*there, *known.pairs(block, aliases), *self._near(block)}
        pairs = {pair for pair in pairs if all(end in known.names for end in pair)}
        vectors = self._store.vectors(sorted({end for pair in pairs for end in pair}))
        made, withdrawn, now = [], [], self._now()
        for left, right in sorted(pairs):
            item = there.get((left, right))
            if item is not None and item.undone_at:
                continue
            cosine = _cosine(vectors.get(left), vectors.get(right))
            names = known.names[left], known.names[right]
            found = verdict(*names, known.share(left, right), cosine, self._point)
            if found is None:
                withdrawn += [item] if item else []
            elif item is None or (item.method, item.score) != found:
                made.append(SameAs(same_as_id(self._namespace, left, right), left, right, *found, now))
        return made, withdrawn

    def _near(self, block: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield the pairs of these concepts and their nearest, where they are near enough."""
        found = self._store.vectors(block)
        ids = sorted(found)
        if not ids or self._point.cosine > 1.0:
            return
        # A little below, because an index and we may differ in the last digits; the judgement goes by our cosine.
        floor = self._point.cosine - 10**-_DIGITS
        rows = np.asarray([found[id_] for id_ in ids], dtype=np.float32)
        for id_, near in zip(ids, self._store.nearest_concepts(rows, NEIGHBOURS + 1, floor=floor), strict=True):
            yield from (_pair(id_, other) for other, _ in near if other != id_)

    def _cluster(self, touched: Iterable[str], judged: Mapping[str, tuple[int, int | None]]) -> None:
        """Work out again the clusters of all that is joined with what was touched.

        Concepts whose clusters are open stay so unless they were `judged`, from that many entities and other names of these:
        the turn of the others is to come.
        """
        found: dict[str, Concept] = {}
        joined: set[tuple[str, str]] = set()
        ask = set(touched)
        while ask:
            found |= {item.id: item for item in self._store.read(sorted(ask))}
            standing = [item for item in self._store.same_as(sorted(ask)) if not item.undone_at]
            joined |= {(item.left, item.right) for item in standing}
            ask = {end for item in standing for end in (item.left, item.right)} - found.keys() - ask
        entities = {id_: item.entities for id_, item in found.items()}
        pairs = sorted(pair for pair in joined if all(end in entities for end in pair))
        degrees = Counter(end for pair in pairs for end in pair)
        settled = []
        for id_, cluster in clusters(entities, pairs).items():
            number, forms = judged.get(id_, (entities[id_], None))
            is_due = bool(found[id_].cluster) or id_ in judged
            if is_due and cluster != found[id_].cluster and number == entities[id_]:
                settled.append(Settled(found[id_], cluster, degrees[id_], forms))
        if settled:
            self._store.save_clusters(settled)


@dataclass(frozen=True, slots=True)
class _Names:
    """What all concepts are called, and who is also called by whose name."""

    names: dict[str, str]
    entities: dict[str, int]
    alike: dict[str, list[str]]
    """By `stronger_key`: ids."""
    called: dict[str, Counter[str]]
    """By the concept of another name: how many entities of which concepts have it."""
    aliases_of: dict[str, set[str]]
    forms: Counter[str]
    """How many other names the entities of a concept have."""

    @classmethod
    def of(cls, store: ConceptStore, namespace: str) -> "_Names":
        known = cls({}, {}, {}, {}, {}, Counter())
        for item in store.all():
            known.names[item.id] = item.name
            known.entities[item.id] = item.entities
            known.alike.setdefault(stronger_key(item.name), []).append(item.id)
        for concept, variants in store.other_names():
            known.forms[concept] += len(variants)
            for alias in {concept_id(namespace, concept_key(variant)) for variant in variants} - {concept}:
                if alias in known.names:
                    known.called.setdefault(alias, Counter())[concept] += 1
                    known.aliases_of.setdefault(concept, set()).add(alias)
        return known

    def differs_from(self, item: Unsettled) -> bool:
        """Whether the concept was changed since the names were read."""
        id_ = item.concept.id
        mine = self.names.get(id_), self.entities.get(id_), self.forms[id_]
        return mine != (item.concept.name, item.concept.entities, item.forms)

    def shifted_since(self, before: "_Names") -> set[str]:
        """Return the concepts by whose names others are called than `before`."""
        either = self.called.keys() | before.called.keys()
        return {id_ for id_ in either if self.called.get(id_) != before.called.get(id_)}

    def pairs(self, block: Iterable[str], aliases: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield the pairs that a name or an alias speaks for."""
        for id_ in block:
            yield from (_pair(id_, other) for other in self.alike[stronger_key(self.names[id_])] if other != id_)
        for alias in {*block, *aliases}:
            yield from (_pair(alias, concept) for concept in self.called.get(alias, ()))

    def share(self, one: str, other: str) -> float:
        """Return the greater of the shares: of the entities also called by the one's name, those of the other concept."""
        return max(_share(self.called.get(one), other), _share(self.called.get(other), one))


def _share(called: Counter[str] | None, concept: str) -> float:
    return called[concept] / called.total() if called else 0.0


def _best_name(item: Unsettled) -> str:
    return canonical_name(dict(item.names)) if item.names else item.concept.name


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)


def _cosine(one: Sequence[float] | None, other: Sequence[float] | None) -> float:
    """Return the cosine of two unit vectors, rounded, so that every run and engine finds the same; 0 where one is missing."""
    if one is None or other is None or len(one) != len(other):
        return 0.0
    return round(max(-1.0, min(1.0, float(np.dot(np.asarray(one, np.float64), np.asarray(other, np.float64))))), _DIGITS)
