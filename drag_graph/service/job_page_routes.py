"""Pages to distil questions, and to follow jobs."""

import io
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile

from drag_graph.app.application import DragGraph
from drag_graph.errors import NotStored
from drag_graph.inputs import InputLine, queries_in
from drag_graph.report.audit_views import moment
from drag_graph.service.access import LOCAL, Caller
from drag_graph.service.asking_routes import ShortText
from drag_graph.service.errors import RequestRefused
from drag_graph.service.job_routes import DistillRequest, JobId, Queue, estimated, job_document, submit_questions
from drag_graph.service.job_table import STATES, JobKind, JobState
from drag_graph.service.listed_options import listed_options
from drag_graph.service.page_routes import HEADERS, PageEditor, PageReader, form_of, render, text_of
from drag_graph.service.service_state import state_of

LISTED, NAMED = 50, 2
"""Maximum number of jobs in the list, and of files in the title of one."""
TITLES: dict[JobKind, str] = {
    "ingest": "Add documents",
    "distill": "Ask a teacher",
    "refresh": "Ask a teacher again",
    "link": "Join sources",
    "export": "Export",
}
router = APIRouter(include_in_schema=False)


@router.get("/distill")
async def distill_page(request: Request, caller: PageEditor, question: Annotated[ShortText, Query()] = "") -> Response:
    """Show the form for questions, and what it takes to distil the one that is given."""
    return await _distill_page(request, caller, FormData({"text": question}), question.encode())


@router.post("/distill")
async def distill(request: Request, caller: PageEditor, queue: Queue) -> Response:
    """Show what distilling the questions of the form takes, or begin it if the form confirms that."""
    form = await form_of(request, max_part_size=state_of(request).limits.upload_bytes)
    file, name, content = form.get("file"), "", text_of(form, "text").encode()
    if isinstance(file, UploadFile) and file.filename:
        name, content = file.filename, await file.read()
    await form.close()
    if not text_of(form, "confirmed"):
        return await _distill_page(request, caller, form, content, name)
    lines = _lines_of(content, "", caller.graph)
    job = await submit_questions(queue, caller, _distill_request(form, lines))
    return RedirectResponse(f"/jobs/{job['id']}", 303, dict(HEADERS))


@router.get("/jobs")
async def jobs_page(
    request: Request, caller: PageReader, queue: Queue, kind: JobKind | Literal[""] = "", state: JobState | Literal[""] = ""
) -> Response:
    """List the last jobs (of one kind, in one state), newest first."""
    find = partial(queue.table.jobs, caller.graph.settings.namespace, LISTED, kind=kind or None, state=state or None)
    jobs = [_job_view(job_document(queue, job)) for job in await run_in_threadpool(find)]
    choices: dict[str, Any] = {"kinds": TITLES, "states": STATES, "kind": kind, "state": state}
    return render(request, "jobs.html", caller=caller, title="Jobs", jobs=jobs, **choices)


@router.get("/jobs/{job_id}")
async def job_page(job_id: JobId, request: Request, caller: PageReader, queue: Queue) -> Response:
    """Show how far a job is, what it has done, and what failed."""
    found = await run_in_threadpool(queue.table.job, job_id, caller.graph.settings.namespace)
    job = _job_view(job_document(queue, found))
    report = await run_in_threadpool(queue.table.report, job_id) or {}
    failures = await run_in_threadpool(_failures, caller.graph, report)
    has_file = found.kind == "export" and found.state == "done" and queue.exported_file(found) is not None
    documents = [one for one in report.get("documents", ()) if one["status"] not in ("failed", "removed")]
    values: dict[str, Any] = {"report": report, "totals": report.get("totals", {}), "documents": documents}
    values |= {"job": job, "failures": failures, "has_file": has_file}
    return render(request, "job.html", caller=caller, title=job["title"], **values)


@router.post("/jobs/{job_id}/cancel")
async def cancel_job(job_id: JobId, request: Request, caller: PageEditor, queue: Queue) -> Response:
    """Cancel a job. Completed work stays."""
    await form_of(request)
    await run_in_threadpool(queue.cancel, job_id, caller.graph.settings.namespace)
    return RedirectResponse(f"/jobs/{job_id}", 303, dict(HEADERS))


