"""Erasing: whole sources, or what teacher calls said about them (docs/adr/0022-managing.md).

A whole source goes by `GraphStore.erase`. Of what a call said, the rest of the subgraph is saved in its place
(`GraphStore.reduce`), unless somebody has written another edition meanwhile; then it is read again.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice

from drag_graph.errors import ConfigurationError, StoreUnfit
from drag_graph.graph.aggregate import with_statements
from drag_graph.graph.paging import iter_subgraphs, pages, settings_hashes
from drag_graph.model import Aggregation, Answer, Subgraph
from drag_graph.ports.graph_store import Erased, GraphStore, Reduction
from drag_graph.ports.run_journal import RecordedQuery

PAGE = 50
"""Sources that are erased in one transaction, or read in one round trip."""
ANSWERS = 10_000
"""Answers to one source that a dry run looks at."""
TRIES = 10
"""How often a subgraph that somebody else writes to is read again."""
CONDITIONS = {"domain": "domain", "model": "model", "input_id": "input_id", "created-before": "created_before"}
"""What `--where` knows: its name there, and the field of a `ErasureFilter`."""
COUNTED = ("Query", "Document", "Evidence", "Entity", "TeacherCall", "TRIPLE", "Concept", "Community")
"""What is counted besides answers."""


@dataclass(frozen=True, slots=True)
class ErasureFilter:
    """Which sources; an empty field takes all. With `model` it is only what calls of that model said.

    `created_before` is UTC, ISO 8601; a source that does not say when it was made is not taken.
    """

    domain: str = ""
    model: str = ""
    input_id: str = ""
    created_before: str = ""

    def __str__(self) -> str:
        """Return the conditions as `--where` takes them."""
        given = ((name, getattr(self, field)) for name, field in CONDITIONS.items())
        return " and ".join(f"{name}={value}" for name, value in given if value)

    def scope_in(self, subgraph: Subgraph, input_ids: Collection[str] = ()) -> "Scope | None":
        """Return what is to be erased of a stored subgraph, or None. `input_ids` are what else its question was named."""
        query = None if subgraph.document else subgraph.query
        names = {query.input_id, *input_ids} if query else ()
        if not self._meets(query.domain if query else "", names, subgraph.created_at):
            return None
        if not self.model:
            return Scope(subgraph.source_id)
        calls = frozenset(call.id for call in subgraph.calls if call.model == self.model)
        return Scope(subgraph.source_id, calls) if calls else None

    def takes(self, query: RecordedQuery) -> bool:
        """Return whether a query of the ledger is to be erased, if it is not stored.

        One that is stored elsewhere is not, nor one that no run of this namespace knows.
        """
        if query.is_complete or not query.asked_at or (self.model and self.model not in query.models):
            return False
        return self._meets(query.domain, query.input_ids, query.asked_at)

    def _meets(self, domain: str, input_ids: Collection[str], created_at: str) -> bool:
        return (
            self.domain in ("", domain)
            and (not self.input_id or self.input_id in input_ids)
            and (not self.created_before or "" < created_at < self.created_before)
        )


@dataclass(frozen=True, slots=True)
class Scope:
    """A source to erase, or, where calls are named, only what these said about it.

    Of one that is not stored only the ledger knows: it was quarantined, or left before its turn.
    """

    source_id: str
    call_ids: frozenset[str] = frozenset()
    is_stored: bool = True


def filter_of(conditions: Collection[str]) -> ErasureFilter:
    """Return the filter of `FIELD=VALUE` conditions, all of which have to hold.

    Raises ConfigurationError, also for none at all: a filter without a condition would take all.
    """
    hint = f"Give {', '.join(CONDITIONS)}, as in domain=medical."
    if not conditions:
        raise ConfigurationError("there is no condition", hint=hint)
    values: dict[str, str] = {}
    for condition in conditions:
        name, equals, value = condition.partition("=")
        wanted = CONDITIONS.get(name.strip())
        if not equals or wanted is None or not value.strip():
            raise ConfigurationError(f"--where {condition!r} is not a condition", hint=hint)
        if wanted in values:
            raise ConfigurationError(f"--where has {name.strip()} twice", hint="Erase one after the other.")
        values[wanted] = _moment(value.strip()) if name.strip() == "created-before" else value.strip()
    return ErasureFilter(**values)


def _moment(text: str) -> str:
    """Return a day or a moment as stores have it: times are compared as texts."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        hint = "Give created-before=2026-01-31, or with a time: 2026-01-31T12:00:00+01:00 (without an offset it is UTC)."
        raise ConfigurationError(f"{text!r} is not a date", hint=hint) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat(timespec="seconds")


