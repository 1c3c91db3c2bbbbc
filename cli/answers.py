"""`drag-graph ask | answers | audit | show`."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from . import options
from .output import Force, Output, written

if TYPE_CHECKING:
    from drag_graph.ask.ask import AnswersReport, Asked, Asker
    from drag_graph.settings import Settings

AnswerFile = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="With --no-keep: a new file for the answer and its audit.", show_default=False),
]


class AuditFormat(StrEnum):
    """What an audit is written as."""

    table = "table"
    json = "json"
    prov = "prov"
    html = "html"


class ShowFormat(StrEnum):
    """What a subgraph is shown as."""

    table = "table"
    text = "text"
    json = "json"
    html = "html"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(ask)
    app.command()(answers)
    app.command()(audit)
    app.command()(show)


def ask(
    text: options.AskedText = None,
    option: options.AskedChoices = None,
    file: options.AskedFile = None,
    query_id: options.QueryIdFlag = None,
    student: options.Student = None,
    student_base_url: options.StudentBaseUrl = None,
    mode: options.ModeFlag = None,
    line_format: options.LineFormatFlag = None,
    token_budget: options.TokenBudget = None,
    relevance: options.Relevance = None,
    explain: options.Explain = False,
    no_keep: options.NoKeep = False,
    output: AnswerFile = None,
    force: Force = False,
    embedder: options.Embedder = None,
    store: options.Store = None,
    namespace: options.Namespace = None,
    json: options.Json = False,
    verbose: options.Verbose = False,
    log_json: options.LogJson = None,
    debug: options.Debug = False,
) -> None:
    """Answer a question from what is stored, with the student, and keep the answer for the audit.

    The same question again uses its own subgraph; a new one the best lines of all subgraphs together (`--explain` says why
    each), or says that nothing relevant is stored. With `--no-keep` nothing is stored; `-o FILE` then takes the answer with all
    that its audit needs, for `drag-graph audit FILE`.

    \b
    Examples:
      drag-graph ask "Why is the sky blue?" --option Scattering --option Reflection
      drag-graph ask --file questions.jsonl --mode graph --json
    """
    from drag_graph.bootstrap import open_session
    from drag_graph.errors import ConfigurationError

    from . import render

    settings = options.settings_of(options.given(locals()), verbose=verbose)
    _one_source(text, file, query_id, option)
    if output is not None and not no_keep:
        raise ConfigurationError("-o belongs to --no-keep: an answer that is kept is in the store", hint="drag-graph audit ID")
    report = asked = None
    with open_session(settings, create=False, read_only=no_keep) as session:
        asker = session.asker(keep=not no_keep)
        with written(output, settings, force=force):
            if file is not None:
                report = _ask_file(asker, settings, file, quiet=json)
            else:
                asked = asker.ask_stored(query_id) if query_id else _ask_text(asker, text or "", option or [])
            if output is not None:
                from drag_graph.ask.answer_file import answers_text

                render.write(answers_text(one.answer for one in (report.answers if report else [asked]) if one))
    if report is None:
        given = cast("Asked", asked)
        render.answer(given, as_json=json, explain=explain)
        raise typer.Exit(0 if given.answer.text.strip() else 1)
    render.answers(report, as_json=json)
    if report.stopped:
        raise report.stopped
    raise typer.Exit(report.exit_code)


def _ask_text(asker: "Asker", text: str, choices: list[str]) -> "Asked":
    from drag_graph.errors import ConfigurationError, QueryInvalid

    try:
        return asker.ask_text(text, choices)
    except QueryInvalid as error:
        raise ConfigurationError(f"the question cannot be used: {error}", hint="Mend the question or its options.") from error


def _ask_file(asker: "Asker", settings: "Settings", file: Path, *, quiet: bool) -> "AnswersReport":
    from drag_graph.distil.loaders import read_queries

    from . import progress
    from .distill import line_count, some

    lines = some(read_queries(file, namespace=settings.namespace, domain=settings.domain), file)
    with progress.progress(line_count(file), quiet=quiet) as show_one:
        return asker.ask_all(lines, on_answer=show_one)


def answers(
    query_id: Annotated[str | None, typer.Option("--query-id", help="Only those that rest on this query.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Answers listed.")] = 50,
    json: options.Json = False,
    store: options.Store = None,
    namespace: options.Namespace = None,
    debug: options.Debug = False,
) -> None:
    """List the answers that are kept, the newest first.

    \b
    Examples:
      drag-graph answers
      drag-graph answers --query-id 9b1c --limit 5
    """
    from drag_graph.bootstrap import open_store
    from drag_graph.manage.resolve_id import full_id

    from . import render

    del debug
    settings = options.settings_of({"store": store, "namespace": namespace})
    with open_store(settings, create=False, read_only=True) as graph:
        source_id = full_id(graph, "query", query_id) if query_id else ""
        found = graph.answers(source_id, limit=limit + 1)
        where = f"{graph.location}, namespace {graph.namespace}"
    render.kept_answers(found[:limit], where, more=len(found) > limit, as_json=json)


def audit(
    answer_id: Annotated[str, typer.Argument(help="The answer's id, its beginning, its question's input id, or a file.")],
    answer: Annotated[str | None, typer.Option("--answer", help="Which answer of the file; its id, or how it begins.")] = None,
    format: Annotated[AuditFormat, typer.Option("--format", "-f", help="The form.")] = AuditFormat.table,  # noqa: A002
    output: Output = None,
    force: Force = False,
    json: options.Json = False,
    store: options.Store = None,
    namespace: options.Namespace = None,
    debug: options.Debug = False,
) -> None:
    """Walk back from an answer: shown line, edge, triples, evidence, teacher call.

    \b
    Examples:
      drag-graph audit 3f2a
      drag-graph audit 3f2a --format html -o audit.html
      drag-graph audit answers.json --answer 3f2a
    """
    from drag_graph.bootstrap import open_store, recorded_requests
    from drag_graph.report.auditing import answer_document, audit_document, seen_by_teacher

    from . import render

    del debug
    settings = options.settings_of({"store": store, "namespace": namespace})
    with written(output, settings, force=force):
        if answer is not None or Path(answer_id).is_file():
            from drag_graph.ask.answer_file import read_answer

            document = answer_document(read_answer(Path(answer_id), answer or ""))
        else:
            with open_store(settings, create=False, read_only=True) as graph:
                document = audit_document(graph, answer_id)
        with recorded_requests(settings) as sent:
            document["privacy"]["teacher_saw"] = seen_by_teacher(document["calls"], sent)
        render.audit(document, AuditFormat.json if json else format)


def show(
    query_id: Annotated[
        str | None, typer.Argument(help="The query's id, its beginning, or the input's own id; else all queries.")
    ] = None,
    format: Annotated[ShowFormat, typer.Option("--format", "-f", help="The form.")] = ShowFormat.table,  # noqa: A002
    output: Output = None,
    force: Force = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Queries listed.")] = 50,
    offset: Annotated[int, typer.Option("--offset", min=0, help="Queries passed over, the newest first.")] = 0,
    json: options.Json = False,
    store: options.Store = None,
    namespace: options.Namespace = None,
    debug: options.Debug = False,
) -> None:
    """Show a query's subgraph as table, text, JSON or a picture; without an id, list the stored queries.

    \b
    Examples:
      drag-graph show
      drag-graph show 9b1c --format html -o graph.html
    """
    from drag_graph.bootstrap import open_store
    from drag_graph.errors import ConfigurationError
    from drag_graph.manage.listing import newest_queries
    from drag_graph.manage.resolve_id import stored_subgraph

    from . import render

    del debug
    settings = options.settings_of({"store": store, "namespace": namespace})
    if query_id is None and format in {ShowFormat.text, ShowFormat.html}:
        raise ConfigurationError("without a QUERY_ID there is only the list, as table or --json", hint="drag-graph show --help")
    with written(output, settings, force=force), open_store(settings, create=False, read_only=True) as graph:
        if query_id is None:
            where = f"{graph.location}, namespace {graph.namespace}"
            found, total = newest_queries(graph, limit, offset)
            render.listing(found, where, total, as_json=json or format is ShowFormat.json)
            return
        subgraph = stored_subgraph(graph, query_id)
        render.subgraph(subgraph, ShowFormat.json if json else format)


def _one_source(text: str | None, file: Path | None, query_id: str | None, option: list[str] | None) -> None:
    from drag_graph.errors import ConfigurationError

    if sum(source is not None for source in (text, file, query_id)) != 1:
        raise ConfigurationError("give one of TEXT, --file and --query-id", hint="drag-graph ask --help")
    if option and text is None:
        raise ConfigurationError("--option belongs to a question given as TEXT", hint="drag-graph ask --help")
