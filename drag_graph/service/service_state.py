"""The state that all routes of a service share: `request.app.state.service`."""

from dataclasses import dataclass

from fastapi import Request

from drag_graph.app.application import DragGraph
from drag_graph.service.ask_queue import AskQueue
from drag_graph.service.keys import KeyRing
from drag_graph.service.limits import Limits
from drag_graph.service.metrics import Metrics


@dataclass
class ServiceState:
    """The application with its limits, metrics and queue.

    Without a `keyring`, callers need no key. A caller with `local_token`, the token of the discovery file, is an
    administrator; empty for none.
    """

    graph: DragGraph
    limits: Limits
    metrics: Metrics
    asks: AskQueue
    keyring: KeyRing | None = None
    local_token: str = ""


def state_of(request: Request) -> ServiceState:
    """Return the state of the service that received a request."""
    state: ServiceState = request.app.state.service
    return state
