"""`drag-graph tape`: the recorded replies as a file, and those that could not be used."""

import json as json_
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options

if TYPE_CHECKING:
    from drag_graph.settings import Settings

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", help="Export or import recorded replies; see unusable ones.")


@app.command("export")
@options.with_settings("ledger", *options.STORE, to_file=True)
def export_(settings: "Settings") -> None:
    """Write the teacher's replies, a line of JSON each; `--teacher tape:FILE` replays the file offline.

    Example: drag-graph tape export --output teacher.tape
    """
    from drag_graph.compose.session import open_ledger

    with open_ledger(settings, read_only=True) as opened:
        sys.stdout.writelines(f"{line}\n" for line in opened.export_tape())


@app.command("import")
@options.with_settings("ledger", *options.STORE)
def import_(
    settings: "Settings",
    file: Annotated[Path, typer.Argument(help="What `tape export` wrote.", exists=True, dir_okay=False, show_default=False)],
) -> None:
    """Add the replies of a file to those that are recorded: what it answers is not paid for again.

    Example: drag-graph tape import teacher.tape
    """
    from drag_graph.ledger import Ledger

    with Ledger(settings.ledger_path) as opened:
        typer.echo(f"{opened.import_tape(file)} new replies in {settings.ledger_path}", err=True)


@app.command()
@options.with_settings("ledger", *options.STORE)
def quarantined(
    settings: "Settings", query_id: Annotated[str, typer.Argument(help="Only those about this query.")] = ""
) -> None:
    """Print the replies that could not be used, a line of JSON each: the model's last words and what is wrong with them.

    Example: drag-graph tape quarantined
    """
    from drag_graph.compose.session import open_ledger

    with open_ledger(settings, read_only=True) as opened:
        for entry in opened.tape.quarantined(query_id):
            typer.echo(json_.dumps(entry))
