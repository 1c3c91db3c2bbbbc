"""The work of a job: one call of the application, or the lines of an export."""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from drag_graph.app.application import DragGraph
from drag_graph.app.run_handle import RunHandle
from drag_graph.concurrency.interruption import Interruption
from drag_graph.files import opened, replacing
from drag_graph.jobs.runner import OnProgress, RunProgress
from drag_graph.service.job_table import ServiceJob
from drag_graph.service.page_fetch import fetch_page

EXPORTED = "export.jsonl"
QUESTIONS = "questions.jsonl"
TEXT = "text"
DOCUMENTS = "documents"
REPORTED_LINES = 1000
"""Number of lines of an export between two reports of its progress."""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """The size of an export: lines, and bytes of the file."""

    lines: int
    bytes: int

    def to_dict(self) -> dict[str, int]:
        """Return the report of the job."""
        return {"lines": self.lines, "bytes": self.bytes}


class ExportWork:
    """Writes the lines of an export into a file, in the thread that waits for the result, as a `RunHandle` does in its own."""

    def __init__(self, lines: Iterator[str], file: Path, on_progress: OnProgress) -> None:
        self._lines, self._file, self._on_progress = lines, file, on_progress
        self._interruption = Interruption()

    def cancel(self) -> None:
        """Stop before the next line."""
        self._interruption.interrupt()

    def result(self) -> ExportReport:
        """Write the file. Raises Interrupted after `cancel`."""
        number = 0
        with replacing(self._file) as file:
            for number, line in enumerate(self._lines, start=1):
                self._interruption.check()
                file.write(line + "\n")
                if number % REPORTED_LINES == 0:
                    self._on_progress(RunProgress(number))
        self._on_progress(RunProgress(number, number))
        return ExportReport(number, self._file.stat().st_size)


def start_work(
    graph: DragGraph, job: ServiceJob, folder: Path, *, budget_usd: float | None, on_progress: OnProgress
) -> RunHandle[Any] | ExportWork:
    """Start a job in its namespace, with its input in `folder`. The same call resumes a job that was stopped.

    Raises the errors that the method of the application raises before it begins.
    """
    request = dict(job.request)
    run: dict[str, Any] = {"on_progress": on_progress, "wait": False}
    paid = {"job": f"service {job.id}", **request, **run, "budget_usd": budget_usd}
    match job.kind:
        case "distill":
            return graph.distill(Path(paid.pop("file", folder / QUESTIONS)), **paid)
        case "refresh":
            return graph.refresh(**paid)
        case "link":
            return graph.link(**run)
        case "export":
            return ExportWork(graph.export(**request), folder / EXPORTED, on_progress)
        case "ingest":
            return graph.ingest(**_documents(paid, folder), **paid)


def write_questions(questions: Sequence[dict[str, Any]], folder: Path) -> None:
    """Write the input of a distillation into its folder."""
    lines = [json.dumps(question, ensure_ascii=False) for question in questions]
    (folder / QUESTIONS).write_text("\n".join(lines) + "\n", encoding="utf-8")


def copy_questions(file: Path, folder: Path) -> None:
    """Copy the input of a distillation into its folder. Raises InputError."""
    with opened(file, "Pass a JSONL or CSV file.") as source, (folder / QUESTIONS).open("wb") as target:
        shutil.copyfileobj(source, target)


def _documents(request: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the documents of a job as arguments of `ingest`, and remove their description from the request."""
    url, name, files, paths = (request.pop(one, None) for one in ("url", "name", "files", "paths"))
    if paths is not None:
        return {"paths": paths}
    if name is not None:
        return {"text": (folder / TEXT).read_text(encoding="utf-8"), "name": name}
    documents = folder / DOCUMENTS
    if url is None:
        return {"paths": documents, "addresses": {file: f"upload:{quote(file)}" for file in files}}
    page = fetch_page(url)
    documents.mkdir(exist_ok=True)
    (documents / page.name).write_bytes(page.content)
    return {"paths": documents, "addresses": {page.name: url}}
