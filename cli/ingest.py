"""`drag-graph ingest`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options, progress, render, render_runs
from .output import STANDARD, exit_with, refuse, report_of

if TYPE_CHECKING:
    from drag_graph.app.distilling import Estimate
    from drag_graph.jobs.ingest_job import IngestReport

    from .service_client import JobReport, ServiceClient


@options.with_settings(*options.INGESTING, through_service=True)
def ingest(
    graph: "options.Graph | ServiceClient",
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
    sources = {**_sources(paths, name), "triples": triples, "sync": sync}
    if dry_run:
        render.result(graph.estimate_ingest(**sources), _print_estimate)
        return
    priced = bool(graph.settings.model_for("extractor").name)
    report: IngestReport | JobReport
    with progress.progress(priced=priced, what="documents") as meter:
        report = report_of(lambda: graph.ingest(**sources, compact=not no_compact, tags=tag, on_progress=meter.run))
    render.result(report, render_runs.ingested)
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


def _print_estimate(expected: "Estimate") -> None:
    document = expected.to_dict()
    render_runs.documents(document["documents"], ("chunks", "evidence"))
    render.estimate({**document["totals"], **document})
