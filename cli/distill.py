"""`drag-graph distill`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from drag_graph.inputs import InputLine
    from drag_graph.settings import Settings

TEACHER_PANEL = "Teacher"
GRAPH_PANEL = "Graph"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(distill)


def distill(
    file: Annotated[Path | None, typer.Argument(help="Questions, one JSON object a line.", show_default=False)] = None,
    query: Annotated[str | None, typer.Option("--query", "-q", help="One question instead of a file.")] = None,
    option: Annotated[list[str] | None, typer.Option("--option", help="An option of that question; repeat it.")] = None,
    teacher: Annotated[
        str | None,
        typer.Option("--teacher", help="A LiteLLM model, curated:FILE or tape:FILE.", rich_help_panel=TEACHER_PANEL),
    ] = None,
    teacher_base_url: Annotated[
        str | None,
        typer.Option("--teacher-base-url", help="An OpenAI-compatible server.", rich_help_panel=TEACHER_PANEL),
    ] = None,
    plan: Annotated[
        options.Plan | None,
        typer.Option("--plan", help="lean: 3 calls a query; paper: step by step.", rich_help_panel=TEACHER_PANEL),
    ] = None,
    number: Annotated[
        int | None, typer.Option("--number-of-evidence", "-n", min=1, help="Evidence asked for.", rich_help_panel=TEACHER_PANEL)
    ] = None,
    blind: Annotated[
        bool | None, typer.Option("--blind", help="Do not show the options to the teacher.", rich_help_panel=TEACHER_PANEL)
    ] = None,
    extractor: Annotated[
        options.Extractor | None, typer.Option("--extractor", help="Who reads the triples.", rich_help_panel=TEACHER_PANEL)
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Queries at once.", rich_help_panel=TEACHER_PANEL)
    ] = None,
    budget_usd: Annotated[
        float | None, typer.Option("--budget-usd", min=0, help="Never spend more.", rich_help_panel=TEACHER_PANEL)
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print calls, tokens and price; ask nobody.", rich_help_panel=TEACHER_PANEL)
    ] = False,
    tape: Annotated[str | None, typer.Option("--tape", help="The teacher tape's file.", rich_help_panel=TEACHER_PANEL)] = None,
    top_k: Annotated[
        int | None,
        typer.Option("--top-k", "-k", min=1, help="Evidence (at least 3) and edges kept.", rich_help_panel=GRAPH_PANEL),
    ] = None,
    domain: Annotated[
        options.Domain | None, typer.Option("--domain", help="For lines that name none.", rich_help_panel=GRAPH_PANEL)
    ] = None,
    strategy: Annotated[
        options.Strategy | None, typer.Option("--strategy", help="What parallel edges merge by.", rich_help_panel=GRAPH_PANEL)
    ] = None,
    merge: Annotated[
        options.Merge | None, typer.Option("--merge", help="How confidences merge.", rich_help_panel=GRAPH_PANEL)
    ] = None,
    threshold: Annotated[
        float | None, typer.Option("--threshold", min=0, max=1, help="Prune edges below it.", rich_help_panel=GRAPH_PANEL)
    ] = None,
    embedder: options.Embedder = None,
    store: options.Store = None,
    namespace: options.Namespace = None,
    json: options.Json = False,
    verbose: options.Verbose = False,
    log_json: options.LogJson = None,
    debug: options.Debug = False,
) -> None:
    """Distil questions: evidence from the teacher, ranked, read into triples, stored as one graph a question.

    What is complete under the same settings is not asked again; a run that was interrupted goes on with the same command.

    \b
    Examples:
      drag-graph distill questions.jsonl --teacher gpt-4o-mini --budget-usd 5
      drag-graph distill -q "Why is the sky blue?" --teacher ollama/llama3.2
      drag-graph distill examples/questions.jsonl --teacher curated:examples/curated.jsonl
    """
    from drag_graph.bootstrap import open_session

    from . import render

    del debug
    flags = {
        "teacher": teacher,
        "teacher_base_url": teacher_base_url,
        "plan": plan,
        "number_of_evidence": number,
        "blind": blind,
        "extractor": extractor,
        "workers": workers,
        "budget_usd": budget_usd,
        "tape": tape,
        "top_k": top_k,
        "domain": domain,
        "strategy": strategy,
        "merge": merge,
        "threshold": threshold,
        "embedder": embedder,
        "store": store,
        "namespace": namespace,
        "log_json": log_json,
    }
    settings = options.settings_of(flags, verbose=verbose)
    lines = _input(file, query, option or [], settings)
    if dry_run:
        from drag_graph.bootstrap import make_pricing
        from drag_graph.estimate import estimate

        render.estimate(estimate(settings, lines, make_pricing(settings)), as_json=json)
        return
    with open_session(settings) as session, render.progress(line_count(file), quiet=json) as show:
        report = session.distiller().run(lines, on_result=show)
    render.run(report, as_json=json)
    if report.stopped:
        raise report.stopped
    raise typer.Exit(report.exit_code)


def _input(file: Path | None, query: str | None, choices: list[str], settings: "Settings") -> "Iterator[InputLine]":
    from drag_graph.adapters.loaders import read_queries
    from drag_graph.errors import ConfigurationError, QueryInvalid
    from drag_graph.inputs import InputLine, make_query

    if (file is None) == (query is None):
        raise ConfigurationError("give either a FILE of questions or one question with -q", hint="drag-graph distill --help")
    if file is not None:
        if choices:
            raise ConfigurationError("--option belongs to a question given with -q", hint="drag-graph distill --help")
        return some(read_queries(file, namespace=settings.namespace, domain=settings.domain), file)
    try:
        one = make_query(query, choices or None, domain=settings.domain, namespace=settings.namespace)
    except QueryInvalid as error:
        raise ConfigurationError(f"the question cannot be used: {error}", hint="Give a question of plain text.") from error
    return iter([InputLine(1, query=one)])


def some(lines: "Iterator[InputLine]", file: Path) -> "Iterator[InputLine]":
    """Return the lines as they are; raise InputError when there is none."""
    from itertools import chain

    from drag_graph.errors import InputError

    first = next(lines, None)
    if first is None:
        raise InputError(f"{file} holds no question", hint='Give one JSON object a line, with a key "question".')
    return chain([first], lines)


def line_count(file: Path | None) -> int | None:
    """Count the lines of a regular file, for the progress bar's total; None where that is not known."""
    if file is None:
        return 1
    if not file.is_file():
        return None
    with file.open("rb") as stream:
        return sum(1 for line in stream if line.strip())
