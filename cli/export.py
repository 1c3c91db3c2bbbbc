"""`drag-graph export`."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

from . import options
from .output import Force, Output, written


class Format(StrEnum):
    """What an export is written as."""

    jsonl = "jsonl"
    subgraphs = "subgraphs"


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def export(
        format: Annotated[  # noqa: A002
            Format, typer.Option("--format", help="jsonl: to compare stores; subgraphs: what `import` reads.")
        ] = Format.jsonl,
        output: Output = None,
        force: Force = False,
        full: Annotated[bool, typer.Option("--full", help="With jsonl: keep times, costs, vectors and snapshots.")] = False,
        store: options.Store = None,
        namespace: options.Namespace = None,
        debug: options.Debug = False,
    ) -> None:
        """Write the whole graph, one JSON line a node or edge in canonical order, or with --format subgraphs one a query.

        Two stores with the same content give the same bytes in canonical order, whatever engine they are. Subgraphs have all
        that hangs on their query with times, costs and vectors, but no answers and no concepts (see docs/import.md).

        \b
        Examples:
          drag-graph export --format jsonl -o graph.jsonl
          drag-graph export --format subgraphs -o graph.subgraphs.gz
        """
        from drag_graph.bootstrap import open_store
        from drag_graph.errors import ConfigurationError
        from drag_graph.manage.export import canonical_lines
        from drag_graph.manage.transfer import stored_lines

        del debug
        if full and format is Format.subgraphs:
            raise ConfigurationError("--full belongs to --format jsonl; subgraphs are always whole", hint="Leave it out.")
        settings = options.settings_of({"store": store, "namespace": namespace})
        with written(output, settings, force=force), open_store(settings, create=False, read_only=True) as graph:
            if not graph.sources(limit=1):
                typer.echo(f"No query is stored in namespace {graph.namespace!r} of {graph.location}.", err=True)
            subgraphs = format is Format.subgraphs
            for line in stored_lines(graph) if subgraphs else canonical_lines(graph.records(vectors=full), full=full):
                sys.stdout.write(line + "\n")
