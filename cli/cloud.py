"""`drag-graph cloud …`: the cloud of many edges."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options

if TYPE_CHECKING:
    from drag_graph.ports.graph_store import GraphStore
    from drag_graph.settings import Settings
    from drag_graph.sites.cloud.operator_client import Operator

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", help="The cloud that many edges ask (docs/edges.md).")
edges_app = typer.Typer(rich_markup_mode="rich", help="The edges of a cloud: list, add, remove.")
app.add_typer(edges_app, name="edges")

EdgeName = Annotated[str, typer.Argument(help="What the edge is called.", show_default=False)]
COLUMNS = ("name", "online", "summaries", "seen_at", "refused")


@app.command()
@options.with_settings(*options.PANELS["Cloud"], *options.PANELS["Student"], "privacy", *options.PANELS["Store"], "insecure")
def serve(
    settings: "Settings",
    host: Annotated[str, typer.Option("--host", help="Where to listen; another than this machine takes TLS.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes any that is free.")] = 8470,
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", help="The certificate, as PEM.", show_default=False)] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="Its key, as PEM.", show_default=False)] = None,
    json: options.Json = False,
) -> None:
    """Serve edges: keep their summaries, find whom to ask, answer with the student from what they release.

    Edges open all connections. Ctrl-C or SIGTERM ends it.

    \b
    Examples:
      drag-graph cloud serve --store cloud.lbug --student ollama/llama3.1
      drag-graph cloud serve --host 0.0.0.0 --tls-cert cloud.pem --tls-key cloud.key
    """
    import threading

    from drag_graph.compose.model_factories import check_serving
    from drag_graph.compose.session import open_session
    from drag_graph.concurrency.interruption import on_end

    from . import render

    check_serving()
    from drag_graph.sites.cloud.cloud_server import ServiceAddress, served

    place = ServiceAddress(host, port, tls_cert, tls_key, settings.insecure)
    place.check()
    ended = threading.Event()
    with (
        open_session(settings, asks=True) as session,
        on_end(ended.set),
        served(session.cloud(), place, settings.operator_path) as address,
    ):
        said = {"address": address, "store": session.store.location, "student": settings.student}
        if json:
            render.document(said)
        else:
            render.write(f"Serving edges at {address}; Ctrl-C ends it.\n")
        ended.wait()


@edges_app.callback(invoke_without_command=True)
@options.with_settings(*options.STORE)
def edges(settings: "Settings", context: typer.Context, json: options.Json = False) -> None:
    """List the edges: whether they are connected, how many summaries they have here, when they were last heard of.

    `refused` counts replies that were not usable.

    \b
    Examples:
      drag-graph cloud edges
      drag-graph cloud edges add ward-7
      drag-graph cloud edges remove ward-7
    """
    from dataclasses import asdict

    from . import render

    if context.invoked_subcommand is not None:
        return
    found = _with_cloud(
        settings,
        lambda operator: operator.edges(),
        lambda store: [{**asdict(edge), "online": False} for edge in store.registry.edges()],
    )
    shown = [{name: edge[name] for name in (*COLUMNS, "created_at")} for edge in found]
    if json:
        render.document({"edges": shown})
    else:
        rows = ({**edge, "online": "yes" if edge["online"] else "no"} for edge in shown)
        render.table(COLUMNS, ([row[name] for name in COLUMNS] for row in rows))


@edges_app.command()
@options.with_settings(*options.STORE)
def add(settings: "Settings", name: EdgeName, json: options.Json = False) -> None:
    """Register an edge and print its token, once: only its hash is kept.

    \b
    Example:
      drag-graph cloud edges add ward-7
    """
    from drag_graph.sites.cloud.site_tokens import add_edge
    from drag_graph.sites.wire import check_name

    from . import render

    check_name(name)
    token = _with_cloud(settings, lambda operator: operator.add(name), lambda store: add_edge(store, name), create=True)
    if json:
        render.document({"name": name, "token": token})
        return
    render.write(f"{token}\n")
    typer.echo("This token is shown once. At the edge: drag-graph edge init --cloud ADDRESS --name NAME asks for it.", err=True)


@edges_app.command()
@options.with_settings(*options.STORE)
def remove(settings: "Settings", name: EdgeName, json: options.Json = False) -> None:
    """Withdraw an edge: its token and its summaries are gone at once, also from an embedded store's file.

    \b
    Example:
      drag-graph cloud edges remove ward-7
    """
    from drag_graph.manage.erasing import compact
    from drag_graph.sites.cloud.site_tokens import remove_edge
    from drag_graph.sites.wire import check_name

    from . import render

    check_name(name)
    try:
        _with_cloud(settings, lambda operator: operator.remove(name), lambda store: remove_edge(store, name))
        if not json:
            render.write(f"Removed {name}, with its summaries.\n")
    finally:  # a removal before this one may have been killed, or have found no room, before the file was written anew
        left = _with_cloud(settings, lambda operator: operator.compact(), compact)
    if json:
        render.document({"name": name, "removed": True, "store": left})
    else:
        render.write(f"The store: {left}.\n")


def _with_cloud(
    settings: "Settings",
    running: "Callable[[Operator], Any]",
    alone: "Callable[[GraphStore], Any]",
    *,
    create: bool = False,
) -> Any:
    """Return what the cloud that serves this store says, or what the store does where none serves."""
    from drag_graph.compose.session import open_store
    from drag_graph.sites.cloud.operator_client import running_cloud

    if operator := running_cloud(settings.operator_path):
        return running(operator)
    with open_store(settings, create=create) as store:
        return alone(store)
