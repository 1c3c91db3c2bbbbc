"""The outermost middleware: an id, a log line and counters for each request."""

import secrets
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from drag_graph import log
from drag_graph.service.errors import reply_to
from drag_graph.service.metrics import Metrics

REQUEST_ID = b"x-request-id"


class RequestLog:
    """Gives each request an id, and logs it with its route, status and duration: never a path, a text or a key.

    An unexpected error becomes a reply with status 500.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id, began, status = secrets.token_hex(8), time.monotonic(), 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (REQUEST_ID, request_id.encode())]
            await send(message)

        try:
            await self._app(scope, receive, answer)
        except Exception as error:  # noqa: BLE001 - becomes the reply
            reply = reply_to(error, scope["path"])
            if not status:
                await reply(scope, receive, answer)
        finally:
            seconds = time.monotonic() - began
            route = getattr(scope.get("route"), "path", "unmatched")
            method = scope["method"] if scope["method"] in METHODS else "other"
            self._metrics.requests.labels(method, route, status).inc()
            self._metrics.latency.labels(method, route).observe(seconds)
            log.event("request", id=request_id, method=method, route=route, status=status, duration_ms=round(seconds * 1000, 1))


METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
