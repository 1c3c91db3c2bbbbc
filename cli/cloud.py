"""`drag-graph cloud …`: the cloud of several sites."""

from typing import TYPE_CHECKING, Annotated

import typer

from . import options, render
from .serving import run

if TYPE_CHECKING:
    from drag_graph.app.cloud_group import AddedSite, SiteList

app = typer.Typer(no_args_is_help=True)
edges_app = typer.Typer()
app.add_typer(edges_app, name="edges")

SiteName = Annotated[str, typer.Argument(help="Name of the site.", show_default=False)]


@app.command()
@options.with_settings("Cloud", "Student", "privacy", "Store", "insecure")
def serve(
    graph: "options.Graph",
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on. Beyond this machine, TLS is required.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 is any free port.")] = 8470,
    tls_cert: options.TlsCert = None,
    tls_key: options.TlsKey = None,
    allow_host: options.AllowHost = None,
) -> None:
    """Serve the sites of a cloud until Ctrl-C or SIGTERM.

    The cloud stores summaries of what the sites know. It passes a question on to the sites that are likely to help, and the
    student answers from what they release. Sites open all connections. It is a service, too (`drag-graph serve`), which always
    requires keys.

    Examples:
      drag-graph cloud serve --store cloud.lbug --student ollama/llama3.1
      drag-graph cloud serve --host 0.0.0.0 --tls-cert cloud.pem --tls-key cloud.key --allow-host cloud.example
    """
    place = (host, port, tls_cert, tls_key, graph.settings.insecure)
    run(graph, place, {"hosts": tuple(allow_host or ())}, is_cloud=True)


@edges_app.callback(invoke_without_command=True)
@options.with_settings(*options.STORE)
def edges(graph: "options.Graph", context: typer.Context) -> None:
    """List the sites: if they are connected, how many summaries the cloud has of each, and when each was last seen.

    `refused` counts the unusable replies of a site.

    Examples:
      drag-graph cloud edges
      drag-graph cloud edges add ward-7
      drag-graph cloud edges remove ward-7
    """
    if context.invoked_subcommand is None:
        render.result(graph.cloud.sites(), _print_sites)


def _print_sites(listed: "SiteList") -> None:
    rows = ((site.name, "yes" if site.online else "no", site.summaries, site.seen_at, site.refused) for site in listed.sites)
    render.table(("name", "online", "summaries", "seen_at", "refused"), rows)


@edges_app.command()
@options.with_settings(*options.STORE)
def add(graph: "options.Graph", name: SiteName) -> None:
    """Register a site and print its token. The token is shown only once, because the cloud stores only its hash.

    Example:
      drag-graph cloud edges add ward-7
    """
    render.result(graph.cloud.add(name), _print_token)


def _print_token(added: "AddedSite") -> None:
    render.write(added.token)
    command = f"drag-graph edge init --cloud ADDRESS --name {added.name}"
    typer.echo(f"Shown only once. On the site, run `{command}` and enter this token.", err=True)


@edges_app.command()
@options.with_settings(*options.STORE)
def remove(graph: "options.Graph", name: SiteName) -> None:
    """Remove a site with its token and its summaries, also from an embedded store's file.

    Example:
      drag-graph cloud edges remove ward-7
    """
    removed = graph.cloud.remove(name)
    render.result(removed, lambda _removed: render.write(f"Removed {name} and its summaries.\nThe store: {removed.store}."))
