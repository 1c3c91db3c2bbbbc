"""`drag-graph export`."""

import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from . import options

if TYPE_CHECKING:
    from drag_graph.app.application import DragGraph

Format = Annotated[
    Literal["jsonl", "subgraphs"],
    typer.Option("--format", help="jsonl: one line for each node and edge, to compare stores. subgraphs: what `import` reads."),
]


@options.with_settings(*options.STORE, to_file=True)
def export(
    graph: "DragGraph",
    format: Format = "jsonl",  # noqa: A002
    full: Annotated[bool, typer.Option("--full", help="With jsonl: include times, costs, vectors and snapshots.")] = False,
) -> None:
    """Export the whole graph as JSON lines.

    `jsonl` has one line for each node and edge, in canonical order: stores with equal content give equal bytes on every engine.
    `subgraphs` has one line for each source, with times, costs and vectors, but without answers and concepts (docs/import.md).

    Examples:
      drag-graph export --format jsonl -o graph.jsonl
      drag-graph export --format subgraphs -o graph.subgraphs.gz
    """
    number = 0
    for number, line in enumerate(graph.export(format, full=full), start=1):  # noqa: B007 - the last number is the total
        sys.stdout.write(line + "\n")
    if number <= (2 if format == "subgraphs" else 0):  # head and end alone
        typer.echo(f"Nothing is stored in namespace {graph.settings.namespace!r} of {graph.settings.store}.", err=True)
