"""`drag-graph mcp`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options

if TYPE_CHECKING:
    from drag_graph.app.application import DragGraph


@options.with_settings(
    *options.PANELS["Student"],
    *options.PANELS["Teacher"],
    *options.PANELS["Documents"],
    *options.PANELS["Privacy"],
    *options.PANELS["Store"],
)
def mcp(
    graph: "DragGraph",
    allow_writes: Annotated[
        bool, typer.Option("--allow-writes", help="Also offer the tools that write: distill, ingest, correct.")
    ] = False,
    allow_files: Annotated[
        Path | None,
        typer.Option("--allow-files", help="Also offer a tool that reads files from this folder.", show_default=False),
    ] = None,
) -> None:
    """Let a program with a language model use the store, over MCP on stdin and stdout.

    The program starts this command; a person does not. Its tools see one namespace. --budget-usd limits the total
    cost of all distillations in one run. Without it, each call must state a budget. A running service offers the same tools
    at the path /mcp.

    Examples:
      drag-graph mcp --store graph.lbug --student ollama/llama3.1
      drag-graph mcp --allow-writes --allow-files ~/papers --teacher gpt-4o-mini --budget-usd 2
    """
    import asyncio
    import signal

    from drag_graph.compose.site_setup import require_service_packages

    require_service_packages()
    from drag_graph.service.mcp_local import LocalDesk, serve_stdio

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a thread that waits for input cannot be interrupted otherwise
    asyncio.run(serve_stdio(LocalDesk(graph, allow_writes=allow_writes, files=allow_files)))
