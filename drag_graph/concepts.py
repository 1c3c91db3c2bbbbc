"""What joins queries: concepts, and which of them are the same thing (design, section 3; docs/adr/0015-across-queries.md).

The model, the port that the stores implement, and the run of `drag-graph link`, without any I/O of its own.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from drag_graph.ports import Embedder, Vectors
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

Embedded = Literal["Concept", "Evidence"]
"""What `link` gives vectors to."""


@dataclass(frozen=True, slots=True)
class Concept:
    """One normal name, and how many entities are called so.

    `key` is the normal name (`drag_graph.steps.linking.concept_key`), `name` the most frequent way to write it. `cluster` is
    the id of the concept that stands for all that are the same thing, its own where there is none other. It is empty (open)
    from the moment when something of the concept changes until `link` has come to it: until then it stands for itself.
    """

    id: str
    key: str
    name: str
    entities: int = 0
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class SameAs:
    """The judgement that two concepts are the same thing. `left` is the smaller id; there is at most one a pair.

    `score` lies in [0, 1]: 1 for `name`; for `alias` the share of the entities with that other name which are called so; for
    `embedding` the cosine of the names. `undone_at` is empty while it stands (UTC, ISO 8601).
    """

    id: str
    left: str
    right: str
    method: Method
    score: float
    created_at: str = ""
    undone_at: str = ""


@dataclass(frozen=True, slots=True)
class Merge:
    """A judgement with the names of its two concepts, to be shown."""

    same_as: SameAs
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Naming:
    """Entities (their ids) that are called by one normal name, which is the concept's."""

    concept: Concept
    entity_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A concept of which something changed, and how often its entities write its name in which way."""

    concept: Concept
    names: Mapping[str, int] = field(default_factory=dict)


class ConceptStore(Protocol):
    """The concepts of one namespace: `GraphStore.concepts`. Raises StoreError as a GraphStore does.

    Every write is one transaction. A page goes on behind `after`, the last id of the page before it, in the order of the store.
    """

    def unlinked(self, after: str, limit: int) -> list[tuple[str, str]]:
        """Return (id, name) of up to `limit` entities that refer to no concept yet."""

    def link(self, namings: Sequence[Naming]) -> int:
        """Make these concepts where they are not there, let the entities refer to them, and count; return how many are new.

        Their clusters are open then. An entity that is gone or refers to a concept already is left out, and so is a concept
        that would have no entity.
        """

    def tidy(self) -> int:
        """Remove concepts that no entity refers to, correct the counts of the others; return how many were wrong."""

    def unsettled(self, after: str, limit: int) -> list[Unsettled]:
        """Return concepts whose cluster is open."""

    def rename(self, names: Mapping[str, str]) -> None:
        """Give concepts (by id) other names; their vectors go with the old ones."""

    def without_vector(self, label: Embedded, after: str, limit: int) -> list[tuple[str, str]]:
        """Return (id, text) of concepts or evidence that have no vector: a concept's name, a statement's text."""

    def save_vectors(self, label: Embedded, ids: Sequence[str], vectors: Vectors) -> None:
        """Write the vector of each id that is (still) there."""

    def all(self) -> Iterator[Concept]:
        """Yield every concept; streams."""

    def other_names(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the id of its concept and the variants of every linked entity that has variants; streams."""

    def read(self, concept_ids: Sequence[str]) -> list[Concept]:
        """Return those of these concepts that are there, by id."""

    def nearest_concepts(self, vectors: Vectors, k: int, *, floor: float = -1.0) -> list[list[tuple[str, float]]]:
        """Return for each vector up to `k` (concept id, cosine) pairs of at least `floor`, nearest first."""

    def vectors(self, concept_ids: Sequence[str]) -> dict[str, tuple[float, ...]]:
        """Return the vectors of those of these concepts that have one."""

    def same_as(self, concept_ids: Sequence[str]) -> list[SameAs]:
        """Return every judgement, standing or undone, on any of these concepts, once, by id."""

    def save_same_as(self, made: Sequence[SameAs], withdrawn: Sequence[SameAs]) -> None:
        """Write judgements (the method and score of one that is there are replaced) and delete others.

        One whose concepts are not both there is left out; one that is undone is neither changed nor deleted.
        """

    def save_clusters(self, clusters: Mapping[str, str]) -> None:
        """Set the clusters of concepts, by id."""

    def merges(self, text: str = "", limit: int = 100) -> list[Merge]:
        """Return judgements on concepts whose name has `text` in it (case does not matter), by their names."""

    def find_merges(self, prefix: str, limit: int = 10) -> list[Merge]:
        """Return judgements whose id begins with `prefix`, by id."""

    def undo(self, same_as_id: str, undone_at: str) -> None:
        """Take a judgement back at that time, or let it stand again (''); the clusters of its concepts are open then."""


