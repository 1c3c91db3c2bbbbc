"""`drag-graph export`."""

import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from . import options

if TYPE_CHECKING:
    from drag_graph.settings import Settings

Format = Annotated[
    Literal["jsonl", "subgraphs"], typer.Option("--format", help="jsonl: to compare stores; subgraphs: what `import` reads.")
]


@options.with_settings(*options.STORE, to_file=True)
def export(
    settings: "Settings",
    format: Format = "jsonl",  # noqa: A002
    full: Annotated[bool, typer.Option("--full", help="With jsonl: keep times, costs, vectors and snapshots.")] = False,
) -> None:
    """Write the whole graph, one JSON line a node or edge in canonical order, or with --format subgraphs one a source.

    Two stores with the same content give the same bytes in canonical order, whatever engine they are. Subgraphs have all
    that hangs on their source with times, costs and vectors, but no answers and no concepts (see docs/import.md).

    \b
    Examples:
      drag-graph export --format jsonl -o graph.jsonl
      drag-graph export --format subgraphs -o graph.subgraphs.gz
    """
    from drag_graph.compose.session import open_store
    from drag_graph.errors import ConfigurationError
    from drag_graph.manage.canonical_export import canonical_lines
    from drag_graph.manage.subgraph_files import stored_lines

    if full and format == "subgraphs":
        raise ConfigurationError("--full belongs to --format jsonl; subgraphs are always whole", hint="Leave it out.")
    with open_store(settings, create=False, read_only=True) as graph:
        if not graph.sources(limit=1):
            typer.echo(f"Nothing is stored in namespace {graph.namespace!r} of {graph.location}.", err=True)
        lines = stored_lines(graph) if format == "subgraphs" else canonical_lines(graph.records(vectors=full), full=full)
        sys.stdout.writelines(line + "\n" for line in lines)
