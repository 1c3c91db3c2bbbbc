"""`drag-graph ingest`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from drag_graph.jobs.ingest_job import IngestReport
    from drag_graph.settings import Settings

SHOWN = 60
"""Documents up to which each is printed."""
_COLOURS = {"added": "green", "changed": "green", "unchanged": "default", "removed": "yellow", "failed": "red"}


@options.with_settings(*options.INGESTING)
def ingest(
    settings: "Settings",
    paths: Annotated[list[Path], typer.Argument(help="Files, and folders with all that is in them.", metavar="PATH...")],
    sync: Annotated[
        bool, typer.Option("--sync", help="Erase the stored documents of these folders whose file is gone.")
    ] = False,
    no_compact: Annotated[
        bool, typer.Option("--no-compact", help="With --sync: leave the deleted text in an embedded store's file (faster).")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be read, and calls, tokens and price; ask nobody.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Read in documents: PDF, Word, HTML, Markdown, text and e-mail, each as a graph that `ask` finds lines in.

    A file that is stored and has not changed costs nothing; of one that has, what came from it is replaced. A file that cannot
    be read is named, and the others go on. A run that was interrupted goes on with the same command.

    \b
    Examples:
      drag-graph ingest papers/ notes.md
      drag-graph ingest papers/ --sync --dry-run
      drag-graph ingest papers/ --extractor gguf:qwen2.5-1.5b-instruct-q4_k_m.gguf
      drag-graph ingest papers/ --extractor gpt-4o-mini --budget-usd 2
    """
    from drag_graph.compose.document_setup import for_documents, foreseen, make_ingester
    from drag_graph.compose.session import open_session
    from drag_graph.documents.document_files import files_in, require_complete, roots_of
    from drag_graph.errors import ConfigurationError

    from . import progress
    from .output import exit_with

    settings, roots = for_documents(settings), roots_of(paths)
    files = list(files_in(roots, settings.own_files))
    if sync:
        require_complete(files)
    if sync and not files:  # the place of a disk that is not there looks like this
        said = f"{' and '.join(map(str, paths))} holds no document"
        raise ConfigurationError(said, hint="To erase all that is stored of it: drag-graph db erase --query-id ID.")
    if dry_run:
        _print_foreseen(foreseen(settings, files, roots if sync else ()), as_json=json)
        return
    with open_session(settings) as session:
        with progress.progress(len(files), quiet=json, priced=bool(settings.teacher), what="documents") as shown:
            ingester = make_ingester(session, " ".join(map(str, roots)), compacts=not no_compact, on_result=shown)
            report = ingester.run(files, roots if sync else ())
        _print(report, as_json=json)
    exit_with(report)


def _print_foreseen(document: dict[str, Any], *, as_json: bool) -> None:
    from . import render

    if as_json:
        render.document(document)
        return
    _table(document["documents"], ("chunks", "evidence"))
    for item in document["documents"]:
        if item["error"]:
            typer.echo(f"{item['name']} {item['status']}: {item['error']}", err=True)
    totals = document["totals"]
    sizes = ("added", "changed", "unchanged", "removed", "failed", "chunks", "evidence")
    asked = ("calls", "cached_calls", "tokens_in", "tokens_out", "price_usd") if totals["calls"] else ()
    shown = {name: totals[name] for name in (*sizes, *asked)}
    if asked and not totals["price_known"]:
        shown["price_usd"] = "unknown"
    render.fields({**shown, **({"caution": document["caution"]} if "caution" in document else {})}, as_json=False)


def _print(report: "IngestReport", *, as_json: bool) -> None:
    from . import render

    document, done = report.to_dict(), report.documents
    if as_json:
        render.document(document)
        return
    _table(document["documents"], ("chunks", "evidence", "triples"))
    totals = document["totals"]
    for item in done:
        if item.error:
            typer.echo(f"{item.name} {item.status}: {item.error}", err=True)
        if item.usage.notes:
            typer.echo(f"{item.name}: {len(item.usage.notes)} done otherwise (--json lists why)", err=True)
    counts = ", ".join(f"{totals[status]} {status}" for status in (*_COLOURS, "pending") if totals[status])
    cost = f"; {totals['calls']} calls, ${totals['cost_usd']:.4f}" if totals["calls"] else ""
    render.console().print(f"{counts or 'nothing to read'}{cost}, {totals['seconds']:.1f} s")


def _table(documents: "Sequence[Mapping[str, Any]]", counts: tuple[str, ...]) -> None:
    from rich.text import Text

    from . import render

    if 0 < len(documents) <= SHOWN:
        rows = (
            (
                item["id"][: render.SHORT],
                item["name"],
                Text(item["status"], _COLOURS[item["status"]]),
                *(item[name] for name in counts),
            )
            for item in documents
        )
        render.table(("document", "name", "status", *counts), rows, wrapped="name")
