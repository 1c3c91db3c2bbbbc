"""The state that all routes of a service share: `request.app.state.service`."""

import asyncio
from dataclasses import dataclass
from typing import Any

from fastapi import Request

from drag_graph.app.answer_results import GivenAnswer
from drag_graph.app.application import DragGraph
from drag_graph.service.ask_queue import AskQueue
from drag_graph.service.limits import Limits
from drag_graph.service.metrics import Metrics


@dataclass
class ServiceState:
    """The application with its limits, metrics and queue. `local_token` is the token of the discovery file; empty for none."""

    graph: DragGraph
    limits: Limits
    metrics: Metrics
    asks: AskQueue
    local_token: str = ""
    check: asyncio.Task[Any] | None = None
    """The last check whether Neo4j replies."""

    def ask(self, graph: DragGraph, **arguments: Any) -> GivenAnswer:
        """Ask as `DragGraph.ask`, and count the question in the metrics."""
        with self.metrics.counted_ask(arguments.get("mode") or graph.settings.mode) as counted:
            given = graph.ask(**arguments)
            counted(given)
        return given


def state_of(request: Request) -> ServiceState:
    """Return the state of the service that received a request."""
    state: ServiceState = request.app.state.service
    return state
