"""Erasing: what goes with a query, or with what one teacher call said (docs/adr/0016-erasing.md).

The selection, the port that the stores implement, and what of a subgraph rests on a call, without any I/O of its own.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Protocol, cast

from pydantic import ValidationError

from drag_graph.errors import ConfigurationError
from drag_graph.model import Aggregation, GraphKind, Merge, Strategy, Subgraph
from drag_graph.steps.linking import concept_id, concept_key

PAGE = 200
"""Targets that are found in one round trip, and whose answers are."""
FIELDS = {"domain": "domain", "model": "model", "input_id": "input_id", "created-before": "created_before"}
"""What `--where` knows: its name there, and the field of a `Selection`."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which queries; an empty field selects all. `model` makes it only what calls of that model said.

    `created_before` is UTC, ISO 8601; a query that does not say when it was made is not selected.
    """

    domain: str = ""
    model: str = ""
    input_id: str = ""
    created_before: str = ""

    def __str__(self) -> str:
        """Return the conditions as `--where` takes them."""
        given = ((name, getattr(self, field)) for name, field in FIELDS.items())
        return " and ".join(f"{name}={value}" for name, value in given if value)

    def page(self, namespace: str, after: str, limit: int) -> dict[str, str | int]:
        """Return the parameters of the statement that finds a page of it (`erase_targets`, and with `model` `..._calls`)."""
        values: dict[str, str | int] = {"model": self.model} if self.model else {}
        return values | {
            "namespace": namespace,
            "domain": self.domain,
            "input_id": self.input_id,
            "created_before": self.created_before,
            "after": after,
            "limit": limit,
        }


@dataclass(frozen=True, slots=True)
class Target:
    """A query to erase, or, where calls are named, only what these said about it."""

    source_id: str
    call_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Erased:
    """How many of each label and relationship type went, but for the answers, which are named.

    `loosened` tells of a dry run how many of how many entities of a concept would go that would stay for the others' sake.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    answer_ids: frozenset[str] = frozenset()
    loosened: Mapping[str, tuple[int, int]] = field(default_factory=dict)


class ErasingStore(Protocol):
    """Erasing in one namespace: `GraphStore.erasing`. Raises StoreError as a GraphStore does."""

    def targets(self, selection: Selection, after: str, limit: int) -> list[Target]:
        """Return up to `limit` targets, in the order of their queries' ids, from the first id behind `after` on."""

    def find_calls(self, prefix: str, limit: int = 10) -> list[Target]:
        """Return the teacher calls whose id begins with `prefix`, each as a target of its own, by id."""

    def answers_naming(self, source_ids: Sequence[str]) -> dict[str, list[str]]:
        """Return the answers that say they are to these queries, by query; it looks at all answers of the namespace."""

    def erase(self, target: Target, now: str, *, dry_run: bool = False, answer_ids: Collection[str] | None = None) -> Erased:
        """Erase a target in one transaction: its answers too, and concepts that no entity refers to any more.

        `answer_ids` are those that `answers_naming` found; those that the store has linked with the query it finds itself.

        Of a call: the evidence and triples that it made, entities that only these triples had, and every answer that was shown
        any of it. The simple edges are made anew under the settings that they were made with; where the store does not know
        these, edges that rest on what went are removed and the query is marked as expired at `now` (UTC, ISO 8601). A query
        that is left without evidence goes as a whole. With `dry_run` nothing is written.
        """


@dataclass(frozen=True, slots=True)
class Parts:
    """What of a subgraph rests on teacher calls.

    `edge_ids` are of the simple edges that do; `statements` are those of the other ones. `variants` are of entities that stay,
    without the forms of their names that no evidence has any more. `everything` says that no evidence would be left.
    """

    call_ids: tuple[str, ...]
    evidence_ids: tuple[str, ...]
    triple_ids: tuple[str, ...]
    entity_ids: tuple[str, ...]
    edge_ids: tuple[str, ...]
    statements: Mapping[str, str]
    variants: Mapping[str, tuple[str, ...]]
    everything: bool = False

    def shown_in(self, *texts: str) -> bool:
        """Return whether the texts of an answer (its lines, its snapshot) name any of it."""
        ids = (*self.evidence_ids, *self.triple_ids, *self.edge_ids)
        return any(id_ in text for text in texts for id_ in ids)


