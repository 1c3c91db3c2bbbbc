"""`drag-graph serve | mcp`."""

from pathlib import Path
from typing import Annotated

import typer

from . import options
from .serving import run


@options.with_settings("Student", "Teacher", "Documents", "Communities", "Privacy", "Store")
def serve(
    graph: "options.Graph",
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on. Beyond this machine, keys and TLS are required.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on. 0 chooses a free port.")] = 8080,
    tls_cert: options.TlsCert = None,
    tls_key: options.TlsKey = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy in front of the service encrypts the requests. Keys are required.")
    ] = False,
    allow_host: options.AllowHost = None,
    cors_origin: Annotated[
        list[str] | None, typer.Option("--cors-origin", help="Origin of a web page that may call the service. Repeatable.")
    ] = None,
    allow_urls: Annotated[
        bool, typer.Option("--allow-urls", help="Allow jobs to fetch documents from public addresses.")
    ] = False,
) -> None:
    """Answer requests over HTTP until Ctrl-C or SIGTERM. The store and the models stay open.

    While it runs, no other process can write to an embedded store. It finishes open requests before it stops. On this
    machine it works without keys until you add one. Each request is logged on stderr as one JSON line, without its text.

    Examples:
      drag-graph serve --store graph.lbug --student ollama/llama3.1
      drag-graph serve --host 0.0.0.0 --tls-cert service.pem --tls-key service.key
    """
    limits = {"hosts": tuple(allow_host or ()), "origins": tuple(cors_origin or ()), "allows_urls": allow_urls}
    run(graph, (host, port, tls_cert, tls_key, behind_proxy), limits)


@options.with_settings("Student", "Teacher", "Documents", "Privacy", "Store", has_json=False)
def mcp(
    graph: "options.Graph",
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
    from drag_graph.service.mcp_server import LocalDesk, serve_stdio

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a thread that waits for input cannot be interrupted otherwise
    asyncio.run(serve_stdio(LocalDesk(graph, allow_writes=allow_writes, files=allow_files)))
