"""Run the service: its sockets, its thread, and its end."""

import asyncio
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from drag_graph.app.application import DragGraph
from drag_graph.errors import ConfigurationError
from drag_graph.service.discovery import RunningService, announced
from drag_graph.service.keys import KeyRing
from drag_graph.service.limits import Limits
from drag_graph.service.request_protocol import request_protocol
from drag_graph.service.service_app import service_app
from drag_graph.sites.cloud.cloud_server import address_of, bound_socket, check_pair, server_config
from drag_graph.sites.wire import is_loopback

GRACE = 20
"""Seconds that open requests have to finish at the end."""
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ServicePlace:
    """Where the service listens. Port 0 is any free port; `certificate` and `key` are PEM files for TLS."""

    host: str = LOOPBACK
    port: int = 8080
    certificate: Path | None = None
    key: Path | None = None
    is_behind_proxy: bool = False

    def check(self, *, has_keys: bool) -> None:
        """Raise ConfigurationError if the service would be open to others or unencrypted, or a file is missing."""
        check_pair(self.certificate, self.key)
        if is_loopback(self.host) and not self.is_behind_proxy:
            return
        if not has_keys:
            hint = "Add a key with `drag-graph keys add NAME --role reader`, or listen on 127.0.0.1."
            raise ConfigurationError("A service that other machines can reach requires keys.", hint=hint)
        if self.certificate is None and not self.is_behind_proxy:
            hint = "Pass a certificate and its key, or `behind_proxy=True` if a proxy encrypts the requests."
            raise ConfigurationError(f"Requests to {self.host} would be sent unencrypted over the network.", hint=hint)


@contextmanager
def served(graph: DragGraph, place: ServicePlace, limits: Limits, ring: KeyRing) -> Iterator[RunningService]:
    """Serve while the block runs, and yield the address. The store stays open for writing, only by this process.

    At the end no new work is accepted, the running job is interrupted, and open requests have `GRACE` seconds.

    Raises ConfigurationError if the service cannot listen there, StoreLocked if another process writes to the store or runs
    its jobs.
    """
    place.check(has_keys=not ring.is_empty())
    token = secrets.token_urlsafe(32)
    is_plain = place.certificate is None and place.host in {LOOPBACK, "localhost"}
    with ExitStack() as opened:
        opened.enter_context(graph.store.held())
        sockets = [opened.enter_context(bound_socket(place.host, place.port))]
        address = address_of(sockets[0], encrypted=place.certificate is not None)
        app = service_app(graph, limits, ring, local_token=token)
        opened.callback(app.state.access.close)
        opened.enter_context(app.state.jobs)
        servers = [_server(app, limits, place)]
        if not is_plain:  # commands on this machine need neither certificate nor name
            sockets.append(opened.enter_context(bound_socket(LOOPBACK, 0)))
            servers.append(_server(app, limits, None))
        opened.enter_context(_running(servers, sockets))
        opened.enter_context(announced(graph.settings.service_path, RunningService(address_of(sockets[-1]), token)))
        opened.callback(app.state.jobs.pause)
        opened.callback(app.state.service.asks.close)
        yield RunningService(address, token)


class _Server(uvicorn.Server):
    """A server whose start can be waited for."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_up.set()


def _server(app: Any, limits: Limits, place: ServicePlace | None) -> _Server:
    """Return a server for a place; None is a loopback socket next to it."""
    files = (place.certificate, place.key) if place else (None, None)
    protocol: dict[str, Any] = {"http": request_protocol(limits.receive_seconds), "ws": "none"}
    return _Server(server_config(app, *files, grace=GRACE, log_level="critical", **protocol))


@contextmanager
def _running(servers: list[_Server], sockets: list[socket.socket]) -> Iterator[None]:
    """Run the servers in a thread with an event loop of its own."""

    async def serve() -> None:
        await asyncio.gather(*(server.serve([sock]) for server, sock in zip(servers, sockets, strict=True)))

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="service", daemon=True)
    thread.start()
    try:
        for server in servers:
            while not server.is_up.wait(0.1):
                if not thread.is_alive():
                    raise ConfigurationError("The service could not start.", hint="Run it again with `--debug`.")
        yield
    finally:
        for server in servers:
            server.should_exit = True
        thread.join(GRACE + 5)
