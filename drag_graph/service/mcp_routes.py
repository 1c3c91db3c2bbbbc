"""MCP over streamable HTTP at `/mcp`, with the keys of the service. Each request stands alone; there are no sessions."""

import asyncio
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.types import Message, Receive, Scope, Send

from drag_graph.service.access import Caller
from drag_graph.service.asking_routes import Reader
from drag_graph.service.errors import REPLIES, RequestRefused
from drag_graph.service.jobs import JobQueue
from drag_graph.service.mcp_tools import TOOLS, AskTool, JobTool, McpTool
from drag_graph.service.service_state import state_of

PATIENCE = 45.0
"""Seconds to wait for a job; clients give up after a minute."""
POLL = 0.1
router = APIRouter(responses=REPLIES)


class HttpDesk:
    """Runs the tool of one request as the routes do: questions in the queue of questions, long work as a job of the key."""

    tools = TOOLS

    def __init__(self, request: Request, caller: Caller) -> None:
        self.caller = caller
        self._state = state_of(request)
        self._jobs: JobQueue = request.app.state.jobs

    async def run(self, tool: McpTool) -> Any:
        """Return the result of a tool. Raises the errors of the routes."""
        if isinstance(tool, JobTool):
            return await self._job(tool)
        return await self._state.asks.run(partial(self._call, tool))

    def _call(self, tool: McpTool) -> Any:
        if isinstance(tool, AskTool):
            return self._state.ask(self.caller.graph, **tool.model_dump()).to_dict()
        return tool.call(self.caller).to_dict()

    async def _job(self, tool: JobTool) -> Any:
        """Submit a job, and return it with its report if it ends soon."""
        namespace = self.caller.graph.settings.namespace
        values = {**tool.request(), "budget_usd": tool.limit(self.caller.graph.settings)}
        job = await run_in_threadpool(self._jobs.submit, tool.kind, namespace, self.caller.name, values, tool.write)
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while not job.has_ended and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(POLL)
            job = await run_in_threadpool(self._jobs.table.job, job.id, namespace)
        if job.error:
            raise RequestRefused(422, job.error["type"], job.error["message"], hint=job.error["hint"])
        return {"job": job.id, "state": job.state, "report": await run_in_threadpool(self._jobs.table.report, job.id)}


@router.post("/mcp", include_in_schema=False)
async def mcp(request: Request, caller: Reader) -> Response:
    """Answer a message of the Model Context Protocol."""
    return _Exchange(HttpDesk(request, caller), await request.body())


class _Exchange(Response):
    """The reply to one message, from a server that lives as long as the request."""

    def __init__(self, desk: HttpDesk, body: bytes) -> None:
        super().__init__()
        self._desk, self._message = desk, body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the reply."""
        manager_of, server_of = await run_in_threadpool(_sdk)
        body: list[Message] = [{"type": "http.request", "body": self._message, "more_body": False}]

        async def replayed() -> Message:
            return body.pop() if body else await receive()

        manager = manager_of(server_of(self._desk), stateless=True, json_response=True)
        async with manager.run():
            await manager.handle_request(scope, replayed, send)


def _sdk() -> tuple[Any, Any]:
    """Import the SDK at the first message, because the import would delay the start of the service."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from drag_graph.service.mcp_server import mcp_server

    return StreamableHTTPSessionManager, mcp_server
