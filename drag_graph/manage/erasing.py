"""Erasing: whole sources, or the output of teacher calls (docs/adr/0022-managing.md).

To erase a call's output, the rest of the subgraph replaces it (`Reduction`). If another edition was written meanwhile, the
subgraph is read again.
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
"""Sources per transaction, or per round trip."""
ANSWERS = 10_000
"""Maximum number of answers to one source that a dry run reads."""
TRIES = 10
"""Attempts at a subgraph that others write to."""
CONDITIONS = {"domain": "domain", "model": "model", "input_id": "input_id", "created-before": "created_before"}
"""Names for `--where`, and the fields of `ErasureFilter`."""
COUNTED = ("Query", "Document", "Evidence", "Entity", "TeacherCall", "TRIPLE", "Concept", "Community")
"""Labels and types that are counted, in addition to answers."""


@dataclass(frozen=True, slots=True)
class ErasureFilter:
    """Conditions on sources; an empty field matches all. With `model`, only the output of that model's calls is erased.

    `created_before` is UTC, ISO 8601. Sources without a time never match it.
    """

    domain: str = ""
    model: str = ""
    input_id: str = ""
    created_before: str = ""

    def __str__(self) -> str:
        """Return the conditions as `--where` takes them."""
        conditions = ((name, getattr(self, field)) for name, field in CONDITIONS.items())
        return " and ".join(f"{name}={value}" for name, value in conditions if value)

    def scope_in(self, subgraph: Subgraph, input_ids: Collection[str] = ()) -> "Scope | None":
        """Return the scope to erase of a stored subgraph, or None. `input_ids` are further input ids of its question."""
        query = None if subgraph.document else subgraph.query
        names = {query.input_id, *input_ids} if query else ()
        if not self._meets(query.domain if query else "", names, subgraph.created_at):
            return None
        if not self.model:
            return Scope(subgraph.source_id)
        calls = frozenset(call.id for call in subgraph.calls if call.model == self.model)
        return Scope(subgraph.source_id, calls) if calls else None

    def takes(self, query: RecordedQuery) -> bool:
        """Return whether to erase a query of the ledger that is not stored here.

        A query that is stored elsewhere, or that no run of this namespace knows, is not erased.
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
    """A source to erase, or only the output of `call_ids`.

    If it is not stored, only the ledger knows it: it was quarantined or never processed.
    """

    source_id: str
    call_ids: frozenset[str] = frozenset()
    is_stored: bool = True


def filter_of(conditions: Collection[str]) -> ErasureFilter:
    """Return the filter of `FIELD=VALUE` conditions, which must all hold.

    Raises ConfigurationError for unusable conditions, and without any, because an empty filter would match everything.
    """
    hint = f"Use {', '.join(CONDITIONS)}, as in domain=medical."
    if not conditions:
        raise ConfigurationError("No condition is given.", hint=hint)
    values: dict[str, str] = {}
    for condition in conditions:
        name, equals, value = condition.partition("=")
        wanted = CONDITIONS.get(name.strip())
        if not equals or wanted is None or not value.strip():
            raise ConfigurationError(f"{condition!r} is not a condition.", hint=hint)
        if wanted in values:
            raise ConfigurationError(
                f"The condition {name.strip()} is given twice.", hint="Run the command once for each value."
            )
        values[wanted] = _moment(value.strip()) if name.strip() == "created-before" else value.strip()
    return ErasureFilter(**values)


