"""Middleware: an id, a log line and counters for each request, and limits that refuse requests before they reach a route."""

import asyncio
import re
import secrets
import time
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from drag_graph import log
from drag_graph.service.errors import RequestRefused, reply_to
from drag_graph.service.limits import Limits
from drag_graph.service.service_state import Metrics

HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?")
CLOSE = {"Connection": "close"}
"""Header of a reply that is sent before the whole body was read."""


class RequestLimits:
    """Applies `Limits` to each request before a route receives it.

    A foreign web page can make a browser send requests to this service, even under its own host name (DNS rebinding). So the
    Host header must be an address or a known name, and an Origin must be this service or a known one.
    `uploads` are the beginnings of paths whose bodies may be large.
    """

    def __init__(self, app: ASGIApp, limits: Limits, uploads: tuple[str, ...] = ()) -> None:
        self._app = app
        self._limits = limits
        self._uploads = uploads
        self._hosts = {"localhost", *(host.lower() for host in limits.hosts)}
        self._origins = frozenset(limits.origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            self._check_place(headers)
            largest = self._limits.upload_bytes if scope["path"].startswith(self._uploads) else self._limits.body_bytes
            length = headers.get("content-length", "0")
            if length.isdecimal() and int(length) > largest:
                raise _too_large(largest)
        except RequestRefused as error:
            await reply_to(error, scope["path"])(scope, receive, send)
            return
        await self._app(scope, self._bounded(receive, largest), send)

    def _check_place(self, headers: Headers) -> None:
        """Raise RequestRefused for a foreign Host or Origin."""
        hosts = headers.getlist("host")
        match = HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        name = match[1].strip("[]").lower() if match else ""
        if not match or not (name in self._hosts or _is_address(name)):
            hint = "Use the service's address, or name the host with `--allow-host`."
            raise RequestRefused(421, "HostRefused", "The Host header does not name this service.", hint=hint, headers=CLOSE)
        for origin in headers.getlist("origin"):
            if origin not in self._origins and _place_of(origin) != hosts[0].lower():
                hint = "Name its origin with `--cors-origin`."
                raise RequestRefused(403, "OriginRefused", "The request came from another web page.", hint=hint, headers=CLOSE)

    def _bounded(self, receive: Receive, largest: int) -> Receive:
        """Return `receive` that raises RequestRefused once the body is too large or too slow."""
        size, is_complete = 0, False
        deadline = asyncio.get_running_loop().time() + self._limits.receive_seconds

        async def bounded() -> Message:
            nonlocal size, is_complete
            if is_complete:
                return await receive()  # waits until the client disconnects
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                refusal = f"The request did not arrive within {self._limits.receive_seconds:g} seconds."
                raise RequestRefused(408, "RequestTimeout", refusal, headers=CLOSE) from None
            size += len(message.get("body", b""))
            is_complete = not message.get("more_body", False)
            if size > largest:
                raise _too_large(largest)
            return message

        return bounded


def _too_large(largest: int) -> RequestRefused:
    message = f"The body has more than {largest} bytes."
    return RequestRefused(413, "BodyTooLarge", message, hint="Send less, or several requests.", headers=CLOSE)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _place_of(origin: str) -> str:
    """Return host and port of an origin; empty if it has none, such as `null`."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


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
