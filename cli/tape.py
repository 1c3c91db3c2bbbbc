"""`drag-graph tape …`: recorded teacher replies."""

import json as json_
import sys
from pathlib import Path
from typing import Annotated

import typer

from . import options

app = typer.Typer(no_args_is_help=True)


@app.command("export")
@options.with_settings("ledger", *options.STORE, has_json=False, to_file=True)
def export_(graph: "options.Graph") -> None:
    """Write the teacher's replies as JSON lines. `--teacher tape:FILE` replays the file offline.

    Example: drag-graph tape export --output teacher.tape
    """
    sys.stdout.writelines(f"{line}\n" for line in graph.tape.export())


@app.command("import")
@options.with_settings("ledger", *options.STORE, has_json=False)
def import_(
    graph: "options.Graph",
    file: Annotated[Path, typer.Argument(help="A file of `tape export`.", exists=True, dir_okay=False, show_default=False)],
) -> None:
    """Add the replies of a file to the ledger. Distilling then reuses them at no cost.

    Example: drag-graph tape import teacher.tape
    """
    result = graph.tape.import_(file)
    typer.echo(f"Added {result.new} new replies to {result.ledger}.", err=True)


@app.command()
@options.with_settings("ledger", *options.STORE, has_json=False)
def quarantined(
    graph: "options.Graph", query_id: Annotated[str, typer.Argument(help="Only replies about this query.")] = ""
) -> None:
    """Print the unusable replies as JSON lines: the error and the model's last text.

    Example: drag-graph tape quarantined
    """
    for entry in graph.tape.quarantined(query_id):
        typer.echo(json_.dumps(entry))
