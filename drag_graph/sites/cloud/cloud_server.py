"""Run the cloud: its sockets and its thread."""

import asyncio
import json
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drag_graph.errors import ConfigurationError
from drag_graph.files import replacing
from drag_graph.sites.cloud.cloud_api import Cloud, operator_app, site_app
from drag_graph.sites.wire import is_loopback

GRACE = 3
"""Seconds that open requests have at the end."""
KEEP_ALIVE = 75
"""Seconds until an idle connection is closed. Sites close theirs earlier, so no request meets a closing connection."""
BACKLOG = 1024
PEM = "Pass PEM files for the certificate and its key."


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """Where the cloud listens. Port 0 means any free port; `certificate` and `key` are the PEM files for TLS."""

    host: str
    port: int
    certificate: Path | None = None
    key: Path | None = None
    insecure: bool = False

    def check(self) -> None:
        """Raise ConfigurationError if requests would cross a network unencrypted, or if a file is missing."""
        check_pair(self.certificate, self.key)
        if self.certificate is None and not is_loopback(self.host) and not self.insecure:
            hint = "Pass a certificate and its key, or add `insecure=True` if you trust the network."
            raise ConfigurationError(f"Requests to {self.host} would cross the network unencrypted.", hint=hint)


def check_pair(certificate: Path | None, key: Path | None) -> None:
    """Raise ConfigurationError unless both files are there, or neither is given."""
    if (certificate is None) != (key is None):
        raise ConfigurationError("TLS needs a certificate and its key.", hint="Pass both, or neither.")
    for file in (certificate, key):
        if file is not None and not file.is_file():
            raise ConfigurationError(f"There is no file {file}.", hint=PEM)


@contextmanager
def served(cloud: Cloud, place: ServiceAddress, operator_file: Path) -> Iterator[str]:
    """Serve while the block runs, and lend the address. Both services share a thread and its event loop.

    Raises ConfigurationError if the cloud cannot listen at the address.
    """
    place.check()
    sockets = [bound_socket(place.host, place.port), bound_socket("127.0.0.1", 0)]
    token = secrets.token_urlsafe(32)
    servers = [_server(site_app(cloud), place), _server(operator_app(cloud, token), None)]
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=_run, args=(loop, servers, sockets), name="cloud", daemon=True)
    try:
        thread.start()
        with replacing(operator_file) as file:
            json.dump({"address": address_of(sockets[1]), "token": token}, file)
        yield address_of(sockets[0], encrypted=place.certificate is not None)
    finally:
        operator_file.unlink(missing_ok=True)
        loop.call_soon_threadsafe(cloud.board.close)
        for server in servers:
            server.should_exit = True
        thread.join(2 * GRACE)
        cloud.asker.close()


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


def _server(app: Any, place: ServiceAddress | None) -> Any:
    import uvicorn

    files = (place.certificate, place.key) if place else (None, None)
    return uvicorn.Server(server_config(app, *files, grace=GRACE, log_level="warning"))


def server_config(app: Any, certificate: Path | None, key: Path | None, *, grace: int, **more: Any) -> Any:
    """Return the configuration of a uvicorn server without its logs and headers; open requests have `grace` seconds at its end.

    Raises ConfigurationError if the certificate cannot be used.
    """
    import uvicorn

    tls: dict[str, Any] = {"ssl_certfile": str(certificate), "ssl_keyfile": str(key)} if certificate else {}
    quiet: dict[str, Any] = {"log_config": None, "access_log": False}
    plain: dict[str, Any] = {"lifespan": "off", "server_header": False, "proxy_headers": False}
    times: dict[str, Any] = {"timeout_keep_alive": KEEP_ALIVE, "timeout_graceful_shutdown": grace}
    config = uvicorn.Config(app, **times, **quiet, **plain, **tls, **more)
    try:
        config.load()
    except OSError as error:  # includes SSLError
        raise ConfigurationError(f"Cannot use the certificate: {error}.", hint=PEM) from error
    return config


def _run(loop: asyncio.AbstractEventLoop, servers: list[Any], sockets: list[socket.socket]) -> None:
    asyncio.set_event_loop(loop)

    async def serve_both() -> None:
        await asyncio.gather(*(server.serve([sock]) for server, sock in zip(servers, sockets, strict=True)))

    loop.run_until_complete(serve_both())
    loop.close()


def address_of(sock: socket.socket, *, encrypted: bool = False) -> str:
    """Return the URL of a listening socket."""
    host, port = sock.getsockname()[:2]
    scheme = "https" if encrypted else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
