"""Erasing sources with everything that rests on them (docs/decisions/0002-ids-and-editions.md)."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from drag_graph.errors import ConfigurationError
from drag_graph.graph.paging import iter_subgraphs, pages, settings_hashes
from drag_graph.model import Subgraph
from drag_graph.ports.graph_store import Erased, GraphStore
from drag_graph.ports.run_journal import RecordedQuery

PAGE = 50
"""Sources per transaction, or per round trip."""
ANSWERS = 10_000
"""Maximum number of answers to one source that a dry run reads."""
CONDITIONS = {"domain": "domain", "model": "model", "input_id": "input_id", "created-before": "created_before"}
"""Names for `--where`, and the fields of `ErasureFilter`."""
COUNTED = ("Query", "Document", "Evidence", "Entity", "TeacherCall", "TRIPLE", "Concept", "Community")
"""Labels and types that are counted, in addition to answers."""


@dataclass(frozen=True, slots=True)
class ErasureFilter:
    """Conditions on sources; an empty field matches all. `model` is the model of at least one teacher call.

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

    def takes_stored(self, subgraph: Subgraph, input_ids: Collection[str] = ()) -> bool:
        """Return whether to erase a stored source. `input_ids` are further input ids of its question."""
        query = None if subgraph.document else subgraph.query
        if self.model and all(call.model != self.model for call in subgraph.calls):
            return False
        names = {query.input_id, *input_ids} if query else ()
        return self._meets(query.domain if query else "", names, subgraph.created_at)

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
    """A source to erase. If it is not stored, only the ledger knows it: it was quarantined or never processed."""

    source_id: str
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
            message = f"The condition {name.strip()} is given twice."
            raise ConfigurationError(message, hint="Run the command once for each value.")
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
        if wanted.takes_stored(subgraph, input_ids.get(subgraph.source_id, ())):
            yield Scope(subgraph.source_id)
    for page in pages((query.id for query in recorded if wanted.takes(query)), PAGE):
        hashes = settings_hashes(store, page)
        yield from (Scope(id_, is_stored=False) for id_ in page if id_ not in hashes)


def erase(store: GraphStore, scopes: Iterable[Scope]) -> Iterator[Erased]:
    """Erase the scopes, `PAGE` at a time. Yields the results."""
    for page in pages(scopes, PAGE):
        yield store.erase([scope.source_id for scope in page])


def preview(store: GraphStore, scopes: Iterable[Scope]) -> Iterator[Erased]:
    """Yield the results that `erase` would have, without concepts."""
    for page in pages(scopes, PAGE):
        for graph in store.read([scope.source_id for scope in page]):
            resting = frozenset(answer.id for answer in store.answers(graph.source_id, limit=ANSWERS))
            yield Erased(counts_of(graph), resting)


def compact(store: GraphStore, *, wanted: bool = True) -> str:
    """Compact an embedded store's file if wanted, and return whether deleted text remains on disk, as a message.

    Raises StoreLocked if another thread keeps reading, StoreUnavailable if there is no space for a second file.
    """
    compact_file = getattr(store, "compact", None)
    if compact_file is None:
        return "the server's files and transaction logs keep deleted text until it is overwritten (docs/reference/graph.md)"
    if not wanted:
        return "not compacted; the file still contains deleted text"
    compact_file()
    return "compacted; the file no longer contains deleted text"


def counts_of(graph: Subgraph) -> Counter[str]:
    """Return the numbers of the parts of a subgraph by label and type."""
    parts = {"Evidence": "evidence", "Entity": "entities", "TeacherCall": "calls", "TRIPLE": "triples"}
    counts = {label: len(getattr(graph, part)) for label, part in parts.items()}
    return Counter({"Query" if graph.document is None else "Document": 1, **counts})


def total(erasures: Iterable[Erased]) -> dict[str, int]:
    """Return the sum of several erasures. An answer that rests on two sources counts once."""
    result = Erased.sum_of(erasures)
    return {**{name: result.counts.get(name, 0) for name in COUNTED}, "Answer": len(result.answer_ids)}
