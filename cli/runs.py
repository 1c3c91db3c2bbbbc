"""`drag-graph runs`: what became of each run, and of each of its queries."""

from typing import Annotated

import typer

from . import options

app = typer.Typer(
    no_args_is_help=False, rich_markup_mode="rich", help="List runs, or show one: complete, pending, quarantined."
)


@app.callback(invoke_without_command=True)
def runs(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many.")] = 20,
    ledger: options.Ledger = None,
    store: options.Store = None,
    namespace: options.Namespace = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """List the last runs of `distill` and `refresh`, newest first, or show one.

    \b
    Examples:
      drag-graph runs
      drag-graph runs show 3f2a
    """
    del debug
    if context.invoked_subcommand is not None:
        _refuse_flags(ledger, store, namespace, json)
        return
    from drag_graph.bootstrap import open_ledger

    from . import render_runs

    settings = options.settings_of({"ledger": ledger, "store": store, "namespace": namespace})
    with open_ledger(settings) as opened:
        journal = opened.journal
        found = [(run, journal.state(run), counts, cost) for run, counts, cost in journal.runs(settings.namespace, limit)]
        render_runs.runs(found, as_json=json)


def _refuse_flags(*flags: object) -> None:
    """Refuse what was given before the subcommand, which has flags of its own."""
    from drag_graph.errors import ConfigurationError

    if any(flags):
        raise ConfigurationError("flags belong behind the subcommand", hint="drag-graph runs show RUN_ID --json")


@app.command()
def show(
    run_id: Annotated[str, typer.Argument(help="The run's id, or how it begins.", show_default=False)],
    status: Annotated[
        list[options.StatusName] | None, typer.Option("--status", help="Only these; repeat it.", show_default=False)
    ] = None,
    ledger: options.Ledger = None,
    store: options.Store = None,
    namespace: options.Namespace = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Show what is complete, pending, skipped and quarantined in a run, and why.

    \b
    Examples:
      drag-graph runs show 3f2a --status quarantined
      drag-graph distill questions.jsonl --retry-quarantined
    """
    from drag_graph.bootstrap import open_ledger
    from drag_graph.ports.runs import STATUSES

    from . import render_runs

    del debug
    settings = options.settings_of({"ledger": ledger, "store": store, "namespace": namespace})
    wanted = [name for name in STATUSES if not status or name in {one.value for one in status}]
    with open_ledger(settings) as opened:
        journal = opened.journal
        run = journal.run(run_id, settings.namespace)
        counts, cost = journal.summary(run.id)
        since = journal.completed_since(run.id)
        results = ((result, journal.questions(run.id, [result.line])) for result in journal.results(run.id, wanted))
        shown = ((result, found.get(result.line, "")) for result, found in results)
        render_runs.run_shown(run, journal.state(run), counts, cost, shown, since, as_json=json)


@app.command("give-up")
def give_up(
    batch_id: Annotated[str, typer.Argument(help="The batch's id at the provider.", show_default=False)],
    ledger: options.Ledger = None,
    store: options.Store = None,
    namespace: options.Namespace = None,
    debug: options.Debug = False,
) -> None:
    """Give up a batch whose replies cannot be had: it counts as paid in full, and its requests are asked again.

    Example: drag-graph runs give-up batch_67f7
    """
    from drag_graph.bootstrap import open_ledger
    from drag_graph.errors import ConfigurationError

    del debug
    settings = options.settings_of({"ledger": ledger, "store": store, "namespace": namespace})
    with open_ledger(settings) as opened:
        number = opened.give_up(batch_id)
    if not number:
        raise ConfigurationError(f"no batch {batch_id!r} is waited for", hint="Its id is in the message of the run.")
    typer.echo(f"{number} requests are asked again by the next run of the command that made the batch.")
