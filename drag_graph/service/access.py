"""Who may call a route."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from fastapi import Request

from drag_graph.app.application import DragGraph
from drag_graph.service.service_state import state_of

KeyRole = Literal["reader", "editor", "admin"]


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a route, and the graph in the namespace of the request."""

    name: str
    role: KeyRole
    namespaces: frozenset[str]
    graph: DragGraph


def requires(role: KeyRole) -> Callable[[Request], Awaitable[Caller]]:
    """Return the dependency of a route that `role` may call."""
    del role

    async def caller(request: Request) -> Caller:
        graph = state_of(request).graph
        namespace = request.headers.get("x-namespace", graph.settings.namespace)
        chosen = graph if namespace == graph.settings.namespace else graph.in_namespace(namespace)
        return Caller("local", "admin", frozenset("*"), chosen)

    return caller
