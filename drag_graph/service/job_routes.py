"""Routes for jobs: submit, list, follow, cancel, and get the result."""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.responses import FileResponse, JSONResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile

from drag_graph.errors import DragGraphError
from drag_graph.model import Domain, Merge, Strategy
from drag_graph.ports.setting_types import Fraction, PositiveInt
from drag_graph.service.access import Caller, require_owner
from drag_graph.service.answer_stream import EVENT_STREAM, SILENCE, event, event_stream
from drag_graph.service.asking_routes import Editor, Limit, LongText, Reader, RequestBody, ShortText
from drag_graph.service.errors import REPLIES, RequestRefused, first_problem
from drag_graph.service.job_table import JobKind, JobState, ServiceJob
from drag_graph.service.job_work import DOCUMENTS, TEXT, check_name, check_uploads, copy_questions, write_questions
from drag_graph.service.jobs import JobQueue
from drag_graph.service.page_fetch import parsed_url, public_address
from drag_graph.service.service_state import state_of
from drag_graph.settings import Settings, changed_settings

JobId = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$", description="The id of a job.")]
MOST_FILES = 100
MOST_PATHS = 100_000
"""Maximum number of paths of a command on this machine."""
POLL = 0.2
"""Seconds between two checks for changes of a job."""
router = APIRouter(prefix="/api/v1/jobs", responses=REPLIES)


class AggregationSettings(RequestBody):
    """How the triples of a source are merged, and what a run may cost."""

    strategy: Strategy | None = None
    merge: Merge | None = None
    threshold: Fraction | None = None
    budget_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


class RunSettings(AggregationSettings):
    """The settings that a caller may choose. The service uses its own models, addresses and files."""

    plan: Literal["lean", "paper"] | None = None
    number_of_evidence: PositiveInt | None = None
    blind: bool | None = None
    drop_leaks: bool | None = None
    seed: Annotated[int, Field(ge=0, lt=2**32)] | None = None
    extractor: Literal["auto", "teacher", "patterns"] | None = None
    ranking: Literal["weighted", "rank-sum"] | None = None
    alpha: Fraction | None = None
    rank_relations: bool | None = None
    statements: Literal["joined", "teacher"] | None = None
    top_k: PositiveInt | None = None
    retry_quarantined: bool = False


class JobQuestion(BaseModel):
    """A question as in a line of JSON Lines. Other fields are kept as its metadata."""

    model_config = ConfigDict(extra="allow")
    question: LongText
    options: Annotated[list[LongText], Field(max_length=26)] | None = None
    answer: int | LongText | Annotated[list[LongText], Field(max_length=100)] | None = None
    id: ShortText | int | None = None
    domain: Domain | None = None


class DistillRequest(RunSettings):
    """Questions for the teacher.

    Only commands on the service's machine may pass a `file` of questions instead, or the name of a `job` that shares a budget.
    """

    questions: Annotated[list[LongText | JobQuestion], Field(min_length=1, max_length=10_000)] | None = None
    file: LongText | None = None
    job: LongText | None = None
    domain: Domain | None = None
    replace: bool = False
    add: bool = False


class IngestForm(AggregationSettings):
    """The fields of a form with documents, except its files.

    Only commands on the service's machine may pass `paths`, `triples`, `sync` and `compact`: the service reads its own files.
    """

    text: str | None = None
    name: str | None = None
    url: str | None = None
    tags: list[str] | None = None
    chunk_size: PositiveInt | None = None
    paths: list[str] | None = None
    triples: str | None = None
    sync: bool | None = None
    compact: bool | None = None


class RefreshRequest(RunSettings):
    """Which stored questions to distil again."""

    expired: bool = False
    failed: bool = False
    corrected: bool = False
    limit: Annotated[int, Field(ge=1, le=2**31)] | None = None


class ExportRequest(RequestBody):
    """Options of `drag-graph export`."""

    format: Literal["jsonl", "subgraphs"] = "jsonl"
    full: bool = False


def queue_of(request: Request) -> JobQueue:
    """Return the jobs of the service that received a request."""
    queue: JobQueue = request.app.state.jobs
    return queue


Queue = Annotated[JobQueue, Depends(queue_of)]


@router.post("/distill", status_code=202)
async def distill(body: DistillRequest, caller: Editor, queue: Queue) -> JSONResponse:
    """Ask the teacher about questions, as `drag-graph distill`."""
    return JSONResponse(await submit_questions(queue, caller, body), 202)


@router.post("/distill/estimate")
async def estimate(body: DistillRequest, caller: Editor) -> JSONResponse:
    """Return the calls, tokens and price of a distillation, as `drag-graph distill --dry-run`. Nothing is sent."""
    return JSONResponse(await run_in_threadpool(estimated, caller, body))


@router.post("/refresh", status_code=202)
async def refresh(body: RefreshRequest, caller: Editor, queue: Queue) -> JSONResponse:
    """Distil questions again that have expired or led to wrong answers, as `drag-graph refresh`."""
    if not (body.expired or body.failed or body.corrected):
        hint = "Set `expired`, `failed` or `corrected`."
        raise RequestRefused(422, "NothingChosen", "Nothing to refresh was chosen.", hint=hint)
    return await _submitted(queue, "refresh", caller, body.model_dump(exclude_none=True))


