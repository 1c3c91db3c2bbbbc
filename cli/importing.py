"""`drag-graph import`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .output import STANDARD

if TYPE_CHECKING:
    from drag_graph.manage.subgraph_import import ImportReport
    from drag_graph.ports.graph_store import GraphStore
    from drag_graph.settings import Settings

SHOWN = 20
"""Lines that are named when people read it; --json has them all."""


@options.with_settings(*options.STORE)
def import_(
    settings: "Settings",
    file: Annotated[Path, typer.Argument(help="What `export --format subgraphs` wrote, also compressed; - is standard input.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace what is stored with another content.")] = False,
    json: options.Json = False,
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
    import sys
    from itertools import chain

    from drag_graph.compose.session import open_store
    from drag_graph.manage import subgraph_files as transfer
    from drag_graph.manage.subgraph_import import Importer

    from . import progress
    from .output import exit_with

    name = "standard input" if file == STANDARD else str(file)
    parts = transfer.read(None if file == STANDARD else file, sys.stdin.buffer)
    first = next(parts)  # no store is made for what is no file of subgraphs
    with open_store(settings) as store:
        with progress.progress(None, quiet=json, priced=False) as show:
            report = Importer(store, replace=replace, on_result=lambda _result: show(0.0)).run(chain([first], parts))
        _print(report, name, store, as_json=json)
    exit_with(report)


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
        typer.echo("Hint: look at what is stored with `drag-graph show ID`; --replace replaces it.", err=True)
