"""`drag-graph tape`: the recorded replies as a file, and those that could not be used."""

import json as json_
import sys
from pathlib import Path
from typing import Annotated

import typer

from . import options
from .output import Force, Output, written

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", help="Export or import recorded replies; see unusable ones.")


@app.command("export")
def export_(
    output: Output = None,
    force: Force = False,
    ledger: options.Ledger = None,
    store: options.Store = None,
    debug: options.Debug = False,
) -> None:
    """Write the teacher's replies, a line of JSON each; `--teacher tape:FILE` replays the file offline.

    Example: drag-graph tape export --output teacher.tape
    """
    from drag_graph.bootstrap import open_ledger

    del debug
    settings = options.settings_of({"ledger": ledger, "store": store})
    with open_ledger(settings) as opened, written(output, settings, force=force):
        for line in opened.export_tape():
            sys.stdout.write(f"{line}\n")


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="What `tape export` wrote.", exists=True, dir_okay=False, show_default=False)],
    ledger: options.Ledger = None,
    store: options.Store = None,
    debug: options.Debug = False,
) -> None:
    """Add the replies of a file to those that are recorded: what it answers is not paid for again.

    Example: drag-graph tape import teacher.tape
    """
    from drag_graph.ledger import Ledger

    del debug
    settings = options.settings_of({"ledger": ledger, "store": store})
    with Ledger(settings.ledger_path) as opened:
        typer.echo(f"{opened.import_tape(file)} new replies in {settings.ledger_path}", err=True)


@app.command()
def quarantined(
    query_id: Annotated[str, typer.Argument(help="Only those about this query.")] = "",
    ledger: options.Ledger = None,
    store: options.Store = None,
    debug: options.Debug = False,
) -> None:
    """Print the replies that could not be used, a line of JSON each: the model's last words and what is wrong with them.

    Example: drag-graph tape quarantined
    """
    from drag_graph.bootstrap import open_ledger

    del debug
    with open_ledger(options.settings_of({"ledger": ledger, "store": store})) as opened:
        for entry in opened.tape.quarantined(query_id):
            typer.echo(json_.dumps(entry))