def scopes_where(store: GraphStore, wanted: ErasureFilter, recorded: Iterable[RecordedQuery] = ()) -> Iterator[Scope]:
    """Yield what the filter takes of the store, then what it takes of the recorded queries that are not stored; streams."""
    recorded = list(recorded)
    input_ids = {query.id: query.input_ids for query in recorded}
    for subgraph in iter_subgraphs(store):
        if scope := wanted.scope_in(subgraph, input_ids.get(subgraph.source_id, ())):
            yield scope
    for page in pages((query.id for query in recorded if wanted.takes(query)), PAGE):
        stored = settings_hashes(store, page)
        yield from (Scope(id_, is_stored=False) for id_ in page if id_ not in stored)


def scopes_of_call(store: GraphStore, prefix: str, limit: int = 10) -> list[Scope]:
    """Return the calls whose id begins with `prefix`, each as a scope of its own; it reads all sources."""
    found = (
        Scope(subgraph.source_id, frozenset((call.id,)))
        for subgraph in iter_subgraphs(store)
        for call in subgraph.calls
        if call.id.startswith(prefix)
    )
    return list(islice(found, limit))


def erase(store: GraphStore, scopes: Iterable[Scope], now: str) -> Iterator[Erased]:
    """Erase each scope and yield what went: whole sources `PAGE` at a time, each of the others in its own transaction.

    `now` is UTC, ISO 8601: a source that is left without anything for a student to see expires then.
    """
    for page in pages(scopes, PAGE):
        if whole := [scope.source_id for scope in page if not scope.call_ids]:
            yield store.erase(whole)
        yield from (_erase_said(store, scope, now) for scope in page if scope.call_ids)


def _erase_said(store: GraphStore, scope: Scope, now: str) -> Erased:
    for _ in range(TRIES):
        found = store.read([scope.source_id])
        if not found or scope.call_ids.isdisjoint(call.id for call in found[0].calls):
            return Erased()
        before = with_statements(found[0])
        after = without(before, scope.call_ids)
        if after is None:
            return store.erase([scope.source_id])
        if not after.kept_evidence:
            after = after.model_copy(update={"expires_at": now})
        erased = store.erase((), [Reduction(found[0], after, ids_gone(before, after))])
        if not erased.stale:
            return replace(erased, counts={**counts_gone(before, after), **erased.counts})
    raise StoreUnfit(f"source {scope.source_id} is being written by others", hint="Run it again when they are done.")


def preview(store: GraphStore, scopes: Iterable[Scope]) -> Iterator[Erased]:
    """Yield what `erase` would erase; concepts are not counted."""
    for page in pages(scopes, PAGE):
        graphs = {graph.source_id: graph for graph in store.read([scope.source_id for scope in page])}
        for scope in page:
            before = graphs.get(scope.source_id)
            before = before and with_statements(before)
            if before is None or (scope.call_ids and scope.call_ids.isdisjoint(call.id for call in before.calls)):
                continue
            after = without(before, scope.call_ids) if scope.call_ids else None
            resting = [answer.id for answer in store.answers(scope.source_id, limit=ANSWERS)]
            if after is not None:
                gone = ids_gone(before, after)
                # One at a time: an answer carries its whole audit.
                resting = [
                    id_ for id_ in resting if any(names_any(answer, gone) for answer in store.answers(prefix=id_, limit=1))
                ]
            yield Erased(counts_gone(before, after), frozenset(resting))