@router.post("/link", status_code=202)
async def link(caller: Editor, queue: Queue) -> JSONResponse:
    """Join the same thing across sources, as `drag-graph link`."""
    return await _submitted(queue, "link", caller, {})


@router.post("/export", status_code=202)
async def export(body: ExportRequest, caller: Editor, queue: Queue) -> JSONResponse:
    """Export the namespace. The result can be downloaded for 24 hours."""
    if body.full and body.format == "subgraphs":
        raise RequestRefused(422, "FormatRefused", "`full` works with the format `jsonl` only.", hint="Leave it out.")
    return await _submitted(queue, "export", caller, body.model_dump())


_LISTS = {"tags", "paths"}
_OWNERS = {"paths", "triples", "sync", "compact"}
_FILES = {"files": {"type": "array", "items": {"type": "string", "format": "binary"}}}
_FORM = {"type": "object", "properties": {**_FILES, **IngestForm.model_json_schema()["properties"]}}


@router.post("/ingest", status_code=202, openapi_extra={"requestBody": {"content": {"multipart/form-data": {"schema": _FORM}}}})
async def ingest(request: Request, caller: Editor, queue: Queue) -> JSONResponse:
    """Read documents, as `drag-graph ingest`: `files`, a `text` with its `name`, or a `url`; `tags` for all of them.

    A file replaces the document that was uploaded under the same name.
    """
    # Parsed here, after the key is known to be valid.
    limits = state_of(request).limits
    async with request.form(
        max_files=MOST_FILES, max_fields=MOST_PATHS if caller.is_owner else MOST_FILES, max_part_size=limits.upload_bytes
    ) as form:
        return JSONResponse(await submit_documents(queue, caller, form, allows_urls=limits.allows_urls), 202)


@router.get("")
async def jobs(
    caller: Reader,
    queue: Queue,
    limit: Limit = 50,
    kind: JobKind | None = None,
    state: JobState | None = None,
) -> JSONResponse:
    """List the last jobs of the namespace, newest first."""
    listed = await run_in_threadpool(partial(queue.table.jobs, caller.graph.settings.namespace, limit, kind=kind, state=state))
    return JSONResponse({"jobs": [job_document(queue, job) for job in listed]})


@router.get("/{job_id}")
async def job(job_id: JobId, caller: Reader, queue: Queue) -> JSONResponse:
    """Describe a job: its state, its progress, and its error."""
    found = await run_in_threadpool(queue.table.job, job_id, caller.graph.settings.namespace)
    return JSONResponse(job_document(queue, found))


@router.get("/{job_id}/events", responses={200: {"content": {EVENT_STREAM: {"schema": {"type": "string"}}}}})
async def events(job_id: JobId, caller: Reader, queue: Queue) -> Response:
    """Follow a job: an event `progress` for each change, and `end` with the job when it has ended."""
    namespace = caller.graph.settings.namespace
    await run_in_threadpool(queue.table.job, job_id, namespace)
    return event_stream(_followed(queue, job_id, namespace))


@router.post("/{job_id}/cancel")
async def cancel(job_id: JobId, caller: Editor, queue: Queue) -> JSONResponse:
    """Cancel a job. Completed work stays; calls in flight are finished."""
    namespace = caller.graph.settings.namespace
    return JSONResponse(job_document(queue, await run_in_threadpool(queue.cancel, job_id, namespace)))


@router.get("/{job_id}/result")
async def result(job_id: JobId, caller: Reader, queue: Queue) -> Response:
    """Return the report of a job that has ended, or the file of an export."""
    found = await run_in_threadpool(queue.table.job, job_id, caller.graph.settings.namespace)
    if found.kind == "export" and found.state == "done":
        file = queue.exported_file(found)
        if file is None:
            raise RequestRefused(410, "ResultExpired", "The export is no longer available.", hint="Export again.")
        return FileResponse(file, media_type="application/jsonl", filename=f"{found.kind}-{found.id[:8]}.jsonl")
    report = await run_in_threadpool(queue.table.report, found.id)
    if report is None:
        raise RequestRefused(409, "NoResult", f"The job is {found.state}; it has no result.", hint="Follow its events.")
    return JSONResponse(report)


async def submit_questions(queue: JobQueue, caller: Caller, body: DistillRequest) -> dict[str, Any]:
    """Queue the distillation of questions and return the job."""
    questions, values = _questions(caller, body)
    write = partial(write_questions, questions)
    if body.file and body.job:  # a copy of piped input, which the caller will remove
        write = partial(copy_questions, FilePath(values.pop("file")))
    return await _job(queue, "distill", caller, values, write)


def estimated(caller: Caller, body: DistillRequest) -> dict[str, Any]:
    """Return what a distillation would take. Raises ConfigurationError for unusable settings."""
    questions, values = _questions(caller, body)
    file = values.pop("file", None)
    settings = {name: value for name, value in values.items() if name not in {"add", "job", "replace"}}
    return caller.graph.estimate_distill(FilePath(file) if file else questions, **settings).to_dict()


