"""HTTP/1.1 with a time limit for the head of a request. uvicorn limits only the time between requests."""

import asyncio
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


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
