"""A bad network between edges and their cloud."""

import contextlib
import socket
import threading
import time

import httpx


class Proxy:
    """Passes on what edges and cloud say: with a `delay` to every piece, and cut as `cuts` says of each connection.

    `cuts` takes the number of a connection and returns after how many bytes it ends, or None. While it `is_down`, nobody gets
    through. `passed` counts the bytes that came from the cloud.
    """

    def __init__(self, address, *, delay=0.0, cuts=lambda _number: None):
        self._target = httpx.URL(address)
        self._cuts = cuts
        self._server = socket.create_server(("127.0.0.1", 0))
        self._open = set()
        self.delay = delay
        self.is_down = False
        self.connections = 0
        self.passed = 0
        self.address = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._server.accept()
                far = self._connected()
                if far is None:
                    near.close()
                    continue
                self.connections += 1
                left = [self._cuts(self.connections)]
                self._open.update((near, far))
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=(one, other, left, one is far), daemon=True).start()

    def _connected(self):
        """A connection to the cloud; None where it is away, or the network is down."""
        with contextlib.suppress(OSError):
            return None if self.is_down else socket.create_connection((self._target.host, self._target.port))

    def _pass(self, one, other, left, is_from_cloud):
        """Pass on pieces until one side ends, or, where there is a limit, so many bytes have gone through."""
        with contextlib.suppress(OSError):
            while piece := one.recv(4096):
                time.sleep(self.delay)
                if left[0] is not None and (left := [left[0] - len(piece)])[0] < 0:
                    break
                other.sendall(piece)
                self.passed += len(piece) if is_from_cloud else 0
        self.cut(one, other)

    def cut(self, *sockets):
        """Cut these connections, or all."""
        for one in sockets or tuple(self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
            self._open.discard(one)

    def close(self):
        """Let nobody through any more."""
        self._server.shutdown(socket.SHUT_RDWR)  # or the thread that accepts would take one more
        self._server.close()
        self.cut()