@dataclass(frozen=True, slots=True)
class Naming:
    """What an entity of the target is called, while the target is there: its concept, of how many entities, its other names."""

    concept_id: str
    entities: int
    entity_id: str
    variants: tuple[str, ...]


def concepts_named(namespace: str, namings: Iterable[Naming]) -> list[str]:
    """Return the ids of the concepts that entities refer to, and of those that their other names name."""
    found = list(namings)
    keys = {concept_key(form) for item in found for form in item.variants}
    return sorted({item.concept_id for item in found} | {concept_id(namespace, key) for key in keys})


def loosened(namings: Iterable[Naming], parts: Parts | None) -> dict[str, tuple[int, int]]:
    """Return of how many entities how many go, by concept, where some go and some stay."""
    had: dict[str, int] = {}
    going: Counter[str] = Counter()
    for item in namings:
        had[item.concept_id] = item.entities
        going[item.concept_id] += parts is None or item.entity_id in parts.entity_ids
    return {id_: (going[id_], number) for id_, number in had.items() if 0 < going[id_] < number}


def parts_of(subgraph: Subgraph, call_ids: Collection[str]) -> Parts:
    """Return what of the subgraph rests on those of these calls that are its own."""
    calls = tuple(call.id for call in subgraph.calls if call.id in call_ids)
    gone = frozenset(calls)
    evidence = {item.id for item in subgraph.evidence if not gone.isdisjoint(item.call_ids)}
    triples = {item.id for item in subgraph.triples if not gone.isdisjoint(item.call_ids) or item.evidence_id in evidence}
    left = [item for item in subgraph.triples if item.id not in triples]
    ends = {end for item in left for end in (item.subject_id, item.object_id)}
    loosened = {end for item in subgraph.triples if item.id in triples for end in (item.subject_id, item.object_id)}
    merged = any(call.stage == "statements" for call in subgraph.calls if call.id in calls)
    edges = [
        edge.id
        for edge in subgraph.edges
        if not triples.isdisjoint(edge.triple_ids)
        or not evidence.isdisjoint(edge.evidence_ids)
        or (merged and edge.support > 1)
    ]
    texts = "\n".join(item.text.casefold() for item in subgraph.evidence if item.id not in evidence)
    variants = {
        item.id: tuple(form for form in item.variants if form.casefold() in texts)
        for item in subgraph.entities
        if item.id in loosened & ends
    }
    return Parts(
        calls,
        evidence_ids=tuple(sorted(evidence)),
        triple_ids=tuple(sorted(triples)),
        entity_ids=tuple(sorted(loosened - ends)),
        edge_ids=tuple(edges),
        statements={edge.id: edge.statement for edge in subgraph.edges if edge.id not in edges},
        variants=variants,
        everything=bool(calls) and len(evidence) == len(subgraph.evidence),
    )


def without(subgraph: Subgraph, parts: Parts) -> Subgraph:
    """Return the subgraph without these parts; of the simple edges those stay that do not rest on them."""
    gone = {*parts.call_ids, *parts.evidence_ids, *parts.triple_ids, *parts.entity_ids}
    evidence = tuple(item for item in subgraph.evidence if item.id not in gone)
    triples = tuple(item for item in subgraph.triples if item.id not in gone)
    edges = tuple(item for item in subgraph.edges if item.id not in parts.edge_ids)
    kept = {item.id for item in evidence if item.kept}
    graph: GraphKind = "multigraph" if any(item.evidence_id in kept for item in triples) else "evidence_only"
    return subgraph.model_copy(
        update={
            "calls": tuple(item for item in subgraph.calls if item.id not in gone),
            "evidence": evidence,
            "entities": tuple(
                item.model_copy(update={"variants": parts.variants.get(item.id, item.variants)})
                for item in subgraph.entities
                if item.id not in gone
            ),
            "triples": triples,
            "edges": edges,
            "graph": "simple" if edges else graph,
        }
    )


def needs_refresh(left: Subgraph, aggregation: Aggregation | None) -> bool:
    """Return whether only distilling again gives what is left of a subgraph its edges, or a student something to be shown."""
    return aggregation is None or not any(item.kept for item in left.evidence)


