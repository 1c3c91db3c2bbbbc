"""Run the service: its sockets, its thread, and its end."""

import asyncio
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from drag_graph.app.application import DragGraph
from drag_graph.errors import ConfigurationError
from drag_graph.service.discovery import RunningService, announced
from drag_graph.service.keys import KeyRing
from drag_graph.service.limits import Limits
from drag_graph.service.service_app import service_app
from drag_graph.sites.cloud.cloud import Cloud
from drag_graph.sites.wire import is_loopback

GRACE = 20
"""Seconds that open requests have to finish at the end."""
KEEP_ALIVE = 75
"""Seconds until an idle connection is closed. Sites close theirs earlier, so no request meets a closing connection."""
BACKLOG = 1024
LOOPBACK = "127.0.0.1"
PEM = "Pass PEM files for the certificate and its key."


class RequestProtocol(H11Protocol):
    """Closes a connection on which the head of a request does not arrive within `head_seconds`."""

    head_seconds: ClassVar[float] = 30.0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._expect_head()
        else:
            self._forget_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_head()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.head_seconds, self.transport.close)

    def _forget_head(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def request_protocol(head_seconds: float) -> type[RequestProtocol]:
    """Return the protocol with a time limit."""
    return type("RequestProtocol", (RequestProtocol,), {"head_seconds": head_seconds})


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
        if (self.certificate is None) != (self.key is None):
            raise ConfigurationError("TLS needs a certificate and its key.", hint="Pass both, or neither.")
        for file in (self.certificate, self.key):
            if file is not None and not file.is_file():
                raise ConfigurationError(f"There is no file {file}.", hint=PEM)
        if is_loopback(self.host) and not self.is_behind_proxy:
            return
        if not has_keys:
            hint = "Add a key with `drag-graph keys add NAME --role reader`, or listen on 127.0.0.1."
            raise ConfigurationError("A service that other machines can reach requires keys.", hint=hint)
        if self.certificate is None and not self.is_behind_proxy:
            hint = "Pass a certificate and its key, or `behind_proxy=True` (for a cloud `insecure=True`) if the way is safe."
            raise ConfigurationError(f"Requests to {self.host} would be sent unencrypted over the network.", hint=hint)


@contextmanager
def served(
    graph: DragGraph, place: ServicePlace, limits: Limits, ring: KeyRing, cloud: Cloud | None = None
) -> Iterator[RunningService]:
    """Serve while the block runs, and yield the address. The store stays open for writing, only by this process.

    With a cloud, its sites are served, too; they have tokens of their own, so keys are optional.

    At the end no new work is accepted, the running job is interrupted, and open requests have `GRACE` seconds.

    Raises ConfigurationError if the service cannot listen there, StoreLocked if another process writes to the store or runs
    its jobs.
    """
    place.check(has_keys=cloud is not None or not ring.is_empty())
    token = secrets.token_urlsafe(32)
    is_plain = place.certificate is None and place.host in {LOOPBACK, "localhost"}
    with ExitStack() as opened:
        opened.enter_context(graph.store.held())
        sockets = [opened.enter_context(bound_socket(place.host, place.port))]
        address = address_of(sockets[0], encrypted=place.certificate is not None)
        app = service_app(graph, limits, ring, local_token=token, cloud=cloud)
        opened.callback(app.state.access.close)
        opened.enter_context(app.state.jobs)
        servers = [_server(app, limits, place.certificate, place.key)]
        if not is_plain:  # commands on this machine need neither certificate nor name
            sockets.append(opened.enter_context(bound_socket(LOOPBACK, 0)))
            servers.append(_server(app, limits, None, None))
        if cloud:
            opened.callback(cloud.asker.close)
        opened.enter_context(_running(servers, sockets, cloud.board.close if cloud else lambda: None))
        opened.enter_context(announced(graph.settings.service_path, RunningService(address_of(sockets[-1]), token)))
        opened.callback(app.state.jobs.pause)
        opened.callback(app.state.service.asks.close)
        yield RunningService(address, token)


def _server(app: Any, limits: Limits, certificate: Path | None, key: Path | None) -> uvicorn.Server:
    """Return a server without uvicorn's logs and headers. Raises ConfigurationError if the certificate cannot be used."""
    tls: dict[str, Any] = {"ssl_certfile": str(certificate), "ssl_keyfile": str(key)} if certificate else {}
    protocol: dict[str, Any] = {"http": request_protocol(limits.receive_seconds), "ws": "none"}
    quiet: dict[str, Any] = {"log_config": None, "log_level": "critical", "access_log": False}
    plain: dict[str, Any] = {"lifespan": "off", "server_header": False, "proxy_headers": False}
    times: dict[str, Any] = {"timeout_keep_alive": KEEP_ALIVE, "timeout_graceful_shutdown": GRACE}
    config = uvicorn.Config(app, **times, **quiet, **plain, **protocol, **tls)
    try:
        config.load()
    except OSError as error:  # includes SSLError
        raise ConfigurationError(f"Cannot use the certificate: {error}.", hint=PEM) from error
    return uvicorn.Server(config)


@contextmanager
def _running(servers: list[uvicorn.Server], sockets: list[socket.socket], at_end: Callable[[], None]) -> Iterator[None]:
    """Run the servers in a thread with an event loop of its own, which calls `at_end` before it ends."""
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        await asyncio.gather(*(server.serve([sock]) for server, sock in zip(servers, sockets, strict=True)))

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="service", daemon=True)
    thread.start()
    try:
        for server in servers:
            while not server.started:
                thread.join(0.01)
                if not thread.is_alive():
                    raise ConfigurationError("The service could not start.", hint="Run it again with `--debug`.")
        yield
    finally:
        if thread.is_alive():
            loops[0].call_soon_threadsafe(at_end)
        for server in servers:
            server.should_exit = True
        thread.join(GRACE + 5)


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens. Raises ConfigurationError if the address cannot be used."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=BACKLOG)  # early requests wait for the service
    except OSError as error:
        why = (error.strerror or type(error).__name__).partition(" (while")[0]
        raise ConfigurationError(f"Cannot listen at {host}:{port}: {why}.", hint="Choose another host or port.") from error
    # Accepted sockets inherit it. asyncio sets it only on sockets that name their protocol, which `create_server` does not do;
    # without it, a reply in two parts takes 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def address_of(sock: socket.socket, *, encrypted: bool = False) -> str:
    """Return the URL of a listening socket."""
    host, port = sock.getsockname()[:2]
    scheme = "https" if encrypted else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