async def _distill_page(request: Request, caller: Caller, form: FormData, content: bytes, name: str = "") -> Response:
    """Return the page for questions, with an estimate if there are any."""
    teacher = caller.graph.settings.teacher
    values: dict[str, Any] = {"teacher": teacher, "text": text_of(form, "text"), "estimate": None}
    lines = _lines_of(content, name, caller.graph) if teacher and content.strip() else []
    if any(line.query for line in lines):
        values["estimate"] = await run_in_threadpool(estimated, caller, _distill_request(form, lines))
    values["rejected"] = [line for line in lines if line.query is None]
    values["questions"] = "\n".join(json.dumps(one) for one in _documents(lines))
    values["retries"] = bool(text_of(form, "retry_quarantined"))
    return render(request, "distill.html", caller=caller, title="Ask a teacher", **values)


def _lines_of(content: bytes, name: str, graph: DragGraph) -> list[InputLine]:
    """Return the questions of a file, of JSON lines, or of a text with one question a line. Raises InputError."""
    if not name and not content.lstrip().startswith(b"{"):
        texts = map(listed_options, content.decode().splitlines())
        rows = [json.dumps({"question": text, "options": options or None}) if text else "" for text, options in texts]
        content = "\n".join(rows).encode()
    settings = graph.settings
    file = Path(name or "questions.jsonl")
    return list(queries_in(io.BytesIO(content), file, namespace=settings.namespace, domain=settings.domain))


def _documents(lines: Iterable[InputLine]) -> list[dict[str, Any]]:
    return [
        {
            **one.metadata,
            "question": one.text,
            "options": list(one.options) or None,
            "answer": one.gold,
            "id": one.input_id or None,
            "domain": one.domain,
        }
        for one in (line.query for line in lines)
        if one is not None
    ]


def _distill_request(form: FormData, lines: Iterable[InputLine]) -> DistillRequest:
    """Return the body that a form stands for. Raises RequestRefused for unusable values."""
    values = {"budget_usd": text_of(form, "budget_usd") or None, "retry_quarantined": bool(text_of(form, "retry_quarantined"))}
    try:
        return DistillRequest.model_validate({"questions": _documents(lines), **values})
    except ValueError:
        hint = "Send between 1 and 10,000 questions, and a limit of at least $0."
        raise RequestRefused(422, "QuestionsRefused", "The questions or the limit are not usable.", hint=hint) from None


def _job_view(job: Mapping[str, Any]) -> dict[str, Any]:
    asked = job["request"]
    names = asked.get("files") or asked.get("paths") or [asked.get("name", asked.get("file", ""))]
    rest = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    progress = {"done": 0, "total": None, "waiting_for": "", **job["progress"]}
    done, total, cost = progress["done"], progress["total"], max(job["spent_usd"], progress.get("cost_usd", 0.0))
    counts = (f"{done:,} of {total:,}" if total else "", f"${cost:.4f}" if cost else "", progress["waiting_for"])
    return {
        **job,
        "progress": progress,
        "title": ": ".join(filter(None, (TITLES[job["kind"]], ", ".join(names[:NAMED]) + rest)))[:200],
        "counts": " · ".join(filter(None, counts)),
        "facts": moment(job["created_at"]) + (f" · {job['caller']}" if job["caller"] != LOCAL else ""),
    }


def _failures(graph: DragGraph, report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return name and reason of each document, question or line of a report that failed."""
    found = [(one["name"], one["error"]) for one in report.get("documents", ()) if one["status"] == "failed"]
    if any(one["status"] == "quarantined" for one in report.get("queries", ())):
        with suppress(NotStored):  # the ledger with the run may have been replaced
            run = graph.runs.show(report["run_id"], statuses=["quarantined"])
            found += [(one.question, one.result.error or "") for one in run.queries]
    return found + [(f"Line {one['line']}", one["reason"]) for one in report.get("rejected", ())]
