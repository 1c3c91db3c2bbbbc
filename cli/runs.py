"""`drag-graph runs`."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from drag_graph.ports.run_journal import Status

from . import options, render, render_runs
from .command_table import SUMMARIES
from .output import AS_JSON, refuse

app = typer.Typer(no_args_is_help=False, help=SUMMARIES["runs"])


@app.callback(invoke_without_command=True)
@options.with_settings("ledger", *options.STORE)
def runs(
    graph: "options.Graph",
    flags: Mapping[str, Any],
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Maximum number of runs.")] = 20,
) -> None:
    """List the last runs, or show one: complete, pending, quarantined.

    Examples:
      drag-graph runs
      drag-graph runs show 3f2a
    """
    is_list = context.invoked_subcommand is None
    refuse("runs", {"Flags must follow the subcommand.": not is_list and (AS_JSON.get() or any(flags.values()))})
    if is_list:
        render.result(graph.runs.list(limit=limit), render_runs.runs)


@app.command()
@options.with_settings("ledger", *options.STORE)
def show(
    graph: "options.Graph",
    run_id: Annotated[str, typer.Argument(help="The run's id, or the beginning of it.", show_default=False)],
    status: Annotated[
        Status | None, typer.Option("--status", help="Only queries with this status.", show_default=False)
    ] = None,
) -> None:
    """Show what became of each query of a run, and why.

    Examples:
      drag-graph runs show 3f2a --status quarantined
      drag-graph distill questions.jsonl --retry-quarantined
    """
    details = graph.runs.show(run_id, **({"statuses": [status]} if status else {}))
    render.result(details, render_runs.run_details)


@app.command("give-up")
@options.with_settings("ledger", *options.STORE, has_json=False)
def give_up(
    graph: "options.Graph", batch_id: Annotated[str, typer.Argument(help="The batch's id at the provider.", show_default=False)]
) -> None:
    """Give up a batch whose replies are lost. It counts as paid in full, and its requests are repeated.

    Example: drag-graph runs give-up batch_67f7
    """
    number = graph.runs.give_up(batch_id)
    typer.echo(f"The next run of the same command repeats {number} requests.")
