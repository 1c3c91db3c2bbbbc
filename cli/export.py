"""`drag-graph export`."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from . import options


class Format(StrEnum):
    """What an export is written as."""

    jsonl = "jsonl"


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def export(
        format: Annotated[Format, typer.Option("--format", help="The form of the export.")] = Format.jsonl,  # noqa: A002
        output: Annotated[Path | None, typer.Option("--output", "-o", help="A file; stdout without it.")] = None,
        full: Annotated[bool, typer.Option("--full", help="Keep times, latencies, costs, vectors and snapshots.")] = False,
        store: options.Store = None,
        namespace: options.Namespace = None,
        debug: options.Debug = False,
    ) -> None:
        """Write the whole graph, one JSON line a node or edge, in canonical order.

        Two stores with the same content give the same bytes, whatever engine they are.

        Example: drag-graph export --format jsonl -o graph.jsonl
        """
        from drag_graph.bootstrap import open_store
        from drag_graph.files import write_lines
        from drag_graph.steps.export import canonical_lines

        del format, debug
        settings = options.settings_of({"store": store, "namespace": namespace})
        with open_store(settings, create=False, read_only=True) as graph:
            lines = canonical_lines(graph.records(), full=full)
            if output is None:
                for line in lines:
                    sys.stdout.write(line + "\n")
            else:
                write_lines(output, lines)
