"""`drag-graph ask | answers | audit | show`."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from . import options
from .output import STANDARD, Force, written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from drag_graph.ask.ask_result import Asked
    from drag_graph.ask.asker import Asker
    from drag_graph.compose.session import Session
    from drag_graph.inputs import InputLine
    from drag_graph.settings import Settings
    from drag_graph.sites.site_asker import EdgeAsker

AnswerFile = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="With --no-keep: a new file for the answer and its audit.", show_default=False),
]
NoKeep = Annotated[
    bool, typer.Option("--no-keep", help="Write nothing, so that the store needs no right to write; -o FILE takes the audit.")
]
DistillMissing = Annotated[
    bool,
    typer.Option(
        "--distill-missing", help="Ask the teacher first where nothing relevant is stored.", rich_help_panel="Teacher"
    ),
]
TEACHER = ("teacher", "teacher_base_url", "extractor", "budget_usd", "ledger")
"""The flags of --distill-missing; all that distilling is done under can be set in drag-graph.toml."""
AuditFormat = Annotated[Literal["table", "json", "prov", "html"], typer.Option("--format", "-f", help="The form.")]
ShowFormat = Annotated[Literal["table", "text", "json", "html"], typer.Option("--format", "-f", help="The form.")]


@options.with_settings(*options.PANELS["Student"], *options.PANELS["Privacy"], *options.PANELS["Store"], *TEACHER)
def ask(
    settings: "Settings",
    text: Annotated[str | None, typer.Argument(help="The question.", show_default=False)] = None,
    option: Annotated[list[str] | None, typer.Option("--option", help="An answer option; repeat it.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="Questions, as `distill` reads them; - is standard input.")
    ] = None,
    query_id: options.QueryId = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print the prompt's lines and the options' scores.")] = False,
    no_keep: NoKeep = False,
    distill_missing: DistillMissing = False,
    local: Annotated[bool, typer.Option("--local", help="At an edge: do not ask the cloud.", rich_help_panel="Edge")] = False,
    reidentify: Annotated[
        bool, typer.Option("--reidentify", help="Show names that the privacy gate took out.", rich_help_panel="Privacy")
    ] = False,
    output: AnswerFile = None,
    force: Force = False,
    json: options.Json = False,
) -> None:
    """Answer a question from what is stored, with the student, and keep the answer for the audit.

    The same question again uses its own subgraph; a new one the best lines of all subgraphs together (`--explain` says why
    each). At an edge (`drag-graph edge init`), the cloud is asked where the local answer is not sure. Where nothing relevant is
    stored, the student answers from what it knows, and the answer says so; with
    `--distill-missing` the teacher is asked first. With `--no-keep` nothing is stored; `-o FILE` then takes the answer with all
    that its audit needs, for `drag-graph audit FILE`.

    \b
    Examples:
      drag-graph ask "Why is the sky blue?" --option Scattering --option Reflection
      drag-graph ask --file questions.jsonl --mode graph --json
      drag-graph ask "Why is the sea salty?" --distill-missing --teacher ollama/llama3.2
    """
    from drag_graph.compose.model_factories import asked_as
    from drag_graph.compose.session import open_session
    from drag_graph.inputs import InputLine

    from . import progress, render
    from .distill import question_of, questions_of

    _check(text, file, query_id, option, output=output, no_keep=no_keep, explain=explain)
    if distill_missing:
        _check_missing(settings, query_id, no_keep=no_keep)
    lines = list(questions_of(file, settings)) if file is not None else []
    query = question_of(text, option or [], settings) if text is not None else None
    at_edge = bool(settings.cloud) and not local and query_id is None
    if at_edge:  # the cloud passes questions on to other edges
        settings = settings.model_copy(update={"privacy": settings.privacy or "standard"})
    opened = open_session(settings, create=distill_missing, read_only=no_keep, asks=True)
    with opened as session, written(output, settings, force=force), ExitStack() as stack:
        asker = session.asker(keep=not no_keep)
        missing = asker.missing([InputLine(1, query)] if query else lines) if distill_missing else []
        failed = _distill(session, missing, file, text, quiet=json) if missing else 0
        asking = _at_edge(session, asker, stack) if at_edge else asker
        if file is not None:
            with progress.progress(len(lines), quiet=json) as shown:
                report = asking.ask_all(lines, on_answer=shown)
            _write(output, session, report.answers, at_hand=report.stopped is None)
            report.answers = [one.reidentified() for one in report.answers] if reidentify else report.answers
        else:
            asked = asking.ask(query) if query else asker.ask_stored(query_id or "", asked_as(settings, query_id or ""))
            _write(output, session, [asked])
            asked = asked.reidentified() if reidentify else asked
    if output not in {None, STANDARD}:
        typer.echo(f"Trace it back: drag-graph audit {output}", err=True)
    if output != STANDARD:  # there the file is, and nothing else
        render.answers(report, as_json=json) if file is not None else render.answer(asked, as_json=json, explain=explain)
    if file is not None and report.stopped:
        raise report.stopped
    code = report.exit_code if file is not None else 0 if asked.answer.text.strip() else 1
    raise typer.Exit(code or min(failed, 1))


def _at_edge(session: "Session", asker: "Asker", stack: ExitStack) -> "EdgeAsker":
    """Return the asking that goes to the cloud with what the asker is not sure of."""
    from drag_graph.compose.model_factories import make_cloud_client
    from drag_graph.sites.site_asker import EdgeAsker

    client = stack.enter_context(make_cloud_client(session.settings, session.gate))
    return EdgeAsker(asker, session.embedder, client, session.settings.candidates, session.settings.agreement)


def _write(output: Path | None, session: "Session", asked: "Sequence[Asked]", *, at_hand: bool = True) -> None:
    """Print the answers with all that their audits need, for -o; as far as the answers know it where the store is away."""
    from drag_graph.ask.answer_file import answers_text
    from drag_graph.compose.session import recorded_requests
    from drag_graph.report.audit_document import self_contained

    from . import render

    if output is None:
        return
    given = [one.answer for one in asked]
    if at_hand:
        with recorded_requests(session.settings) as sent:
            given = [self_contained(answer, session.store, sent) for answer in given]
    render.write(answers_text(given))


def _check(
    text: str | None,
    file: Path | None,
    query_id: str | None,
    option: list[str] | None,
    *,
    output: Path | None,
    no_keep: bool,
    explain: bool,
) -> None:
    from drag_graph.errors import ConfigurationError

    if sum(source is not None for source in (text, file, query_id)) != 1:
        raise ConfigurationError("give one of TEXT, --file and --query-id", hint="drag-graph ask --help")
    if option and text is None:
        raise ConfigurationError("--option belongs to a question given as TEXT", hint="drag-graph ask --help")
    if explain and file is not None:
        raise ConfigurationError(
            "--explain belongs to one question", hint="Ask it as TEXT, or by --query-id; or audit its answer."
        )
    if output is not None and not no_keep:
        hint = (
            "Add --no-keep, and `drag-graph audit FILE` reads the file; or leave -o out, and `drag-graph audit ID` the store."
        )
        raise ConfigurationError("-o belongs to --no-keep: an answer that is kept is in the store", hint=hint)


def _check_missing(settings: "Settings", query_id: str | None, *, no_keep: bool) -> None:
    from drag_graph.compose.model_factories import check_teacher
    from drag_graph.errors import ConfigurationError

    if query_id or no_keep:
        other = "--query-id" if query_id else "--no-keep"
        raise ConfigurationError(f"--distill-missing and {other} exclude each other", hint="Leave one out.")
    check_teacher(settings)


def _distill(session: "Session", lines: "Sequence[InputLine]", file: Path | None, text: str | None, *, quiet: bool) -> int:
    """Distill these questions. Those that cannot be are named, and asked without lines; return how many."""
    from .distill import distilled, source_of

    failed = [
        one for one in distilled(session, lines, source_of(file, text), quiet=quiet).results() if one.status == "quarantined"
    ]
    for one in failed:
        where = f"line {one.line}: " if file is not None else ""
        typer.echo(f"Not distilled: {where}{one.error}", err=True)
    return len(failed)


@options.with_settings(*options.STORE)
def answers(
    settings: "Settings",
    query_id: options.QueryId = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Answers listed.")] = 50,
    json: options.Json = False,
) -> None:
    """List the answers that are kept (of one query), the newest first.

    \b
    Examples:
      drag-graph answers
      drag-graph answers --query-id 9b1c --limit 5
    """
    from drag_graph.compose.model_factories import asked_as
    from drag_graph.compose.session import open_store
    from drag_graph.manage.short_ids import full_id

    from . import render

    with open_store(settings, create=False, read_only=True) as graph:
        source_id = full_id(graph, "source", query_id, asked_as=asked_as(settings, query_id)) if query_id else ""
        found = graph.answers(source_id, limit=limit + 1)
        where = f"{graph.location}, namespace {graph.namespace}"
    render.kept_answers(found[:limit], where, more=len(found) > limit, as_json=json)


@options.with_settings(*options.STORE, to_file=True)
def audit(
    settings: "Settings",
    answer_id: Annotated[str, typer.Argument(help="The answer's id, its beginning, its question's input id, or a file.")],
    answer: Annotated[str | None, typer.Option("--answer", help="Which answer of the file; its id, or how it begins.")] = None,
    format: AuditFormat = "table",  # noqa: A002
    local: Annotated[bool, typer.Option("--local", help="At an edge: do not ask other edges.", rich_help_panel="Edge")] = False,
    json: options.Json = False,
) -> None:
    """Walk back from an answer: shown line, edge, triples, evidence, teacher call.

    Where other edges of a cloud have released lines, each is asked by way of the cloud what is behind its own.

    \b
    Examples:
      drag-graph audit 3f2a
      drag-graph audit 3f2a --format html -o audit.html
      drag-graph audit answers.json --answer 3f2a
    """
    from drag_graph.ask.answer_file import read_answer
    from drag_graph.compose.model_factories import asked_as
    from drag_graph.compose.session import open_store, recorded_requests
    from drag_graph.report.audit_document import answer_document, audit_document, seen_by_teacher

    from . import render_audit

    if answer is not None or Path(answer_id).is_file():
        document = answer_document(read_answer(Path(answer_id), answer or ""))
    else:
        with open_store(settings, create=False, read_only=True) as graph:
            document = audit_document(graph, answer_id, asked_as(settings, answer_id))
    if settings.cloud and not local:
        _ask_edges(settings, document)
    if not any(seen["messages"] for seen in document["privacy"].get("teacher_saw", ())):  # else the file has it
        with recorded_requests(settings) as sent:
            document["privacy"]["teacher_saw"] = seen_by_teacher(document["calls"], sent)
    render_audit.audit(document, "json" if json else format)


def _ask_edges(settings: "Settings", document: dict[str, Any]) -> None:
    """Let the edges that lines are from say what is behind them."""
    from drag_graph.compose.model_factories import make_cloud_client
    from drag_graph.sites.remote_audit import ask_edges, lines_elsewhere

    if lines_elsewhere(document):
        with make_cloud_client(settings, None) as client:  # ids leave, and no text
            ask_edges(document, client)


@options.with_settings(*options.STORE, to_file=True)
def show(
    settings: "Settings",
    query_id: Annotated[
        str | None,
        typer.Argument(help="A query's or document's id, its beginning, or the input's own id; else all are listed."),
    ] = None,
    format: ShowFormat = "table",  # noqa: A002
    limit: Annotated[int, typer.Option("--limit", min=1, help="Queries and documents listed.")] = 50,
    offset: Annotated[int, typer.Option("--offset", min=0, help="Those passed over, the newest first.")] = 0,
    json: options.Json = False,
) -> int:
    """Show a query's or document's subgraph as table, text, JSON or a picture; without an id, list what is stored.

    \b
    Examples:
      drag-graph show
      drag-graph show 9b1c --format html -o graph.html
    """
    from drag_graph.compose.model_factories import asked_as
    from drag_graph.compose.session import open_store
    from drag_graph.errors import ConfigurationError
    from drag_graph.manage.short_ids import stored_subgraph
    from drag_graph.manage.source_listing import newest_sources

    from . import render

    if query_id is None and format in ("text", "html"):
        raise ConfigurationError("without a QUERY_ID there is only the list, as table or --json", hint="drag-graph show --help")
    with open_store(settings, create=False, read_only=True) as graph:
        if query_id is not None:
            subgraph = stored_subgraph(graph, query_id, asked_as(settings, query_id), kind="source")
            render.subgraph(subgraph, "json" if json else format)
            return 0
        where = f"{graph.location}, namespace {graph.namespace}"
        found, total, errors = newest_sources(graph, limit, offset)
        render.listing(found, where, total, as_json=json or format == "json")
    for error in errors:
        typer.echo(f"Error: {error}\nHint: {error.hint}", err=True)
    return errors[0].exit_code if errors else 0
