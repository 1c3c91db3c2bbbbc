"""The state that all routes of a service share, `request.app.state.service`, and its counters."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from drag_graph.app.answer_results import GivenAnswer
from drag_graph.app.application import DragGraph
from drag_graph.service.ask_queue import AskQueue
from drag_graph.service.limits import Limits


class Metrics:
    """What `/metrics` reports. Labels are fixed words and routes, never texts or ids."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        kept: Any = {"registry": self.registry, "namespace": "drag_graph"}
        self.requests = Counter("requests", "Requests by route and status.", ["method", "route", "status"], **kept)
        self.latency = Histogram("request_seconds", "Duration of requests by route.", ["method", "route"], **kept)
        self.asks = Counter("asks", "Questions by mode and outcome.", ["mode", "outcome"], **kept)
        self.tokens = Counter("prompt_tokens", "Tokens of the prompts for answers.", **kept)
        self.cost = Gauge("jobs_cost_usd", "Cost of the model calls of all jobs in US dollars.", **kept)
        self.jobs = Gauge("jobs", "Jobs by state.", ["state"], **kept)
        self.queue = Gauge("asks_open", "Questions that are being answered, and that wait.", ["state"], **kept)
        self.store_bytes = Gauge("store_bytes", "Size of the embedded store's file.", **kept)

    @contextmanager
    def counted_ask(self, mode: str) -> Iterator[Callable[[GivenAnswer], None]]:
        """Count the question of the block: as failed if the block raises, otherwise by the answer passed to the function."""
        outcome = "failed"

        def count(given: GivenAnswer) -> None:
            nonlocal outcome
            outcome = outcome_of(given)
            self.tokens.inc(given.result.answer.prompt_tokens)

        try:
            yield count
        finally:
            self.asks.labels(mode, outcome).inc()


def outcome_of(given: GivenAnswer) -> str:
    """Return `answered`, `abstained`, `nothing stored` or `failed`."""
    result = given.result
    if result.how == "nothing":
        return "nothing stored"
    if result.abstained:
        return "abstained"
    return "failed" if result.problem else "answered"


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
