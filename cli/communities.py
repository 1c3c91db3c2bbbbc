"""`drag-graph communities`."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from . import options, progress, render
from .output import exit_with, refuse, report_of

if TYPE_CHECKING:
    from drag_graph.app.application import DragGraph
    from drag_graph.app.linking import Communities, CommunityMatches
    from drag_graph.jobs.community_job import CommunityReport

FIRST_WORDS = 160
"""Maximum length of a summary in a table, in characters."""
Format = Annotated[Literal["table", "json", "html"], typer.Option("--format", help="Output format; html is a picture.")]


@options.with_settings(
    *options.PANELS["Communities"], "workers", "budget_usd", "ledger", "privacy", "embedder", *options.STORE, to_file=True
)
def communities(
    graph: "DragGraph",
    show: Annotated[bool, typer.Option("--show", help="Print the stored communities.")] = False,
    find: Annotated[str, typer.Option("--find", help="Print the communities nearest to a text.", metavar="TEXT")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the number of communities, calls and price.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Maximum number of communities to print.")] = 20,
    form: Format = "table",
    json: options.Json = False,
) -> None:
    """Group what is connected and summarise each group.

    The Leiden algorithm finds the groups; small ones are merged into a neighbour. Run the command after `link`: unchanged
    communities keep their id and summary. Rules write the summaries, or a model that receives the strongest edges. The same
    command resumes an interrupted run.

    Examples:
      drag-graph communities
      drag-graph communities --summariser ollama/llama3.2 --budget-usd 1
      drag-graph communities --show --format html -o communities.html
      drag-graph communities --find "What is sold by pharmacies?"
    """
    form = "json" if json else form
    refuse("communities", {"Pass only one of --show, --find and --dry-run.": show + bool(find.strip()) + dry_run > 1})
    if find.strip():
        _print_matches(graph.find_communities(find, limit=limit), form)
    elif dry_run:
        render.estimate(graph.estimate_communities().to_dict(), as_json=form == "json")
    elif show:
        _print(graph, limit, form)
    else:
        with progress.progress(quiet=form != "table", what="communities") as meter:
            report = report_of(lambda: graph.communities(on_progress=meter.run))
        _print(graph, limit, form, report)
        exit_with(report)


def _print(graph: "DragGraph", limit: int, form: str, report: "CommunityReport | None" = None) -> None:
    """Print the stored communities, and the numbers of the run."""
    if form == "html":
        render.write(graph.community_picture(limit=limit).to_html())
        return
    stored = graph.stored_communities(report)
    if form == "json":
        render.document(stored.to_dict())
        return
    if stored.communities:
        _print_table(stored, limit)
    else:
        typer.echo("There are no communities, because no edge is stored." if report else "No communities are stored.")
    if report:
        _print_totals(report)


def _print_table(stored: "Communities", limit: int) -> None:
    rows = (
        (
            item.id[: render.SHORT],
            item.name,
            item.things,
            item.edges,
            item.sources,
            render.shorten(item.summary, FIRST_WORDS) if item.summary else "(not summarised yet)",
        )
        for item in stored.communities[:limit]
    )
    columns = ("id", "name", "things", "edges", "sources", "summary")
    render.table(columns, rows, wrapped=("name", "summary"), title=f"Communities: {len(stored.communities)}")


def _print_totals(report: "CommunityReport") -> None:

    for note in report.usage.notes:
        typer.echo(note, err=True)
    usage = report.usage
    calls = f"{usage.calls - usage.cached_calls} calls"
    calls += f" and {usage.cached_calls} replies from the tape" if usage.cached_calls else ""
    unchanged = len(report.communities) - report.summarised - report.left_open
    counts = f"{report.made} new, {report.gone} removed, {report.summarised} summarised, {unchanged} unchanged"
    counts += f", {report.left_open} left to the next run" if report.left_open else ""
    render.console().print(f"{counts}; {calls}, ${usage.cost_usd:.4f}")


def _print_matches(found: "CommunityMatches", form: str) -> None:

    if form == "json":
        render.document(found.to_dict())
    elif found.matches:
        rows = ((hit.id[: render.SHORT], f"{hit.score:.3f}", hit.name, hit.summary) for hit in found.matches)
        render.table(("id", "similarity", "name", "summary"), rows, wrapped=("name", "summary"))
    else:
        typer.echo("No community has a summary. Run `drag-graph communities` first.")