def aggregation_text(aggregation: Aggregation) -> str:
    """Return the settings of an aggregation as the stores keep them at the query (without its statements)."""
    return f"{aggregation.strategy} {aggregation.merge} {aggregation.threshold} {aggregation.top_k}"


def aggregation_of(text: str | None, statements: Mapping[str, str]) -> Aggregation | None:
    """Return the aggregation of such a text, with these statements; None where a store of before did not keep it."""
    parts = (text or "").split()
    if len(parts) != len(("strategy", "merge", "threshold", "top_k")):
        return None
    strategy, merge, threshold, top_k = parts
    try:
        return Aggregation(
            strategy=cast("Strategy", strategy),
            merge=cast("Merge", merge),
            threshold=float(threshold),
            top_k=int(top_k),
            statements=dict(statements),
        )
    except (ValidationError, ValueError):
        return None


def selection_of(conditions: Collection[str]) -> Selection:
    """Return the selection of `FIELD=VALUE` conditions, all of which have to hold.

    Raises ConfigurationError, also for none at all: a selection without a condition would be everything.
    """
    hint = f"Give {', '.join(FIELDS)}, as in domain=medical."
    if not conditions:
        raise ConfigurationError("there is no condition", hint=hint)
    values: dict[str, str] = {}
    for condition in conditions:
        name, equals, value = condition.partition("=")
        wanted = FIELDS.get(name.strip())
        if not equals or wanted is None or not value.strip():
            raise ConfigurationError(f"--where {condition!r} is no condition", hint=hint)
        if wanted in values:
            raise ConfigurationError(f"--where has {name.strip()} twice", hint="Erase one after the other.")
        values[wanted] = _moment(value.strip()) if wanted == FIELDS["created-before"] else value.strip()
    return Selection(**values)


def _moment(text: str) -> str:
    """Return a day or a moment as stores have it: times are compared as texts, and another text would be after all."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        hint = "Give created-before=2026-01-31, or with a time: 2026-01-31T12:00:00+01:00 (without an offset it is UTC)."
        raise ConfigurationError(f"{text!r} is no date", hint=hint) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat(timespec="seconds")


def targets(store: ErasingStore, selection: Selection) -> Iterator[Target]:
    """Yield all targets of a selection; streams. What is erased meanwhile is not yielded again."""
    after = ""
    while page := store.targets(selection, after, PAGE):
        yield from page
        after = page[-1].source_id


def erase_each(store: ErasingStore, found: Iterable[Target], now: str, *, dry_run: bool = False) -> Iterator[Erased]:
    """Erase targets one after the other, each in its own transaction; yield what went. Looks at all answers once a page."""
    stream = iter(found)
    while page := list(islice(stream, PAGE)):
        naming = store.answers_naming([item.source_id for item in page])
        for item in page:
            yield store.erase(item, now, dry_run=dry_run, answer_ids=naming.get(item.source_id, []))


class Total:
    """The sum of several erasures; what several of them tell of is counted once.

    That is an answer that rests on two queries, and in a dry run a concept that goes only when all of them do.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._answers: set[str] = set()
        self._going: Counter[str] = Counter()
        self._had: dict[str, int] = {}

    def add(self, erased: Erased) -> None:
        """Count what one erasure removed, or would."""
        self._counts.update(erased.counts)
        self._answers |= erased.answer_ids
        for id_, (going, had) in erased.loosened.items():
            self._going[id_] += going
            self._had[id_] = had

    def document(self) -> dict[str, int]:
        """Return how many of each label and relationship type, as `db erase --json` prints it."""
        together = sum(going >= self._had[id_] for id_, going in self._going.items())
        counts = {name: self._counts[name] for name in COUNTED}
        return {**counts, "Concept": counts["Concept"] + together, "Answer": len(self._answers)}


QUERY_LABELS = ("Query", "Evidence", "Entity", "TeacherCall")
"""What a query's erasure is told by (`GraphStore.erase_query`), besides answers."""
COUNTED = ("Query", "Evidence", "Entity", "TeacherCall", "TRIPLE", "Concept")
"""What is counted besides answers."""
