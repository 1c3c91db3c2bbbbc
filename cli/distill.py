"""`drag-graph distill`."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from . import options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from drag_graph.inputs import InputLine
    from drag_graph.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(distill)


def distill(
    file: options.QuestionsFile = None,
    query: options.QuestionText = None,
    option: options.Choices = None,
    teacher: options.Teacher = None,
    teacher_base_url: options.TeacherBaseUrl = None,
    plan: options.PlanFlag = None,
    number_of_evidence: options.NumberOfEvidence = None,
    blind: options.Blind = None,
    extractor: options.ExtractorFlag = None,
    workers: options.Workers = None,
    engine: options.EngineFlag = None,
    ray_address: options.Address = None,
    ray_processes: options.Processes = None,
    budget_usd: options.BudgetUsd = None,
    dry_run: options.DryRun = False,
    retry_quarantined: options.RetryQuarantined = False,
    replace: options.ReplaceStored = False,
    batch: options.Batch = False,
    no_wait: options.NoWait = False,
    ledger: options.Ledger = None,
    top_k: options.TopK = None,
    ranking: options.RankingFlag = None,
    alpha: options.Alpha = None,
    rank_relations: options.RankRelations = None,
    statements: options.StatementsFlag = None,
    domain: options.DomainFlag = None,
    strategy: options.StrategyFlag = None,
    merge: options.MergeFlag = None,
    threshold: options.Threshold = None,
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
    What was quarantined is asked again with --retry-quarantined only. A budget is that of all runs of one command together.

    \b
    Examples:
      drag-graph distill questions.jsonl --teacher gpt-4o-mini --budget-usd 5
      drag-graph distill questions.jsonl --teacher gpt-4o-mini --batch --no-wait
      drag-graph distill -q "Why is the sky blue?" --teacher ollama/llama3.2
      drag-graph distill examples/questions.jsonl --teacher curated:examples/curated.jsonl
    """
    from drag_graph.bootstrap import check_teacher

    given = options.given(locals())
    settings = options.settings_of(given, verbose=verbose)
    options.check_engine(settings, given)
    _check_batch(settings, batch=batch, no_wait=no_wait, replace=replace)
    lines = _input(file, query, option or [], settings)
    check_teacher(settings)
    if dry_run:
        _estimate(settings, lines, batch=batch, retry_quarantined=retry_quarantined, as_json=json)
        return
    how = {"batch": batch, "wait": not no_wait, "retry_quarantined": retry_quarantined, "replace": replace}
    _run(settings, lines, file, query, **how, as_json=json)


def _run(
    settings: "Settings",
    lines: "Iterator[InputLine]",
    file: Path | None,
    query: str | None,
    *,
    batch: bool,
    wait: bool,
    retry_quarantined: bool,
    replace: bool,
    as_json: bool,
) -> None:
    from drag_graph.bootstrap import open_session

    from . import progress, render_runs

    source = source_of(file, query)
    with open_session(settings) as session:
        with progress.progress(line_count(file), quiet=as_json) as shown:
            if batch:
                rounds = session.batch_distiller(source, wait=wait, retry_quarantined=retry_quarantined)
                report = rounds.run(lines, on_result=shown, on_wait=shown.wait)
            else:
                report = session.distiller(source, retry_quarantined=retry_quarantined, replaces=replace).run(
                    lines, on_result=shown
                )
        render_runs.run(report, as_json=as_json)
        code = report.exit_code
    if report.stopped:
        raise report.stopped
    raise typer.Exit(code)


def _check_batch(settings: "Settings", *, batch: bool, no_wait: bool, replace: bool) -> None:
    from drag_graph.errors import ConfigurationError

    if no_wait and not batch:
        raise ConfigurationError("--no-wait belongs to --batch", hint="drag-graph distill --help")
    if batch:
        if replace:
            raise ConfigurationError("--replace is not for --batch", hint="Leave one out.")
        if settings.engine == "ray":
            raise ConfigurationError(
                "--batch leaves the work to the provider; --engine ray has none to do", hint="Leave one out."
            )
        from drag_graph.bootstrap import check_batches

        check_batches(settings)


def _estimate(
    settings: "Settings", lines: "Iterator[InputLine]", *, batch: bool, retry_quarantined: bool, as_json: bool
) -> None:
    from drag_graph.bootstrap import known_to_estimate, make_pricing
    from drag_graph.distil.estimate import estimate

    from . import render

    with known_to_estimate(settings, retry_quarantined=retry_quarantined) as (known, caution):
        found = estimate(settings, lines, make_pricing(settings, batch=batch), known)
    render.estimate({**found, "caution": caution} if caution else found, as_json=as_json)


def _input(file: Path | None, query: str | None, choices: list[str], settings: "Settings") -> "Iterator[InputLine]":
    from drag_graph.distil.loaders import read_queries
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
        hint = "Mend the question or its options."
        raise ConfigurationError(f"the question cannot be used: {error}", hint=hint) from error
    return iter([InputLine(1, query=one)])


def source_of(file: Path | None, query: str | None) -> str:
    """Return where the questions come from, by which runs that go on with one another's work know each other."""
    if file is None:
        return f"-q {query}"
    # A pipe has another name each time; a budget must hold for all that comes through pipes then.
    return str(file.resolve()) if file.is_file() else "a pipe"


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