NAMES_AT_ONCE = 5000
"""Entities or concepts that are read and written together."""
TEXTS_AT_ONCE = 256
"""Texts that are embedded together, and whose vectors are written in one transaction."""
JUDGED_AT_ONCE = 2000
"""Concepts that are judged together; what is judged is stored, and not judged again by a run that goes on."""
NEIGHBOURS = 10
"""Nearest concepts that each is compared with."""
_DIGITS = 4

Step = Literal["tidied", "linked", "named", "embedded", "judged"]
Told = Callable[[Step, int], None]
"""Called with what is going on and how much of it is done in this run."""


@dataclass
class LinkReport:
    """What one run did: how many entities were linked, concepts made, and so on; `merged` is by method."""

    entities: int = 0
    concepts: int = 0
    corrected: int = 0
    concept_vectors: int = 0
    evidence_vectors: int = 0
    judged: int = 0
    withdrawn: int = 0
    merged: dict[Method, int] = field(default_factory=dict)

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
        }


class Linker:
    """The run of `drag-graph link`: what is new in a namespace is joined with what is there (docs/linking.md).

    Every write leaves a state that another run goes on from, to the same end; with nothing new, nothing is written. `now` is
    the time that judgements are dated with (UTC, ISO 8601).
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
        """Link what is new. Raises StoreError, or ModelError of a remote embedder; what is done by then is kept."""
        report = LinkReport(corrected=self._store.tidy())
        self._link(report)
        self._name()
        report.concept_vectors = self._embed("Concept")
        report.evidence_vectors = self._embed("Evidence")
        self._judge(report)
        return report

    def undo(self, merge: Merge) -> None:
        """Take a judgement back: the two are one thing no more, and no run makes them so again."""
        self._set(merge, self._now())

    def redo(self, merge: Merge) -> None:
        """Let a judgement that was taken back stand again."""
        self._set(merge, "")

    def _set(self, merge: Merge, undone_at: str) -> None:
        ends = (merge.same_as.left, merge.same_as.right)
        self._store.undo(merge.same_as.id, undone_at)
        self._cluster(ends, ends)

    def _link(self, report: LinkReport) -> None:
        after = ""
        while page := self._store.unlinked(after, NAMES_AT_ONCE):
            after = page[-1][0]
            called: dict[str, tuple[str, list[str]]] = {}
            for entity_id, name in page:
                called.setdefault(concept_key(name), (name, []))[1].append(entity_id)
            namings = [
                Naming(Concept(concept_id(self._namespace, key), key, name), tuple(ids)) for key, (name, ids) in called.items()
            ]
            report.concepts += self._store.link(namings)
            report.entities += len(page)
            self._told("linked", report.entities)

    def _name(self) -> None:
        """Call every concept as most of its entities are written."""
        after = ""
        while page := self._store.unsettled(after, NAMES_AT_ONCE):
            after = page[-1].concept.id
            best = {item.concept.id: canonical_name(dict(item.names)) for item in page if item.names}
            if misnamed := {item.concept.id: best[item.concept.id] for item in page if _misnamed(item, best)}:
                self._store.rename(misnamed)
            self._told("named", len(page))

    def _embed(self, label: Embedded) -> int:
        after, done = "", 0
        while page := self._store.without_vector(label, after, TEXTS_AT_ONCE):
            after = page[-1][0]
            self._store.save_vectors(label, [id_ for id_, _ in page], self._embedder.embed([text for _, text in page]))
            done += len(page)
            self._told("embedded", done)
        return done

    def _judge(self, report: LinkReport) -> None:
        """Judge the concepts whose clusters are open, block by block; a block that is done has clusters."""
        known: _Names | None = None
        merged: Counter[Method] = Counter()
        while block := [item.concept.id for item in self._store.unsettled("", JUDGED_AT_ONCE)]:
            known = known or _Names.of(self._store, self._namespace)
            made, withdrawn = self._judgements(block, known)
            if made or withdrawn:
                self._store.save_same_as(made, withdrawn)
            touched = {*block, *(end for item in (*made, *withdrawn) for end in (item.left, item.right))}
            self._cluster(touched, block)
            merged.update(item.method for item in made)
            report.withdrawn += len(withdrawn)
            report.judged += len(block)
            self._told("judged", report.judged)
        report.merged = dict(merged)

    def _judgements(self, block: Sequence[str], known: "_Names") -> tuple[list[SameAs], list[SameAs]]:
        """Return the judgements to make or change that these concepts are part of, and those that nothing speaks for now."""
        aliases = {alias for id_ in block for alias in known.aliases_of.get(id_, ())}
        there = {(item.left, item.right): item for item in self._store.same_as([*block, *aliases])}
        pairs = {*there, *known.pairs(block, aliases), *self._near(block)}
        pairs = {pair for pair in pairs if all(end in known.concepts for end in pair)}
        vectors = self._store.vectors(sorted({end for pair in pairs for end in pair}))
        made, withdrawn, now = [], [], self._now()
        for left, right in sorted(pairs):
            item = there.get((left, right))
            if item is not None and item.undone_at:
                continue
            cosine = _cosine(vectors.get(left), vectors.get(right))
            names = known.concepts[left], known.concepts[right]
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

    def _cluster(self, touched: Iterable[str], judged: Iterable[str]) -> None:
        """Work out again the clusters of all that is joined with what was touched.

        Concepts whose clusters are open stay so unless they were `judged`: their turn is to come.
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
        now = clusters(entities, sorted(pair for pair in joined if all(end in entities for end in pair)))
        done = set(judged)
        changed = {id_: name for id_, name in now.items() if name != found[id_].cluster and (found[id_].cluster or id_ in done)}
        if changed:
            self._store.save_clusters(changed)


