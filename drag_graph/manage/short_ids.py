"""Finding what a person names by a short id."""

from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Literal

from drag_graph.errors import ConfigurationError, NotStored
from drag_graph.graph.paging import iter_sources, settings_hashes
from drag_graph.manage.erasing import Scope, scopes_of_call
from drag_graph.model import Subgraph
from drag_graph.ports.graph_store import GraphStore, SourceFilter
from drag_graph.ports.run_journal import RecordedQuery

_SHOWN = 10
"""How many ids are looked at when a short id is not unique."""


Kind = Literal["query", "source", "answer"]
"""What an id is of; a source is a query or a document."""
_NAMES: dict[Kind, str] = {"query": "query", "source": "query or document", "answer": "answer"}


def full_id(
    store: GraphStore,
    kind: Kind,
    prefix: str,
    recorded: Iterable[RecordedQuery] = (),
    asked_as: Collection[str] = (),
) -> str:
    """Return the one stored id that begins with `prefix`, or that of the query which the input named exactly so.

    Of answers, it is the newest one that rests on that query; of queries, it may be one of those `recorded`, too. `asked_as`
    are the queries that a line of that name became in the privacy gate: the store knows no such names. Raises NotStored
    when there is none, ConfigurationError when several begin so, or when several queries have that name.
    """
    prefix = prefix.strip()
    recorded = list(recorded)
    named = {item.id for item in store.sources(SourceFilter(input_id=prefix), limit=_SHOWN)} if prefix else set()
    named |= {query.id for query in recorded if prefix and prefix in query.input_ids}
    named |= settings_hashes(store, list(asked_as)).keys()
    if len(named) > 1:
        said = f"{len(named)} or more queries have the input id {prefix!r}"
        raise ConfigurationError(said, hint="Give the id that `drag-graph show` prints.")
    if named:
        (id_,) = named
        ids = [id_] if kind != "answer" else [answer.id for answer in store.answers(id_, limit=1)]
        if ids:
            return ids[0]
    prefix = prefix.lower()
    found = _beginning(store, kind, prefix) if prefix else []
    found += [query.id for query in recorded if prefix and query.id.startswith(prefix) and query.id not in found]
    hint = f"`drag-graph {'answers' if kind == 'answer' else 'show'}` lists them."
    return _the_one(store, _NAMES[kind], prefix, found, hint)


def _the_one(store: GraphStore, kind: str, prefix: str, found: Sequence[str], hint: str) -> str:
    """Return the id that is meant by a prefix, of those that begin so; `hint` says where a person finds them."""
    if not found:
        raise NotStored(f"no {kind} {prefix!r} in namespace {store.namespace!r} of {store.location}", hint=hint)
    if prefix in found:
        return prefix
    if len(found) > 1:
        said = f"{len(found)} or more {kind} ids begin with {prefix!r}"
        raise ConfigurationError(said, hint="Give more digits of the id.")
    return found[0]


def _beginning(store: GraphStore, kind: Kind, prefix: str) -> list[str]:
    if kind == "answer":
        return [answer.id for answer in store.answers(prefix=prefix, limit=_SHOWN)]
    found = iter_sources(store, SourceFilter(prefix=prefix))
    return list(islice((item.id for item in found if kind == "source" or not item.is_document), _SHOWN))


def stored_subgraph(store: GraphStore, prefix: str, asked_as: Collection[str] = (), *, kind: Kind = "query") -> Subgraph:
    """Return the subgraph of the query, or of any source, whose id begins with `prefix`. Raises as `full_id` does."""
    found = store.read([full_id(store, kind, prefix, asked_as=asked_as)])
    if not found:
        raise NotStored(f"{_NAMES[kind]} {prefix!r} was erased while it was read", hint="Run the same command again.")
    return found[0]


def full_call(store: GraphStore, prefix: str) -> Scope:
    """Return the one teacher call whose id begins with `prefix`, as what is to be erased. Raises as `full_id` does."""
    prefix = prefix.strip().lower()
    scopes = scopes_of_call(store, prefix, _SHOWN) if prefix else []
    by_call = {call_id: scope for scope in scopes for call_id in scope.call_ids}
    return by_call[_the_one(store, "teacher call", prefix, list(by_call), "`drag-graph audit` prints the calls of an answer.")]
