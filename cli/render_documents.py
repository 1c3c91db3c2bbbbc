"""Print the outcome for each document: `ingest`, and `import --from`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from drag_graph.ports.run_journal import UNREAD

from . import render

if TYPE_CHECKING:
    from drag_graph.jobs.ingest_job import IngestReport

    from .service_client import JobReport

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


def print_report(report: "IngestReport | JobReport") -> None:
    """Print the outcome for each document."""
    document = report.to_dict()
    table(document["documents"], ("chunks", "evidence", "triples"))
    totals = document["totals"]
    noted = [(item["name"], note) for item in document["documents"] for note in item["notes"]]
    notes = [f"{name}: {note}" for name, note in noted if not note.startswith(UNREAD)]
    render.unread((item["notes"] for item in document["documents"]), "documents")
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
    """Print the unused lines of the file of triples."""
    for item in given["rejected"][:SHOWN_NOTES] if given else ():
        typer.echo(f"triples, line {item['line']}: {item['reason']}", err=True)
    if given and given["rejected_lines"] > SHOWN_NOTES:
        typer.echo(
            f"{given['rejected_lines'] - SHOWN_NOTES} more unusable lines in the triples file; --json lists them.", err=True
        )
    if given and given["unmatched_lines"]:
        typer.echo(f"Lines of triples about documents that are not among these files: {given['unmatched_lines']}.", err=True)


def table(documents: Sequence[Mapping[str, Any]], counts: tuple[str, ...]) -> None:
    """Print the errors and, for up to `SHOWN` documents, a row for each."""
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