def _questions(caller: Caller, body: DistillRequest) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the questions and the settings of a body. Raises RequestRefused unless it has questions or the owner's file."""
    values = body.model_dump(exclude_none=True)
    questions = [{"question": one} if isinstance(one, str) else one for one in values.pop("questions", ())]
    if bool(questions) == bool(body.file):
        raise RequestRefused(422, "QuestionsRefused", "There are no questions.", hint="Send `questions`.")
    if body.file or body.job:
        require_owner(caller)
        values["job"] = body.job or ""
    return questions, values


async def submit_documents(queue: JobQueue, caller: Caller, form: FormData, *, allows_urls: bool) -> dict[str, Any]:
    """Queue the documents of a form and return the job. Raises RequestRefused for a form that is not usable."""
    files = [file for file in form.getlist("files") if isinstance(file, UploadFile)]
    values = await _documents(form, files, caller, allows_urls=allows_urls)
    if caller.is_owner:
        values["job"] = ""  # runs of the same paths share a budget, as without the service
    text = values.pop("text", None)

    def write(folder: FilePath) -> None:
        (folder / DOCUMENTS).mkdir(mode=0o700)
        for file in files:
            with (folder / DOCUMENTS / (file.filename or "")).open("xb") as target:
                shutil.copyfileobj(file.file, target)
        if text is not None:
            (folder / TEXT).write_text(text, encoding="utf-8")

    return await _job(queue, "ingest", caller, values, write)


async def _submitted(queue: JobQueue, kind: JobKind, caller: Caller, values: dict[str, Any], *write: Any) -> JSONResponse:
    return JSONResponse(await _job(queue, kind, caller, values, *write), 202)


async def _job(queue: JobQueue, kind: JobKind, caller: Caller, values: dict[str, Any], *write: Any) -> dict[str, Any]:
    """Queue a job and return it. Raises ConfigurationError for unusable settings."""
    settings = {name: value for name, value in values.items() if name in Settings.model_fields}
    changed_settings(caller.graph.settings, settings)
    submit = partial(queue.submit, kind, caller.graph.settings.namespace, caller.name, values, *write)
    return job_document(queue, await run_in_threadpool(submit))


async def _documents(form: FormData, files: Sequence[UploadFile], caller: Caller, *, allows_urls: bool) -> dict[str, Any]:
    """Return the names of the files of a form, and its other values. Raises RequestRefused if something is unusable."""
    hint = "Send `files`, or a `text` with its `name`, or a `url`, and `tags`."
    given = {name: form.getlist(name) if name in _LISTS else form[name] for name in form if name != "files"}
    if given.keys() & _OWNERS:
        require_owner(caller)
    try:
        values = IngestForm.model_validate(given).model_dump(exclude_none=True)
    except ValidationError as error:
        message = f"The form is unusable: {first_problem(error)}"
        raise RequestRefused(422, "DocumentsRefused", message, hint=hint) from error
    values |= {"files": [file.filename for file in files]} if files else {}
    if len(values.keys() & {"files", "text", "url", "paths"}) != 1 or not values.get("text", "x").strip():
        raise RequestRefused(422, "DocumentsRefused", "The form has no documents, or mixes files, a text and a URL.", hint=hint)
    if ("text" in values) != ("name" in values):
        raise RequestRefused(422, "DocumentsRefused", "A text needs a name.", hint="Send `text` and `name` together.")
    check_uploads(files)
    if "name" in values and not caller.is_owner:
        check_name(values["name"])
    if "url" in values:
        if not allows_urls:
            raise RequestRefused(403, "UrlsRefused", "This service does not fetch URLs.", hint="Start it with `--allow-urls`.")
        await run_in_threadpool(public_address, parsed_url(values["url"]))
    return values


def job_document(queue: JobQueue, found: ServiceJob) -> dict[str, Any]:
    """Return a job as the routes send it: with how far it is now, and of paths on this machine the names only."""
    document = found.to_dict()
    request = document["request"]
    names: dict[str, Any] = {key: FilePath(request[key]).name for key in ("file", "triples") if request.get(key)}
    if paths := request.get("paths"):
        names["paths"] = [FilePath(path).name for path in paths]
    return {**document, "request": {**request, **names}, "progress": queue.progress(found)}


async def _followed(queue: JobQueue, job_id: str, namespace: str) -> AsyncIterator[str]:
    sent: dict[str, Any] = {}
    version, spoke_at = -1, time.monotonic()
    while not queue.is_stopping:
        if version != queue.version:
            version = queue.version
            try:
                document = job_document(queue, await run_in_threadpool(queue.table.job, job_id, namespace))
            except DragGraphError:
                return
            news = {"state": document["state"], "progress": document["progress"]}
            if news != sent:
                sent, spoke_at = news, time.monotonic()
                yield event("progress", news)
            if document["finished_at"]:
                yield event("end", document)
                return
        elif time.monotonic() - spoke_at > SILENCE:
            spoke_at = time.monotonic()
            yield ": waiting\n\n"
        await asyncio.sleep(POLL)
