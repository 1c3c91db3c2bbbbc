"""The work of a job, one call of the application or the lines of an export, and the files that callers upload for it."""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from starlette.datastructures import UploadFile

from drag_graph.app.application import DragGraph
from drag_graph.app.run_handle import RunHandle
from drag_graph.concurrency.interruption import Interruption
from drag_graph.documents.file_loaders import KINDS, MEDIA_TYPES, is_supported
from drag_graph.files import opened, replacing
from drag_graph.jobs.runner import OnProgress, RunProgress
from drag_graph.service.errors import RequestRefused
from drag_graph.service.job_table import ServiceJob
from drag_graph.service.page_fetch import fetch_page

LONGEST_NAME = 200
"""Bytes; file systems allow 255."""
_UNSPECIFIC = {"", "application/octet-stream"}
_TEXTS = {"application/json", "application/xhtml+xml", "application/vnd.ms-excel", "application/x-ndjson"}
"""Media types that programs declare for text files, next to text/...; Windows calls CSV files an Excel type."""


def check_uploads(files: Sequence[UploadFile]) -> None:
    """Raise RequestRefused (422 or 415) for a name with a path, a repeated name, or a file that is not a document."""
    seen: set[str] = set()
    for file in files:
        name = file.filename or ""
        check_name(name)
        if name.casefold() in seen:
            raise RequestRefused(422, "NameRepeated", f"Two files have the name {name!r}.", hint="Rename one of them.")
        seen.add(name.casefold())
        declared = (file.content_type or "").partition(";")[0].strip().lower()
        if not is_supported(name) or not _fits(declared, PurePosixPath(name).suffix.lower()):
            message = f"The file {name!r} is not supported, or its media type {declared[:80]!r} does not match its extension."
            raise RequestRefused(415, "MediaTypeRefused", message, hint=f"Supported: {KINDS}.")


def check_name(name: str) -> None:
    """Raise RequestRefused (422) for a name that is empty, hidden, too long or not printable, or has a path."""
    is_plain = name.isprintable() and not set(name) & {"/", "\\", ":"} and not name.startswith(".") and name == name.strip()
    if not name or not is_plain or len(name.encode("utf-8", "replace")) > LONGEST_NAME:
        message = f"{name[:80]!r} is not a usable file name."
        raise RequestRefused(422, "NameRefused", message, hint="Send a name without a path, such as report.pdf.")


def _fits(declared: str, ending: str) -> bool:
    expected = MEDIA_TYPES.get(ending, declared)
    is_text = expected.startswith(("text/", "application/jsonl", "message/"))
    return declared in {*_UNSPECIFIC, expected} or (is_text and (declared.startswith("text/") or declared in _TEXTS))


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
    """Writes the lines of an export into a file. Like a `RunHandle`, but it works in the thread that calls `result`."""

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
