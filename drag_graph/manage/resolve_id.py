"""Finding what a person names by a short id."""

from typing import Literal

from drag_graph.errors import ConfigurationError, NotStored
from drag_graph.manage.erase import Scope, scopes_of_call
from drag_graph.model import Subgraph
from drag_graph.ports.store import GraphStore, SourceFilter

_SHOWN = 10
"""How many ids are looked at when a short id is not unique."""


def full_id(store: GraphStore, kind: Literal["query", "answer"], prefix: str) -> str:
    """Return the one stored id that begins with `prefix`, or that of the query which the input named exactly so.

    Of answers, it is the newest one that rests on that query. Raises NotStored when there is none, ConfigurationError when
    several begin so, or when several queries have that name.
    """
    prefix = prefix.strip()
    named = store.sources(SourceFilter(input_id=prefix), limit=_SHOWN) if prefix else []
    if len(named) > 1:
        raise ConfigurationError(f"{len(named)} or more queries have the input id {prefix!r}", hint="Give an id of ours.")
    if named:
        ids = [named[0].id] if kind == "query" else [answer.id for answer in store.answers(named[0].id, limit=1)]
        if ids:
            return ids[0]
    prefix = prefix.lower()
    found = _beginning(store, kind, prefix) if prefix else []
    if not found:
        listing = f"`drag-graph {'show' if kind == 'query' else 'answers'}` lists them."
        raise NotStored(f"no {kind} {prefix!r} in namespace {store.namespace!r} of {store.location}", hint=listing)
    if len(found) > 1 and prefix not in found:
        raise ConfigurationError(f"{prefix!r} begins {len(found)} or more {kind} ids", hint="Give more digits of the id.")
    return prefix if prefix in found else found[0]


def _beginning(store: GraphStore, kind: Literal["query", "answer"], prefix: str) -> list[str]:
    if kind == "answer":
        return [answer.id for answer in store.answers(prefix=prefix, limit=_SHOWN)]
    return [item.id for item in store.sources(SourceFilter(prefix=prefix), limit=_SHOWN) if not item.is_document]


def stored_subgraph(store: GraphStore, prefix: str) -> Subgraph:
    """Return the subgraph of the query whose id begins with `prefix`. Raises as `full_id` does."""
    found = store.read([full_id(store, "query", prefix)])
    if not found:
        raise NotStored(f"query {prefix!r} went away while it was read", hint="Ask again.")
    return found[0]


def full_call(store: GraphStore, prefix: str) -> Scope:
    """Return the one teacher call whose id begins with `prefix`, as what is to be erased. Raises as `full_id` does."""
    prefix = prefix.strip().lower()
    found = scopes_of_call(store, prefix, _SHOWN) if prefix else []
    if not found:
        raise NotStored(
            f"no teacher call {prefix!r} in namespace {store.namespace!r} of {store.location}",
            hint="`drag-graph audit` prints the calls of an answer.",
        )
    exact = [item for item in found if item.call_ids == {prefix}]
    if len(found) > 1 and not exact:
        raise ConfigurationError(f"{prefix!r} begins {len(found)} or more teacher call ids", hint="Give more digits of the id.")
    return (exact or found)[0]