def _moment(text: str) -> str:
    """Return a date or time in the form of stored times, which are compared as text."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        hint = "Use created-before=2026-01-31, or with a time: 2026-01-31T12:00:00+01:00 (UTC without an offset)."
        raise ConfigurationError(f"{text!r} is not a date.", hint=hint) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat(timespec="seconds")


def scopes_where(store: GraphStore, wanted: ErasureFilter, recorded: Iterable[RecordedQuery] = ()) -> Iterator[Scope]:
    """Yield the scopes that match in the store, then matching recorded queries that are not stored; streams."""
    recorded = list(recorded)
    input_ids = {query.id: query.input_ids for query in recorded}
    for subgraph in iter_subgraphs(store):
        if scope := wanted.scope_in(subgraph, input_ids.get(subgraph.source_id, ())):
            yield scope
    for page in pages((query.id for query in recorded if wanted.takes(query)), PAGE):
        hashes = settings_hashes(store, page)
        yield from (Scope(id_, is_stored=False) for id_ in page if id_ not in hashes)


def scopes_of_call(store: GraphStore, prefix: str, limit: int = 10) -> list[Scope]:
    """Return a scope for each call whose id begins with `prefix`; reads all sources."""
    matches = (
        Scope(subgraph.source_id, frozenset((call.id,)))
        for subgraph in iter_subgraphs(store)
        for call in subgraph.calls
        if call.id.startswith(prefix)
    )
    return list(islice(matches, limit))


def erase(store: GraphStore, scopes: Iterable[Scope], now: str) -> Iterator[Erased]:
    """Erase the scopes: whole sources `PAGE` at a time, each other scope in its own transaction. Yields the results.

    `now` is UTC, ISO 8601. A source that is left without kept evidence expires at that time.
    """
    for page in pages(scopes, PAGE):
        if source_ids := [scope.source_id for scope in page if not scope.call_ids]:
            yield store.erase(source_ids)
        yield from (_erase_output(store, scope, now) for scope in page if scope.call_ids)


def _erase_output(store: GraphStore, scope: Scope, now: str) -> Erased:
    for _ in range(TRIES):
        subgraphs = store.read([scope.source_id])
        if not subgraphs or scope.call_ids.isdisjoint(call.id for call in subgraphs[0].calls):
            return Erased()
        before = with_statements(subgraphs[0])
        after = without(before, scope.call_ids)
        if after is None:
            return store.erase([scope.source_id])
        if not after.kept_evidence:
            after = after.model_copy(update={"expires_at": now})
        erased = store.erase((), [Reduction(subgraphs[0], after, ids_gone(before, after))])
        if not erased.stale:
            return replace(erased, counts={**counts_gone(before, after), **erased.counts})
    raise StoreUnfit(f"Source {scope.source_id} is being changed by others.", hint="Run the same command again later.")


def preview(store: GraphStore, scopes: Iterable[Scope]) -> Iterator[Erased]:
    """Yield the results that `erase` would have, without concepts."""
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
                removed = ids_gone(before, after)
                # One at a time: an answer carries its whole audit.
                resting = [
                    id_ for id_ in resting if any(names_any(answer, removed) for answer in store.answers(prefix=id_, limit=1))
                ]
            yield Erased(counts_gone(before, after), frozenset(resting))


def without(subgraph: Subgraph, call_ids: Collection[str]) -> Subgraph | None:
    """Return a stored subgraph without the output of these calls; None if no evidence would be left.

    Output that another call repeated is removed as well, because its origin is unclear. Simple edges are left out, because the
    store derives them again. Sentences that one of these calls merged are removed, and those of edges that rest on removed
    triples.
    """
    removed = frozenset(call_ids)
    evidence = tuple(item for item in subgraph.evidence if removed.isdisjoint(item.call_ids))
    if not evidence and subgraph.evidence:
        return None
    there = {item.id for item in evidence}
    triples = tuple(item for item in subgraph.triples if removed.isdisjoint(item.call_ids) and item.evidence_id in there)
    remaining = {item.id for item in triples}
    lost = {end for item in subgraph.triples if item.id not in remaining for end in (item.subject_id, item.object_id)}
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
            "calls": tuple(item for item in subgraph.calls if item.id not in removed),
            "evidence": evidence,
            "entities": entities,
            "triples": triples,
            "edges": (),
            "aggregation": _aggregation_without(subgraph, removed, remaining),
        }
    )


def _aggregation_without(subgraph: Subgraph, call_ids: Collection[str], triple_ids: set[str]) -> Aggregation:
    aggregation = subgraph.aggregation or Aggregation()
    merged = any(call.stage == "statements" and call.id in call_ids for call in subgraph.calls)
    unchanged = {edge.id for edge in subgraph.edges if set(edge.triple_ids) <= triple_ids}
    statements = {} if merged else {id_: text for id_, text in aggregation.statements.items() if id_ in unchanged}
    return aggregation.model_copy(update={"statements": statements})


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
    """Return the ids of removed evidence, triples and simple edges, which answers may contain."""
    remaining = {item.id for part in (after.evidence, after.triples) for item in part} if after else set()
    statements = {} if after is None or after.aggregation is None else after.aggregation.statements
    parts = {item.id for part in (before.evidence, before.triples) for item in part} - remaining
    edges = {edge.id for edge in before.edges if not remaining.issuperset((*edge.triple_ids, *edge.evidence_ids))}
    unsaid = {id_ for id_ in (before.aggregation.statements if before.aggregation else {}) if id_ not in statements}
    return frozenset(parts | edges | unsaid)


def names_any(answer: Answer, ids: Collection[str]) -> bool:
    """Return whether an answer's lines or snapshot contain any of these ids."""
    text = answer.model_dump_json(include={"lines", "snapshot"})
    return any(id_ in text for id_ in ids)


def counts_gone(before: Subgraph, after: Subgraph | None) -> Counter[str]:
    """Return the numbers of removed parts by label and type."""
    parts = {"Evidence": "evidence", "Entity": "entities", "TeacherCall": "calls", "TRIPLE": "triples"}
    counts = {label: len(getattr(before, part)) - len(getattr(after, part, ())) for label, part in parts.items()}
    return Counter({"Query" if before.document is None else "Document": int(after is None), **counts})


def total(erasures: Iterable[Erased]) -> dict[str, int]:
    """Return the sum of several erasures. An answer that rests on two sources counts once."""
    result = Erased.sum_of(erasures)
    return {**{name: result.counts.get(name, 0) for name in COUNTED}, "Answer": len(result.answer_ids)}