def without(subgraph: Subgraph, call_ids: Collection[str]) -> Subgraph | None:
    """Return a stored subgraph without what these calls made; None where no evidence would be left.

    What another call made, too, goes with it: nobody can tell which one said it. Simple edges are left out, as the store makes
    them anew; the sentences that one of these calls merged, and those of edges that rest on what goes, go with it.
    """
    gone = frozenset(call_ids)
    evidence = tuple(item for item in subgraph.evidence if gone.isdisjoint(item.call_ids))
    if not evidence and subgraph.evidence:
        return None
    there = {item.id for item in evidence}
    triples = tuple(item for item in subgraph.triples if gone.isdisjoint(item.call_ids) and item.evidence_id in there)
    left = {item.id for item in triples}
    lost = {end for item in subgraph.triples if item.id not in left for end in (item.subject_id, item.object_id)}
    ends = {end for item in triples for end in (item.subject_id, item.object_id)}
    texts = "\n".join(item.text.casefold() for item in evidence)
    entities = tuple(
        item.model_copy(update={"variants": tuple(form for form in item.variants if form.casefold() in texts)})
        if item.id in lost
        else item
        for item in subgraph.entities
        if item.id in ends or item.id not in lost
    )
    return subgraph.model_copy(
        update={
            "calls": tuple(item for item in subgraph.calls if item.id not in gone),
            "evidence": evidence,
            "entities": entities,
            "triples": triples,
            "edges": (),
            "aggregation": _aggregation_without(subgraph, gone, left),
        }
    )


def _aggregation_without(subgraph: Subgraph, call_ids: Collection[str], triple_ids: set[str]) -> Aggregation:
    made = subgraph.aggregation or Aggregation()
    merged = any(call.stage == "statements" and call.id in call_ids for call in subgraph.calls)
    whole = {edge.id for edge in subgraph.edges if set(edge.triple_ids) <= triple_ids}
    kept = {} if merged else {id_: text for id_, text in made.statements.items() if id_ in whole}
    return made.model_copy(update={"statements": kept})


def compact(store: GraphStore, *, wanted: bool = True) -> str:
    """Compact an embedded store's file if wanted, and return whether deleted text remains on disk, as a message.

    Raises StoreLocked if another thread keeps reading, StoreUnavailable if there is no space for a second file.
    """
    compact_file = getattr(store, "compact", None)
    if compact_file is None:
        return "the server's files and transaction logs keep deleted text until it is overwritten (docs/graph.md)"
    if not wanted:
        return "not compacted; the file still contains deleted text"
    compact_file()
    return "compacted; the file no longer contains deleted text"


def ids_gone(before: Subgraph, after: Subgraph | None) -> frozenset[str]:
    """Return the ids of evidence, triples and simple edges that an answer may have been shown and that are not left."""
    left = {item.id for part in (after.evidence, after.triples) for item in part} if after else set()
    statements = {} if after is None or after.aggregation is None else after.aggregation.statements
    parts = {item.id for part in (before.evidence, before.triples) for item in part} - left
    edges = {edge.id for edge in before.edges if not left.issuperset((*edge.triple_ids, *edge.evidence_ids))}
    unsaid = {id_ for id_ in (before.aggregation.statements if before.aggregation else {}) if id_ not in statements}
    return frozenset(parts | edges | unsaid)


def names_any(answer: Answer, ids: Collection[str]) -> bool:
    """Return whether an answer's lines or snapshot name any of these ids."""
    text = answer.model_dump_json(include={"lines", "snapshot"})
    return any(id_ in text for id_ in ids)


def counts_gone(before: Subgraph, after: Subgraph | None) -> Counter[str]:
    """Return how many of each label and type are not left."""
    parts = {"Evidence": "evidence", "Entity": "entities", "TeacherCall": "calls", "TRIPLE": "triples"}
    counts = {label: len(getattr(before, part)) - len(getattr(after, part, ())) for label, part in parts.items()}
    return Counter({"Query" if before.document is None else "Document": int(after is None), **counts})


def total(erasures: Iterable[Erased]) -> dict[str, int]:
    """Return the sum of several erasures; an answer that rests on two sources is counted once."""
    counts: Counter[str] = Counter()
    answers: set[str] = set()
    for erased in erasures:
        counts.update(erased.counts)
        answers |= erased.answer_ids
    return {**{name: counts[name] for name in COUNTED}, "Answer": len(answers)}
