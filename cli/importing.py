"""`drag-graph import | export`."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from . import options, progress, render, render_runs
from .output import STANDARD, exit_with, refuse, report_of

if TYPE_CHECKING:
    from drag_graph.manage.subgraph_import import ImportReport
    from drag_graph.report.graph_formats import GraphFormat


SHOWN = 20
"""Lines listed in the text output; --json lists all."""


@options.with_settings(*options.STORE)
def import_(
    graph: "options.Graph",
    file: Annotated[
        Path,
        typer.Argument(
            help="File from `export --format subgraphs`, also compressed; - is standard input. With --from: a folder."
        ),
    ],
    origin: Annotated[
        Literal["lightrag"] | None,
        typer.Option("--from", help="Program that wrote the folder. lightrag: the working folder of LightRAG."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace stored sources whose content differs.")] = False,
) -> None:
    """Store the subgraphs of a file: evidence, entities, triples, teacher calls and vectors.

    Importing a file again changes nothing. A source that is stored with different content is a conflict and stays, unless
    --replace is given. Unusable lines are left out. Run the same command again to resume an interrupted import. The
    file's namespace must be that of the settings (--namespace). Simple edges are derived again.

    Answers and concepts are not in the file: run `drag-graph link` afterwards.

    With --from, store the texts and relations of another program, as `ingest --triples` does.

    Examples:
      drag-graph import graph.subgraphs
      drag-graph export --format subgraphs | drag-graph import - --store bolt://127.0.0.1:7687
      drag-graph import --from lightrag rag_storage/
    """
    if origin:
        refuse("import", {"--replace does not work with --from.": replace})
        with progress.progress(priced=False, what="documents") as meter:
            imported = report_of(lambda: graph.import_lightrag(file, on_progress=meter.run))
        render.result(imported, render_runs.ingested)
        exit_with(imported)
    with progress.progress(priced=False, what="sources") as meter:
        source = sys.stdin.buffer if file == STANDARD else file
        report = report_of(lambda: graph.import_(source, replace=replace, on_progress=meter.count))
    render.result(report, partial(_print, graph.settings.store))
    exit_with(report)


def _print(store: str, report: "ImportReport") -> None:
    _print_left_out(report)
    if not any(report.counts.values()):
        typer.echo("The file contains no subgraphs." if report.stopped is None else "Nothing was read.")
        return
    counts = ", ".join(f"{number} {status}" for status, number in report.counts.items() if number)
    typer.echo(f"{sum(report.counts.values())} sources into {store}: {counts} ({report.seconds:.1f} s)")
    if report.corrections:
        typer.echo(f"Corrections written: {report.corrections}. Each is new, or later than the stored one of its claim.")
    if not (report.counts["new"] or report.counts["replaced"]):
        if not report.corrections:
            typer.echo("Nothing was changed.")
        return
    if report.search_problem:
        typer.echo(f"Search finds the imported documents only by their words: {report.search_problem}", err=True)
        typer.echo("To find them by meaning, fix that, then run `drag-graph link`.", err=True)
    typer.echo("Link them with the other stored sources: drag-graph link")


def _print_left_out(report: "ImportReport") -> None:
    left_out = report.left_out()
    for item in left_out[:SHOWN]:
        source = f"source {item.source_id[:12]}: " if item.source_id else ""
        typer.echo(f"{report.file}:{item.line}: {source}{item.reason}", err=True)
    total = report.counts["conflict"] + report.counts["rejected"]
    if total > SHOWN:
        typer.echo(f"… and {total - SHOWN} more lines; --json lists up to 1,000.", err=True)
    if report.counts["conflict"]:
        typer.echo("Add --replace to replace the stored content.", err=True)


Format = Annotated[
    Literal["jsonl", "subgraphs", "graphml", "csv", "cypher"],
    typer.Option(
        "--format",
        help="jsonl: one line for each node and edge, to compare stores. subgraphs: what `import` reads. graphml, csv (a ZIP"
        " archive for LOAD CSV) and cypher (a script): for other programs.",
    ),
]


@options.with_settings(*options.STORE, has_json=False, to_file=True)
def export(
    graph: "options.Graph",
    format: Format = "jsonl",  # noqa: A002
    full: Annotated[
        bool, typer.Option("--full", help="Include times, costs, vectors and snapshots; not with subgraphs.")
    ] = False,
) -> None:
    """Export the whole graph.

    `jsonl` has one line for each node and edge, in canonical order: stores with equal content give equal bytes on every engine.
    `subgraphs` has one line for each source, with times, costs and vectors, but without answers and concepts.
    The other formats write a value that they do not support as text, and list it on stderr.

    Examples:
      drag-graph export --format jsonl -o graph.jsonl
      drag-graph export --format subgraphs -o graph.subgraphs
      drag-graph export --format csv -o graph.zip
    """
    if format in ("jsonl", "subgraphs"):
        number = 0
        for number, line in enumerate(graph.export(format, full=full), start=1):  # noqa: B007 - the last number is the total
            sys.stdout.write(line + "\n")
        is_empty = number <= (2 if format == "subgraphs" else 0)  # only the head and the end
    else:
        report = graph.export_graph(cast("GraphFormat", format), sys.stdout.buffer, full=full)
        for (name, how), count in sorted(report.rewritten.items()):
            typer.echo(f"{name}: {count} values as {how}", err=True)
        typer.echo(f"{report.nodes} nodes, {report.relationships} relationships", err=True)
        is_empty = not report.nodes
    if is_empty:
        typer.echo(f"Nothing is stored in namespace {graph.settings.namespace!r} of {graph.settings.store}.", err=True)
