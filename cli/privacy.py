"""`drag-graph privacy …`: check what would be sent, reveal and find private details."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options, render

if TYPE_CHECKING:
    from drag_graph.app.privacy_group import PrivacyCheck, PrivacyScan, RevealedAnswer

app = typer.Typer(no_args_is_help=True)
Files = Annotated[list[Path] | None, typer.Argument(help="Exported files to search as well.")]


@app.command()
@options.with_settings("privacy", "namespace", "domain", "rewriter", "rewriter_base_url", to_file=True)
def check(
    graph: "options.Graph",
    file: Annotated[Path, typer.Argument(help="Questions as JSONL or CSV, - for standard input.", show_default=False)],
    why: Annotated[bool, typer.Option("--why", help="Also show what was recognised but kept, and why.")] = False,
    page: Annotated[bool, typer.Option("--page", help="Print a web page.")] = False,
) -> None:
    """Show what would be sent for each question: the outgoing text, each replacement, and what would be withheld.

    Nothing is sent or stored. The output contains the original questions.

    Examples:
      drag-graph privacy check questions.jsonl
      drag-graph privacy check questions.jsonl --privacy strict --why --page -o check.html
    """
    report = graph.privacy.check(file, why=why)
    for line in report.rejected:
        typer.echo(f"{file}:{line.number}: {line.problem}", err=True)
    render.result(report, lambda _report: render.write(report.to_html()) if page else _table(report))
    raise typer.Exit(0 if report else 1)


@app.command()
@options.with_settings(*options.STORE, "ledger")
def reveal(
    graph: "options.Graph",
    answer_id: Annotated[str, typer.Argument(help="The answer's id, its beginning, or the input's id of its question.")],
) -> None:
    """Show a stored answer with the names that the gate replaced, and list all replacements.

    Example:
      drag-graph privacy reveal 3f2a
    """
    render.result(graph.privacy.reveal(answer_id), _print_originals)


def _print_originals(answer: "RevealedAnswer") -> None:
    for original in answer.originals:
        rows = [("question", original["question"]), *((f"option {n}", text) for n, text in enumerate(original["options"], 1))]
        rows += [("answer", original["answer"]), *((f"line {line['n']}", line["text"]) for line in original["lines"])]
        render.table(("", "original"), rows, wrapped="original")
        replacements = [tuple(item.values()) for item in original["generalised"]]
        render.table(("original", "type", "detector", "replacement"), replacements, wrapped="original")
    if not answer.originals:
        render.console().print("The gate replaced nothing in this answer's question.")


@app.command()
@options.with_settings("privacy", *options.STORE, "ledger")
def scan(graph: "options.Graph", files: Files = None) -> None:
    """Search the store, its ledger and exported files for details that the gate would have replaced.

    Prints places and types, not the texts.

    Example:
      drag-graph privacy scan graph.jsonl
    """
    render.result(graph.privacy.scan(files or ()), _print_findings)


def _print_findings(report: "PrivacyScan") -> None:
    names = ("place", "name", "field", "start", "end", "type", "detector")
    render.table(names, ([item[name] for name in names] for item in report.findings), wrapped="field")
    for item in report.totals:
        render.console().print(render.escape(f"{item['place']}: {item['number']} {item['type']}"))
    if not report.findings:
        render.console().print("No private details found.")


def _table(report: "PrivacyCheck") -> None:
    from drag_graph.report.privacy_views import explained, summary

    def row(entry: Mapping[str, Any]) -> tuple[Any, ...]:
        sent = f"({entry['why']})" if entry["refused"] else _text(entry["outgoing"], entry["outgoing_options"])
        return entry["line"], _text(entry["original"], entry["options"]), sent, "\n".join(explained(entry))

    if report.queries:
        render.table(("line", "original", "outgoing", "why"), map(row, report.queries), wrapped=("original", "outgoing", "why"))
    render.console().print(f"{summary(report.totals)}.")


def _text(question: str, choices: list[str]) -> str:
    from drag_graph.model import labelled

    return "\n".join((question, *labelled(choices)))
