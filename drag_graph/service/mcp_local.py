"""MCP over standard input and output, for a program on this machine."""

import asyncio
import secrets
from functools import partial
from pathlib import Path
from typing import Any

from anyio import to_thread
from mcp.server.stdio import stdio_server

from drag_graph.app.application import DragGraph
from drag_graph.errors import ConfigurationError
from drag_graph.service.access import LOCAL, Caller
from drag_graph.service.mcp_server import mcp_server
from drag_graph.service.mcp_tools import TOOLS, IngestFilesTool, JobTool, McpTool


class LocalDesk:
    """Runs tools in this process, and only one at a time writes. All paid work together stays within the largest given budget.

    Tools that write need `allow_writes`; `files` is the folder whose files may be read, None for none.

    Raises ConfigurationError for a folder that does not exist, and for a folder without `allow_writes`.
    """

    def __init__(self, graph: DragGraph, *, allow_writes: bool = False, files: Path | None = None) -> None:
        if files is not None and not (allow_writes and files.is_dir()):
            problem = f"There is no folder {files}." if allow_writes else "Reading files requires writing to the store."
            raise ConfigurationError(problem, hint="Allow writes, and name an existing folder.")
        self.caller = Caller(LOCAL, "editor" if allow_writes else "reader", frozenset({graph.settings.namespace}), graph)
        self.tools: tuple[type[McpTool], ...] = (*TOOLS, IngestFilesTool) if files else TOOLS
        self._files = files
        self._account = f"mcp {secrets.token_hex(8)}"
        self._writing = asyncio.Lock()

    async def run(self, tool: McpTool) -> Any:
        """Return the result of a tool. If the client cancels long work, calls in flight are finished."""
        if not isinstance(tool, JobTool):
            result = await to_thread.run_sync(tool.call, self.caller, abandon_on_cancel=True)
            return result.to_dict()
        limits: dict[str, Any] = {"job": self._account, "budget_usd": tool.limit(self.caller.graph.settings), "wait": False}
        if self._files and isinstance(tool, IngestFilesTool):
            tool = tool.inside(self._files)
        async with self._writing:
            handle = await to_thread.run_sync(partial(tool.start, self.caller.graph, **limits))
            try:
                return (await to_thread.run_sync(handle.result, abandon_on_cancel=True)).to_dict()
            finally:
                handle.cancel()


async def serve_stdio(desk: LocalDesk) -> None:
    """Serve until standard input ends. Standard output has only messages of the protocol."""
    server = mcp_server(desk)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
