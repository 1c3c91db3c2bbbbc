"""`drag-graph distill | refresh`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options, progress, render, render_runs
from .output import AS_JSON, exit_with, refuse, report_of

if TYPE_CHECKING:
    from drag_graph.app.questions import Questions
    from drag_graph.jobs.distill_job import RunReport
    from drag_graph.settings import Settings

    from .service_client import JobReport, ServiceClient


@options.with_settings(*options.DISTILLING, through_service=True)
def distill(
    graph: "options.Graph | ServiceClient",
    file: Annotated[
        Path | None, typer.Argument(help="Questions: JSON Lines or CSV; - is standard input.", show_default=False)
    ] = None,
    query: Annotated[str | None, typer.Option("--query", "-q", help="One question instead of a file.")] = None,
    option: Annotated[list[str] | None, typer.Option("--option", help="An answer option of that question. Repeatable.")] = None,
    dry_run: options.DryRun = False,
    retry_quarantined: options.RetryQuarantined = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Distill again even if the same settings have already been used.")
    ] = False,
    add: Annotated[bool, typer.Option("--add", help="Add this teacher's evidence to existing subgraphs.")] = False,
    batch: Annotated[bool, typer.Option("--batch", help="Use the provider's batch API: half the price, within hours.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="With --batch: submit the requests and end.")] = False,
) -> None:
    """Ask the teacher about questions and store its evidence as graphs.

    The teacher writes evidence; drag-graph ranks it and extracts triples. Each question becomes one graph. Completed questions
    are not asked again, so the same command resumes an interrupted run. The budget covers all runs on the same input.

    The keys of a JSON line, and the columns of a CSV file, are id, question, options, answer and domain. CSV options are a JSON
    list, separated by |, or in columns A, B, ... An answer is an index (the first is 0), a letter, or a text.

    Examples:
      drag-graph distill questions.jsonl --teacher gpt-4o-mini --budget-usd 5
      drag-graph distill questions.jsonl --teacher gpt-4o-mini --batch --no-wait
      drag-graph distill -q "Why is the sky blue?" --teacher ollama/llama3.2
      drag-graph distill examples/questions.jsonl --teacher curated:examples/curated.jsonl
    """
    questions = _questions(file, query, option or [], graph.settings)
    if dry_run:
        expected = graph.estimate_distill(questions, retry_quarantined=retry_quarantined, batch=batch)
        render.estimate(expected.to_dict())
        return
    ways: dict[str, Any] = {"replace": replace, "add": add, "batch": batch, "leave": no_wait}
    ways["retry_quarantined"] = retry_quarantined
    report: RunReport | JobReport
    with progress.progress() as meter:
        report = report_of(lambda: graph.distill(questions, on_progress=meter.run, **ways))
    render.result(report, render_runs.run)
    exit_with(report)


def _questions(file: Path | None, query: str | None, choices: list[str], settings: "Settings") -> "Questions":
    from drag_graph.app.questions import one_question

    refuse(
        "distill",
        {
            "Pass either a FILE of questions or one question with -q.": (file is None) == (query is None),
            "--option requires a question given with -q.": bool(choices) and query is None,
        },
    )
    return file or [one_question(query or "", choices, settings)]


STALE = {"expired": "expired", "failed": "failed", "corrected": "been corrected"}


@options.with_settings(*(name for name in options.DISTILLING if name != "domain"))
def refresh(
    graph: "options.Graph",
    expired: Annotated[bool, typer.Option("--expired", help="Subgraphs past their time to live.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="Subgraphs that led to a wrong answer.")] = False,
    corrected: Annotated[bool, typer.Option("--corrected", help="Subgraphs with a claim or an answer marked wrong.")] = False,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Maximum number of queries.")] = None,
    dry_run: options.DryRun = False,
    retry_quarantined: options.RetryQuarantined = False,
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
        render.result(graph.estimate_refresh(**chosen), render_runs.due)
        return
    with progress.progress() as meter:
        report = report_of(lambda: graph.refresh(on_progress=meter.run, retry_quarantined=retry_quarantined, **chosen))
    if not AS_JSON.get() and not report.totals()["queries"] and not report.stopped:
        typer.echo(f"Nothing has {' or '.join(words for reason, words in STALE.items() if chosen[reason])}.")
        return
    render.result(report, render_runs.run)
    exit_with(report)
