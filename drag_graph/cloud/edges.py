"""Who may be an edge of a cloud: adding one gives its token, which is kept nowhere but at the edge."""

from datetime import UTC, datetime

from drag_graph.errors import ConfigurationError, StoreError
from drag_graph.manage.erase import compact
from drag_graph.ports.registry import RegisteredEdge, edge_id
from drag_graph.ports.store import GraphStore
from drag_graph.ports.wire import check_name, new_token, token_hash


def add_edge(store: GraphStore, name: str) -> str:
    """Register an edge; return its token. Raises ConfigurationError where one of that name is there."""
    check_name(name)
    token, now = new_token(), datetime.now(UTC).isoformat(timespec="seconds")
    edge = RegisteredEdge(edge_id(store.namespace, name), name, token_hash(token), now)
    if not store.registry.register(edge):
        hint = f"A lost token cannot be shown again: `drag-graph cloud edges remove {name}`, then add it anew."
        raise ConfigurationError(f"there is an edge {name!r} already", hint=hint)
    return token


def remove_edge(store: GraphStore, name: str) -> None:
    """Withdraw an edge, with its summaries. Raises ConfigurationError where there is none of that name."""
    check_name(name)
    if not store.registry.withdraw(edge_id(store.namespace, name)):
        raise ConfigurationError(f"there is no edge {name!r}", hint="`drag-graph cloud edges` lists them.")


def left_on_disk(store: GraphStore) -> str:
    """Write an embedded store's file anew, without the summaries of who was withdrawn; return what is left, in words."""
    try:
        return compact(store)
    except StoreError as error:
        return f"its file keeps the text for now: {error}"
