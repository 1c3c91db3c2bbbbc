"""Find stored things by short ids, and list stored queries and documents."""

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Literal

from drag_graph.errors import ConfigurationError, NotStored, StoreUnfit
from drag_graph.graph.paging import SUBGRAPHS_PER_PAGE, iter_sources, pages, read_undamaged, settings_hashes
from drag_graph.model import Subgraph
from drag_graph.ports.correction_store import Correction, Target, claim_of
from drag_graph.ports.graph_search import EVERYTHING, Restriction, is_within
from drag_graph.ports.graph_store import GraphStore, SourceFilter, StoredSource
from drag_graph.ports.run_journal import RecordedQuery

_SHOWN = 10
"""Number of ids to read if a short id is not unique."""


Kind = Literal["query", "source", "answer"]
"""Kind of an id; a source is a query or a document."""
_NAMES: dict[Kind, str] = {"query": "query", "source": "query or document", "answer": "answer"}


def full_id(
    store: GraphStore, kind: Kind, prefix: str, recorded: Iterable[RecordedQuery] = (), asked_as: Collection[str] = ()
) -> str:
    """Return the one stored id that begins with `prefix`, or that of the query with exactly this input id.

    For answers, an input id means the newest answer to that query. Queries may also be among those `recorded`. `asked_as` are
    the ids of generalised queries whose original had this input id, which the store does not know. Raises NotStored if nothing
    matches, ConfigurationError if several ids or queries match.
    """
    prefix = prefix.strip()
    recorded = list(recorded)
    named = {item.id for item in store.sources(SourceFilter(input_id=prefix), limit=_SHOWN)} if prefix else set()
    named |= {query.id for query in recorded if prefix and prefix in query.input_ids}
    named |= settings_hashes(store, list(asked_as)).keys()
    if len(named) > 1:
        message = f"{len(named)} or more queries have the input id {prefix!r}."
        raise ConfigurationError(message, hint="Use the id that `drag-graph show` prints.")
    if named:
        (id_,) = named
        ids = [id_] if kind != "answer" else [answer.id for answer in store.answers(id_, limit=1)]
        if ids:
            return ids[0]
    prefix = prefix.lower()
    matches = _beginning(store, kind, prefix) if prefix else []
    matches += [query.id for query in recorded if prefix and query.id.startswith(prefix) and query.id not in matches]
    hint = f"List them with `drag-graph {'answers' if kind == 'answer' else 'show'}`."
    return _the_one(store, _NAMES[kind], prefix, matches, hint)


def _the_one(store: GraphStore, kind: str, prefix: str, found: Sequence[str], hint: str) -> str:
    """Return the id that matches a prefix, of those that begin with it; `hint` says where to find ids."""
    if not found:
        raise NotStored(f"There is no {kind} {prefix!r} in namespace {store.namespace!r} of {store.location}.", hint=hint)
    if prefix in found:
        return prefix
    if len(found) > 1:
        message = f"{len(found)} or more {kind} ids begin with {prefix!r}."
        raise ConfigurationError(message, hint="Use more digits of the id.")
    return found[0]


def _beginning(store: GraphStore, kind: Kind, prefix: str) -> list[str]:
    if kind == "answer":
        return [answer.id for answer in store.answers(prefix=prefix, limit=_SHOWN)]
    matches = iter_sources(store, SourceFilter(prefix=prefix))
    return list(islice((item.id for item in matches if kind == "source" or not item.is_document), _SHOWN))


def stored_subgraph(store: GraphStore, prefix: str, asked_as: Collection[str] = (), *, kind: Kind = "query") -> Subgraph:
    """Return the subgraph of the query, or of any source, whose id begins with `prefix`. Raises as `full_id` does."""
    subgraphs = store.read([full_id(store, kind, prefix, asked_as=asked_as)])
    if not subgraphs:
        raise NotStored(f"{_NAMES[kind]} {prefix!r} was erased while it was read.", hint="Run the same command again.")
    return subgraphs[0]


def full_target(store: GraphStore, prefix: str) -> Correction:
    """Return the correction of the claim or answer whose id begins with `prefix`. Without one, its author is empty.

    Reads all claims. Raises as `full_id` does.
    """
    prefix = prefix.strip().lower()
    found = {item.target_id: item for item in store.corrections.read() if prefix and item.target_id.startswith(prefix)}
    for answer in store.answers(prefix=prefix, limit=_SHOWN) if prefix else ():
        found.setdefault(answer.id, _unmarked(answer.id, "answer", answer.question, answer.source_ids))
    for claim in store.corrections.claims() if prefix else ():
        if (id_ := claim_of(claim)).startswith(prefix) and id_ not in found:
            words = {"subject": claim.subject, "object": claim.object, "predicate_key": claim.predicate_key}
            found[id_] = _unmarked(id_, "claim", claim.text, (claim.source_id,), **words)
    hint = "`drag-graph audit`, `show` and `search` print the ids of claims, `answers` those of answers."
    return found[_the_one(store, "claim or answer", prefix, list(found), hint)]


def _unmarked(id_: str, kind: Target, text: str, source_ids: Sequence[str], **words: str) -> Correction:
    made: dict[str, Any] = {"verdict": "right", "author": "", "created_at": "", **words}
    return Correction(target_id=id_, kind=kind, text=text, source_ids=source_ids, **made)


SourceState = Literal["document", "query", "expired", "failed"]
"""A kind of source, or queries whose time to live has ended, or to which a student gave a wrong answer."""


def newest_sources(
    store: GraphStore,
    limit: int,
    offset: int = 0,
    *,
    name: str = "",
    state: SourceState | None = None,
    only: Restriction = EVERYTHING,
) -> tuple[list[Subgraph], int, list[StoreUnfit]]:
    """Return a page of sources, newest first, the total number, and the errors of those that cannot be read.

    `name` is a part of the name or question; case does not matter.
    """

    def is_wanted(item: StoredSource) -> bool:
        has_kind = state not in {"document", "query"} or item.is_document == (state == "document")
        return has_kind and part in item.title.casefold() and is_within(only, item.id, item.title, item.date, item.tags)

    part, now = name.casefold(), datetime.now(UTC).isoformat(timespec="seconds")
    conditions = SourceFilter(expired_before=now if state == "expired" else "", has_failed=state == "failed")
    if part or state or only:
        times = {item.id: item.created_at for item in iter_sources(store, conditions) if is_wanted(item)}
    else:
        times = store.creation_times()
    newest = sorted(sorted(times), key=times.__getitem__, reverse=True)
    subgraphs, errors = list[Subgraph](), list[StoreUnfit]()
    for page in pages(newest[offset : offset + limit], SUBGRAPHS_PER_PAGE):
        graphs, damaged = read_undamaged(store, page)
        subgraphs += graphs
        errors += [error for _, error in damaged]
    return subgraphs, len(newest), errors
