"""`drag-graph runs`: what became of each run, and of each of its queries."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from drag_graph.ports.run_journal import STATUSES, Status

from . import options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from drag_graph.settings import Settings

app = typer.Typer(
    no_args_is_help=False, rich_markup_mode="rich", help="List runs, or show one: complete, pending, quarantined."
)


@app.callback(invoke_without_command=True)
@options.with_settings("ledger", *options.STORE)
def runs(
    settings: "Settings",
    flags: "Mapping[str, Any]",
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many.")] = 20,
    json: options.Json = False,
) -> None:
    """List the last runs of `distill` and `refresh`, newest first, or show one.

    \b
    Examples:
      drag-graph runs
      drag-graph runs show 3f2a
    """
    from drag_graph.compose.session import open_ledger
    from drag_graph.errors import ConfigurationError

    from . import render_runs

    if context.invoked_subcommand is not None:
        if json or any(flags.values()):
            raise ConfigurationError("flags belong behind the subcommand", hint="drag-graph runs show RUN_ID --json")
        return
    with open_ledger(settings, read_only=True) as opened:
        journal = opened.journal
        found = [(run, journal.state(run), counts, cost) for run, counts, cost in journal.runs(settings.namespace, limit)]
        render_runs.runs(found, as_json=json)


@app.command()
@options.with_settings("ledger", *options.STORE)
def show(
    settings: "Settings",
    run_id: Annotated[str, typer.Argument(help="The run's id, or how it begins.", show_default=False)],
    status: Annotated[Status | None, typer.Option("--status", help="Only these.", show_default=False)] = None,
    json: options.Json = False,
) -> None:
    """Show what is complete, pending, skipped and quarantined in a run, and why.

    \b
    Examples:
      drag-graph runs show 3f2a --status quarantined
      drag-graph distill questions.jsonl --retry-quarantined
    """
    from drag_graph.compose.session import open_ledger

    from . import render_runs

    with open_ledger(settings, read_only=True) as opened:
        journal = opened.journal
        run = journal.run(run_id, settings.namespace)
        counts, cost = journal.summary(run.id)
        results = journal.results(run.id, [status] if status else STATUSES)
        shown = ((result, journal.questions(run.id, [result.line]).get(result.line, "")) for result in results)
        since = journal.completed_since(run.id)
        render_runs.run_shown(run, journal.state(run), counts, cost, shown, since, as_json=json)


@app.command("give-up")
@options.with_settings("ledger", *options.STORE)
def give_up(
    settings: "Settings",
    batch_id: Annotated[str, typer.Argument(help="The batch's id at the provider.", show_default=False)],
) -> None:
    """Give up a batch whose replies cannot be had: it counts as paid in full, and its requests are asked again.

    Example: drag-graph runs give-up batch_67f7
    """
    from drag_graph.compose.session import open_ledger
    from drag_graph.errors import NotStored

    with open_ledger(settings) as opened:
        number = opened.give_up(batch_id)
    if not number:
        raise NotStored(f"no batch {batch_id!r} is waited for", hint="The run that waits for it names its id.")
    typer.echo(f"{number} requests are asked again by the next run of the command that made the batch.")
