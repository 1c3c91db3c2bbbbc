"""`drag-graph ask | answers | audit | show | search`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer

from . import options, progress, render, render_answers
from .output import AS_JSON, exit_with, refuse, report_of
from .service_client import ANSWER, ServiceClient

NoKeep = Annotated[bool, typer.Option("--no-keep", help="Do not store the answer. Works with read-only access to the store.")]
DISTILL_MISSING = ("--distill-missing", "--distil-missing")
DistillMissing = Annotated[
    bool, typer.Option(*DISTILL_MISSING, help="Ask the teacher first if nothing relevant is stored.", rich_help_panel="Teacher")
]
TEACHER = ("teacher", "teacher_base_url", "seed", "extractor", "budget_usd", "ledger")
"""Flags for --distill-missing; the other settings of distillation can be set in drag-graph.toml."""
AuditFormat = Annotated[Literal["table", "json", "prov", "html"], typer.Option("--format", "-f", help="Output format.")]
ShowFormat = Annotated[Literal["table", "text", "json", "html"], typer.Option("--format", "-f", help="Output format.")]


@options.with_settings("Student", "Privacy", "Store", *TEACHER, through_service=True)
def ask(
    graph: "options.Graph | ServiceClient",
    flags: dict[str, Any],
    text: Annotated[str | None, typer.Argument(help="The question.", show_default=False)] = None,
    option: Annotated[list[str] | None, typer.Option("--option", help="An answer option. Repeatable.")] = None,
    file: Annotated[Path | None, typer.Option("--file", help="A file of questions, as for `distill`; - is stdin.")] = None,
    query_id: options.QueryId = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print scores, and the lines that were left out.")] = False,
    no_keep: NoKeep = False,
    distill_missing: DistillMissing = False,
    local: Annotated[bool, typer.Option("--local", help="At a site: do not ask the cloud.", rich_help_panel="Site")] = False,
    source: options.Sources = None,
    since: options.Since = "",
    until: options.Until = "",
    tag: options.Tags = None,
    reidentify: Annotated[
        bool, typer.Option("--reidentify", help="Show the names that the privacy gate replaced.", rich_help_panel="Privacy")
    ] = False,
) -> None:
    """Answer a question from what is stored, and keep the answer for `audit`.

    A question that was distilled is answered from its own evidence. Any other question is answered from the best lines of the
    whole graph; `--explain` shows their scores. If nothing relevant is stored, the student answers a question with options
    from its own knowledge and says so, and an open question gets no answer.

    Examples:
      drag-graph ask "Why is the sky blue?" --option Scattering --option Reflection
      drag-graph ask --file questions.jsonl --mode graph --json
      drag-graph ask "What does the Orchid project cost?" --source "budget*" --since 2026
      drag-graph ask "Why is the sea salty?" --distill-missing --teacher ollama/llama3.2
    """
    refuse(
        "ask",
        {
            "Pass exactly one of TEXT, --file and --query-id.": sum(one is not None for one in (text, file, query_id)) != 1,
            "--option requires a question given as TEXT.": bool(option) and text is None,
            "--explain works for one question only.": explain and file is not None,
            "--query-id excludes --source, --since, --until and --tag.": query_id is not None
            and bool(source or since or until or tag),
        },
    )
    asking: dict[str, Any] = {"keep": not no_keep, "local": local}
    asking |= {"sources": source or [], "since": since, "until": until, "tags": tag or []}
    if isinstance(graph, ServiceClient):
        graph.refuse(ANSWER, file=file, distill_missing=distill_missing, reidentify=reidentify)
        with progress.streamed() as on_token:
            asked = graph.ask(text, option or [], query_id=query_id, explain=explain, on_token=on_token, **asking)
        _exit_with_answer(asked, flags, explain=explain)
    asking["distill_missing"] = distill_missing
    if file is not None:
        with progress.progress(priced=False, what="questions") as meter:
            answered = report_of(lambda: graph.ask_all(file, on_progress=meter.run, **asking))
        render_answers.answers(answered.reidentified() if reidentify else answered)
        exit_with(answered)
    with progress.streamed() as on_token:
        given = graph.ask(text, option or [], query_id=query_id, on_token=on_token, **asking)
    document = (given.reidentified() if reidentify else given).to_dict(explain=explain)
    _exit_with_answer(document, flags, explain=explain, not_distilled=given.not_distilled)


def _exit_with_answer(
    given: Mapping[str, Any], flags: dict[str, Any], *, explain: bool, not_distilled: Sequence[str] = ()
) -> NoReturn:
    """Print the document of one answer, and exit with code 1 if it is empty or its question could not be distilled."""
    repeated = options.repeated(flags, "store", "namespace")
    render_answers.answer(given, repeated, explain=explain, not_distilled=not_distilled)
    raise typer.Exit(0 if given["answer"].strip() and not not_distilled else 1)


@options.with_settings(*options.STORE)
def answers(
    graph: "options.Graph",
    query_id: options.QueryId = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Maximum number of answers.")] = 50,
) -> None:
    """List stored answers, newest first.

    Examples:
      drag-graph answers
      drag-graph answers --query-id 9b1c --limit 5
    """
    render_answers.stored_answers(graph.answers(query_id, limit=limit))


@options.with_settings(*options.STORE, to_file=True, through_service=True)
def audit(
    graph: "options.Graph | ServiceClient",
    answer_id: Annotated[str, typer.Argument(help="The answer's id or the beginning of it, or its question's input id.")],
    format: AuditFormat = "table",  # noqa: A002
    local: Annotated[bool, typer.Option("--local", help="At a site: do not ask other sites.", rich_help_panel="Site")] = False,
) -> None:
    """Trace an answer back: context line, edge, triples, evidence, teacher call.

    If the answer uses lines of other sites, the command requests their evidence through the cloud.

    Examples:
      drag-graph audit 3f2a
      drag-graph audit 3f2a --format html -o audit.html
    """
    render_answers.audit(graph.audit(answer_id, local=local).to_dict(), "json" if AS_JSON.get() else format)


@options.with_settings(*options.STORE, to_file=True)
def show(
    graph: "options.Graph",
    query_id: Annotated[
        str | None,
        typer.Argument(help="A query's or document's id, the beginning of it, or the input's own id. Lists all if omitted."),
    ] = None,
    format: ShowFormat = "table",  # noqa: A002
    limit: Annotated[int, typer.Option("--limit", min=1, help="Maximum number of entries in the list.")] = 50,
    offset: Annotated[int, typer.Option("--offset", min=0, help="Skip this many entries, newest first.")] = 0,
) -> int:
    """Show the subgraph of a query or document; without an id, list what is stored.

    Examples:
      drag-graph show
      drag-graph show 9b1c --format html -o graph.html
    """
    form = "json" if AS_JSON.get() else format
    if query_id is not None and form == "html":
        render.write(graph.picture([query_id]).to_html())
        return 0
    if query_id is not None:
        render_answers.subgraph(graph.show(query_id), form)
        return 0
    refuse("show", {f"--format {format} requires a QUERY_ID.": format in ("text", "html")})
    listed = graph.show(limit=limit, offset=offset)
    render_answers.listing(listed, as_json=form == "json")
    for error in listed.errors:
        typer.echo(f"Error: {error}\nHint: {error.hint}", err=True)
    return listed.errors[0].exit_code if listed.errors else 0


RERANKER = ("reranker", "reranker_base_url", "token_budget")


@options.with_settings(*RERANKER, "Privacy", "Store", through_service=True)
def search(
    graph: "options.Graph | ServiceClient",
    text: Annotated[str, typer.Argument(help="A question, or some words.", show_default=False)],
    limit: Annotated[int, typer.Option("--limit", min=1, help="Maximum number of sources.")] = 10,
    source: options.Sources = None,
    since: options.Since = "",
    until: options.Until = "",
    tag: options.Tags = None,
) -> None:
    """Search what is stored: sources, spans and edges, best first, without a student.

    A span is text of a document. Each result has its score and the lists that found it, with its rank there. Spans and edges
    fill the token budget, as for `ask`, but there is no threshold: the best are shown even if they are irrelevant.

    Examples:
      drag-graph search "lead time of the castings"
      drag-graph search "Orchid budget" --source "*.md" --since 2026-03 --limit 3
      drag-graph search "delayed deliveries" --tag suppliers --json
    """
    found = graph.search(text, limit=limit, sources=source or [], since=since, until=until, tags=tag or [])
    render.result(found, render_answers.results)
