"""`drag-graph import`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options

if TYPE_CHECKING:
    from drag_graph.manage.importing import ImportReport
    from drag_graph.ports.store import GraphStore
    from drag_graph.settings import Settings

STDIN = Path("-")
SHOWN = 20
"""Lines that are named when people read it; --json has them all."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("import")(import_)


def import_(
    file: Annotated[Path, typer.Argument(help="What `export --format subgraphs` wrote, also compressed; - is standard input.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace what is stored with another content.")] = False,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Transactions at once (Neo4j).", rich_help_panel=options.STORE_PANEL)
    ] = None,
    store: options.Store = None,
    namespace: options.Namespace = None,
    json: options.Json = False,
    verbose: options.Verbose = False,
    log_json: options.LogJson = None,
    debug: options.Debug = False,
) -> None:
    """Store the subgraphs of a file: evidence, entities, triples, teacher calls and vectors, as they were distilled.

    Importing again changes nothing. A query that is stored with another content is a conflict and stays as it is, unless
    --replace is given; an unusable line is left out; the others go on. One that was interrupted or killed goes on with the same
    command. In another namespace than the file's, ids are made anew, as they are hashes that begin with it. Simple edges are
    made of the triples as the file says.

    Answers, concepts and what was judged of them do not travel: run `drag-graph link` afterwards.

    \b
    Examples:
      drag-graph import graph.subgraphs.gz
      drag-graph export --format subgraphs | drag-graph import - --store bolt://127.0.0.1:7687
    """
    del debug
    flags = {
        "workers": workers,
        "store": store,
        "namespace": namespace,
        "log_json": log_json,
    }
    settings = options.settings_of(flags, verbose=verbose)
    report = _run(settings, None if file == STDIN else file, replace=replace, as_json=json)
    if report.stopped:
        raise report.stopped
    raise typer.Exit(report.exit_code)


def _run(settings: "Settings", file: Path | None, *, replace: bool, as_json: bool) -> "ImportReport":
    import sys
    from itertools import chain

    from drag_graph.bootstrap import open_store
    from drag_graph.manage import transfer
    from drag_graph.manage.importing import Importer

    from . import progress

    name = str(file) if file is not None else "standard input"
    parts = transfer.read(file, sys.stdin.buffer)
    first = next(parts)  # no store is made for what is no file of subgraphs
    with open_store(settings) as store:
        with progress.progress(None, quiet=as_json, priced=False) as show:
            # One transaction writes at a time in an embedded store.
            writers = settings.workers if settings.uses_neo4j else 1
            importer = Importer(store, replace=replace, writers=writers, on_result=lambda _result: show(0.0))
            report = importer.run(chain([first], parts))
        _print(report, name, store, as_json=as_json)
    return report


def _print(report: "ImportReport", name: str, store: "GraphStore", *, as_json: bool) -> None:
    from . import render

    if as_json:
        render.document({"file": name, "namespace": store.namespace, **report.document()})
        return
    _print_left_out(report, name)
    if not any(report.counts.values()):
        typer.echo("Nothing was read.")
        return
    counts = ", ".join(f"{number} {status}" for status, number in report.counts.items() if number)
    typer.echo(f"{sum(report.counts.values())} sources into {store.location}: {counts} ({report.seconds:.1f} s)")
    if not (report.counts["new"] or report.counts["replaced"]):
        typer.echo("Nothing was changed.")
        return
    if set(report.namespaces) != {store.namespace}:
        typer.echo(f"They were of namespace {', '.join(report.namespaces)} and have ids of namespace {store.namespace} now.")
    typer.echo("Join them with what else is stored by drag-graph link")


def _print_left_out(report: "ImportReport", name: str) -> None:
    for item in report.lines_left_out()[:SHOWN]:
        what = f"query {item.source_id} is {item.reason}" if item.status == "conflict" else f"rejected: {item.reason}"
        typer.echo(f"{name}:{item.line}: {what}", err=True)
    left = report.counts["conflict"] + report.counts["rejected"] - SHOWN
    if left > 0:
        typer.echo(f"... and {left} more; --json lists them.", err=True)
    if report.counts["conflict"]:
        typer.echo("Next: look at what is stored with `drag-graph show ID`; --replace replaces it.", err=True)
