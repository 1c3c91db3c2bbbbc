"""`drag-graph distill`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from drag_graph.compose.session import Session
    from drag_graph.inputs import InputLine
    from drag_graph.model import Query
    from drag_graph.ports.graph_store import Replace
    from drag_graph.ports.model_roles import Teacher
    from drag_graph.ports.run_journal import RunReport
    from drag_graph.settings import Settings


@options.with_settings(*options.DISTILLING)
def distill(
    settings: "Settings",
    file: Annotated[
        Path | None, typer.Argument(help="Questions: a JSON object a line, or CSV; - is standard input.", show_default=False)
    ] = None,
    query: Annotated[str | None, typer.Option("--query", "-q", help="One question instead of a file.")] = None,
    option: Annotated[list[str] | None, typer.Option("--option", help="An option of that question; repeat it.")] = None,
    dry_run: options.DryRun = False,
    retry_quarantined: options.RetryQuarantined = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Write anew what is stored under these very settings, too.")
    ] = False,
    add: Annotated[bool, typer.Option("--add", help="Add what this teacher says to what another one said.")] = False,
    batch: Annotated[bool, typer.Option("--batch", help="By the provider's batch API: half the price, within hours.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="With --batch: submit and leave; come back later.")] = False,
    json: options.Json = False,
) -> None:
    """Distill questions: evidence from the teacher, ranked, read into triples, stored as one graph a question.

    What is complete under the same settings is not asked again; a run that was interrupted goes on with the same command.
    What was quarantined is asked again with --retry-quarantined only. A budget is that of all runs of one command together.

    \b
    Examples:
      drag-graph distill questions.jsonl --teacher gpt-4o-mini --budget-usd 5
      drag-graph distill questions.jsonl --teacher gpt-4o-mini --batch --no-wait
      drag-graph distill -q "Why is the sky blue?" --teacher ollama/llama3.2
      drag-graph distill examples/questions.jsonl --teacher curated:examples/curated.jsonl
    """
    from drag_graph.compose.model_factories import check_teacher, make_pricing
    from drag_graph.compose.session import known_to_estimate, open_session
    from drag_graph.distill.cost_estimate import estimate

    from . import progress, render

    _check_ways(settings, batch=batch, no_wait=no_wait, replace=replace, add=add)
    lines = _input(file, query, option or [], settings)
    check_teacher(settings)
    if dry_run:
        with known_to_estimate(settings, retry_quarantined=retry_quarantined) as (known, caution):
            found = estimate(settings, lines, make_pricing(settings, batch=batch), known)
        render.estimate({**found, "caution": caution} if caution else found, as_json=json)
        return
    source = source_of(file, query)
    way: Replace = "add" if add else "always" if replace else False
    with open_session(settings) as session:
        with progress.progress(line_count(file), quiet=json) as shown:
            if batch:
                rounds = session.batch_distiller(source, wait=not no_wait, retry_quarantined=retry_quarantined)
                report = rounds.run(lines, on_result=shown, on_wait=shown.wait)
            else:
                distiller = session.distiller(source, retry_quarantined=retry_quarantined, replace=way)
                report = distiller.run(lines, on_result=shown)
        finish(report, as_json=json)


def finish(report: "RunReport", *, as_json: bool) -> None:
    """Print what became of a run, and end with its exit code."""
    from . import render_runs
    from .output import exit_with

    render_runs.run(report, as_json=as_json)
    exit_with(report)


def _check_ways(settings: "Settings", *, batch: bool, no_wait: bool, replace: bool, add: bool) -> None:
    from drag_graph.compose.model_factories import check_batches
    from drag_graph.errors import ConfigurationError

    if no_wait and not batch:
        raise ConfigurationError("--no-wait belongs to --batch", hint="drag-graph distill --help")
    if replace and add:
        raise ConfigurationError("--replace and --add exclude each other", hint="Leave one out.")
    if batch:
        if replace or add:
            raise ConfigurationError(f"{'--replace' if replace else '--add'} is not for --batch", hint="Leave one out.")
        if settings.engine == "ray":
            said = "--batch leaves the work to the provider; --engine ray has none to do"
            raise ConfigurationError(said, hint="Leave one out.")
        check_batches(settings)


def _input(file: Path | None, query: str | None, choices: list[str], settings: "Settings") -> "Iterator[InputLine]":
    from drag_graph.errors import ConfigurationError
    from drag_graph.inputs import InputLine

    if (file is None) == (query is None):
        raise ConfigurationError("give either a FILE of questions or one question with -q", hint="drag-graph distill --help")
    if file is not None:
        if choices:
            raise ConfigurationError("--option belongs to a question given with -q", hint="drag-graph distill --help")
        return questions_of(file, settings)
    return iter([InputLine(1, question_of(query or "", choices, settings))])


def question_of(text: str, choices: list[str], settings: "Settings") -> "Query":
    """Return a question that was given on the command line. Raises ConfigurationError where it is none."""
    from drag_graph.errors import ConfigurationError, QueryInvalid
    from drag_graph.inputs import make_query

    try:
        return make_query(text, choices or None, domain=settings.domain, namespace=settings.namespace)
    except QueryInvalid as error:
        raise ConfigurationError(f"the question cannot be used: {error}", hint="Mend the question or its options.") from error


def distilled(
    session: "Session", lines: "Sequence[InputLine]", source: str, *, quiet: bool, teacher: "Teacher | None" = None
) -> "RunReport":
    """Distill questions on the way to something else, and return what became of them. Raises what ended it early."""
    from . import progress

    with progress.progress(len(lines), quiet=quiet) as shown:
        report = session.distiller(source, teacher=teacher).run(iter(lines), on_result=shown)
    if report.stopped:
        raise report.stopped
    return report


def source_of(file: Path | None, query: str | None) -> str:
    """Return where the questions come from, by which runs that go on with one another's work know each other."""
    if file is None:
        return f"-q {query}"
    # A pipe has another name each time; a budget must hold for all that comes through pipes then.
    return str(file.resolve()) if file.is_file() else "a pipe"


def questions_of(file: Path, settings: "Settings") -> "Iterator[InputLine]":
    """Return the questions of a file; raise InputError where there is none."""
    from itertools import chain

    from drag_graph.errors import InputError
    from drag_graph.inputs import read_queries

    lines = read_queries(file, namespace=settings.namespace, domain=settings.domain)
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
