"""`drag-graph refresh`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options, progress, render_runs
from .output import exit_with, report_of

if TYPE_CHECKING:
    from drag_graph.app.application import DragGraph

STALE = {"expired": "expired", "failed": "failed", "corrected": "been corrected"}


@options.with_settings(*(name for name in options.DISTILLING if name != "domain"))
def refresh(
    graph: "DragGraph",
    expired: Annotated[bool, typer.Option("--expired", help="Subgraphs past their time to live.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="Subgraphs that led to a wrong answer.")] = False,
    corrected: Annotated[bool, typer.Option("--corrected", help="Subgraphs with a claim or an answer marked wrong.")] = False,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Maximum number of queries.")] = None,
    dry_run: options.DryRun = False,
    retry_quarantined: options.RetryQuarantined = False,
    json: options.Json = False,
) -> None:
    """Distill stored questions again if they have expired, led to wrong answers or were corrected.

    The teacher is asked again under the current settings. Each subgraph is replaced in one transaction; answers that rest on
    the old one keep their audit. The same command resumes an interrupted run.

    Examples:
      drag-graph refresh --expired --dry-run
      drag-graph refresh --expired --failed --teacher gpt-4o-mini --budget-usd 5
    """
    chosen: dict[str, Any] = {"expired": expired, "failed": failed, "corrected": corrected, "limit": limit}
    if dry_run:
        render_runs.due(graph.estimate_refresh(**chosen), as_json=json)
        return
    with progress.progress(quiet=json) as meter:
        report = report_of(lambda: graph.refresh(on_progress=meter.run, retry_quarantined=retry_quarantined, **chosen))
    if not json and not report.totals()["queries"] and not report.stopped:
        typer.echo(f"Nothing has {' or '.join(words for reason, words in STALE.items() if chosen[reason])}.")
        return
    render_runs.run(report, as_json=json)
    exit_with(report)
