"""A Neo4j of the suite's own, to be killed: on free ports, in a temporary folder, gone when the suite is."""

import contextlib
import os
import random
import signal
import socket
import time

from drag_graph.stores.neo4j.server import server_status, start_server, stop_server
from drag_graph.stores.neo4j.server.libraries import release_of

PASSWORD = "a-password-for-torture"
LONGEST = 60.0


class OwnServer:
    """A context manager; `kill` ends the server as a power cut would, `start` brings it back on the same ports."""

    def __init__(self, home):
        self.home = home
        self._ports = {"bolt_port": _quiet_port(), "http_port": _quiet_port()}

    @property
    def login(self):
        return f"bolt://127.0.0.1:{self._ports['bolt_port']}", "neo4j", PASSWORD

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        stop_server(self.home)

    def start(self):
        start_server(release_of("5.26"), self.home, password=PASSWORD, parent=os.getpid(), **self._ports)

    def kill(self):
        """Send SIGKILL."""
        os.kill(server_status(self.home).pid, signal.SIGKILL)

    def gone(self):
        """Wait until the system has closed what it had open."""
        deadline = time.monotonic() + LONGEST
        while server_status(self.home).running or not all(_is_free(port) for port in self._ports.values()):
            assert time.monotonic() < deadline, "the killed server's ports stay in use"
            time.sleep(0.05)


def _quiet_port():
    """Return a port that no outgoing connection is given while the server on it is away: below Linux's range for these."""
    return next(port for port in random.sample(range(20_000, 32_000), 50) if _is_free(port))


def _is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return True
    return False
