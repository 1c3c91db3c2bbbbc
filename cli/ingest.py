"""`drag-graph ingest`."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from drag_graph.ports.run_journal import UNREAD

from . import options, progress, render
from .output import STANDARD, exit_with, refuse, report_of

if TYPE_CHECKING:
    from drag_graph.app.application import DragGraph
    from drag_graph.jobs.ingest_job import IngestReport

SHOWN = 60
"""Maximum number of documents that are listed one by one."""
SHOWN_NOTES = 10
"""Maximum number of notes that are printed."""
_COLOURS = {
    "added": "green",
    "changed": "green",
    "renamed": "green",
    "unchanged": "default",
    "removed": "yellow",
    "failed": "red",
}


@options.with_settings(*options.INGESTING)
def ingest(
    graph: "DragGraph",
    paths: Annotated[list[Path], typer.Argument(help="Files and folders; - is standard input.", metavar="PATH")],
    name: Annotated[str | None, typer.Option("--name", help="With -: the name of the document.")] = None,
    sync: Annotated[bool, typer.Option("--sync", help="Erase stored documents of these folders whose file is gone.")] = False,
    no_compact: Annotated[
        bool, typer.Option("--no-compact", help="Skip compaction: faster, but deleted text remains in the file.")
    ] = False,
    triples: Annotated[
        Path | None, typer.Option("--triples", help="JSONL file of triples to use instead of extracting them.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="Tag all documents of this command. Repeatable; '' removes tags.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be read, calls, tokens and price.")] = False,
    json: options.Json = False,
) -> None:
    """Read documents and store each as a graph.

    PDF, Word, PowerPoint, Excel, HTML, Markdown, text, CSV, JSON lines and e-mail are supported. Unchanged files are skipped,
    and changed files replace what was stored. A file that cannot be read is reported, and the others are read. The same command
    resumes an interrupted run.

    Examples:
      drag-graph ingest papers/ notes.md
      drag-graph ingest papers/ --sync --dry-run
      drag-graph ingest papers/ --extractor gpt-4o-mini --budget-usd 2
      pdftotext report.pdf - | drag-graph ingest - --name report
    """
    sources = {**_sources(paths, name), "triples": triples}
    if dry_run:
        _print_estimate(graph.estimate_ingest(**sources, sync=sync).to_dict(), as_json=json)
        return
    with progress.progress(quiet=json, priced=bool(graph.settings.model_for("extractor").name), what="documents") as meter:
        report = report_of(lambda: graph.ingest(**sources, sync=sync, compact=not no_compact, tags=tag, on_progress=meter.run))
    print_report(report, as_json=json)
    exit_with(report)


def _sources(paths: list[Path], name: str | None) -> dict[str, Any]:
    """Return the documents as arguments of the application."""
    is_text = paths == [STANDARD]
    refuse(
        "ingest",
        {
            "--name requires - as the only PATH.": name is not None and not is_text,
            "A document from standard input requires a name: drag-graph ingest - --name NAME.": is_text and not name,
        },
    )
    if not is_text:
        return {"paths": paths}
    return {"text": sys.stdin.buffer.read().decode("utf-8", "replace"), "name": name}


def _print_estimate(document: dict[str, Any], *, as_json: bool) -> None:

    if as_json:
        render.document(document)
        return
    _table(document["documents"], ("chunks", "evidence"))
    render.estimate({**document["totals"], **document}, as_json=False)


def print_report(report: "IngestReport", *, as_json: bool) -> None:
    """Print what became of each document."""
    document = report.to_dict()
    if as_json:
        render.document(document)
        return
    _table(document["documents"], ("chunks", "evidence", "triples"))
    totals = document["totals"]
    notes = [f"{item.name}: {note}" for item in report.documents for note in item.usage.notes if not note.startswith(UNREAD)]
    render.unread((item.usage.notes for item in report.documents), "documents")
    for note in notes[:SHOWN_NOTES]:
        typer.echo(note, err=True)
    if len(notes) > SHOWN_NOTES:
        typer.echo(f"{len(notes) - SHOWN_NOTES} more notes; --json prints all of them.", err=True)
    _print_given(document.get("given_triples"))
    for what, number in document.get("left_out", {}).items():
        if number:
            typer.echo(f"Left out: {what} ({number}).", err=True)
    counts = ", ".join(f"{totals[status]} {status}" for status in (*_COLOURS, "pending") if totals[status])
    cost = f"; {totals['calls']} calls, ${totals['cost_usd']:.4f}" if totals["calls"] else ""
    render.console().print(f"{counts or 'no documents'}{cost}, {totals['seconds']:.1f} s")


def _print_given(given: Mapping[str, Any] | None) -> None:
    """Print the lines of the file of triples that were not used."""
    for item in given["rejected"][:SHOWN_NOTES] if given else ():
        typer.echo(f"triples, line {item['line']}: {item['reason']}", err=True)
    if given and given["rejected_lines"] > SHOWN_NOTES:
        typer.echo(
            f"{given['rejected_lines'] - SHOWN_NOTES} more unusable lines in the triples file; --json lists them.", err=True
        )
    if given and given["unmatched_lines"]:
        typer.echo(f"Lines of triples about documents that are not among these files: {given['unmatched_lines']}.", err=True)


def _table(documents: Sequence[Mapping[str, Any]], counts: tuple[str, ...]) -> None:
    from rich.text import Text

    if 0 < len(documents) <= SHOWN:
        rows = (
            (
                item["id"][: render.SHORT],
                item["name"],
                Text(item["status"], _COLOURS[item["status"]]),
                *("-" if item[name] is None else item[name] for name in counts),
            )
            for item in documents
        )
        render.table(("document", "name", "status", *counts), rows, wrapped="name")
    for item in documents:
        if item["error"]:
            typer.echo(f"{item['name']} {item['status']}: {item['error']}", err=True)