@dataclass(frozen=True, slots=True)
class _Names:
    """What all concepts are called: names by id, ids by `stronger_key`, and who is also called by whose name."""

    concepts: dict[str, str]
    alike: dict[str, list[str]]
    called: dict[str, Counter[str]]
    """By the concept of another name: how many entities of which concepts have it."""
    aliases_of: dict[str, set[str]]

    @classmethod
    def of(cls, store: ConceptStore, namespace: str) -> "_Names":
        known = cls({}, {}, {}, {})
        for item in store.all():
            known.concepts[item.id] = item.name
            known.alike.setdefault(stronger_key(item.name), []).append(item.id)
        for concept, variants in store.other_names():
            for alias in {concept_id(namespace, concept_key(variant)) for variant in variants} - {concept}:
                if alias in known.concepts:
                    known.called.setdefault(alias, Counter())[concept] += 1
                    known.aliases_of.setdefault(concept, set()).add(alias)
        return known

    def pairs(self, block: Iterable[str], aliases: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield the pairs that a name or an alias speaks for."""
        for id_ in block:
            if id_ in self.concepts:
                yield from (_pair(id_, other) for other in self.alike[stronger_key(self.concepts[id_])] if other != id_)
        for alias in {*block, *aliases}:
            yield from (_pair(alias, concept) for concept in self.called.get(alias, ()))

    def share(self, one: str, other: str) -> float:
        """Return the greater of the shares: of the entities also called by the one's name, those of the other concept."""
        return max(_share(self.called.get(one), other), _share(self.called.get(other), one))


def _share(called: Counter[str] | None, concept: str) -> float:
    return called[concept] / called.total() if called else 0.0


def _misnamed(item: Unsettled, best: Mapping[str, str]) -> bool:
    return best.get(item.concept.id, item.concept.name) != item.concept.name


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)


def _cosine(one: Sequence[float] | None, other: Sequence[float] | None) -> float:
    """Return the cosine of two unit vectors, rounded, so that every run and engine finds the same; 0 where one is missing."""
    if one is None or other is None or len(one) != len(other):
        return 0.0
    return round(max(-1.0, min(1.0, float(np.dot(np.asarray(one, np.float64), np.asarray(other, np.float64))))), _DIGITS)
