"""Who may be an edge of a cloud: adding one gives its token, which is kept nowhere but at the edge."""

from datetime import UTC, datetime

from drag_graph.errors import ConfigurationError
from drag_graph.ports.graph_store import GraphStore
from drag_graph.ports.site_registry import RegisteredEdge, edge_id
from drag_graph.sites.wire import check_name, new_token, token_hash


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
