"""`drag-graph export`."""

import sys
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from . import options

if TYPE_CHECKING:
    from drag_graph.app.application import DragGraph
    from drag_graph.report.graph_formats import GraphFormat

Format = Annotated[
    Literal["jsonl", "subgraphs", "graphml", "csv", "cypher"],
    typer.Option(
        "--format",
        help="jsonl: one line for each node and edge, to compare stores. subgraphs: what `import` reads. graphml, csv (a ZIP"
        " archive for LOAD CSV) and cypher (a script): for other programs.",
    ),
]


@options.with_settings(*options.STORE, to_file=True)
def export(
    graph: "DragGraph",
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
