"""Pages of what is stored: sources, adding and deleting them, and jobs."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile

from drag_graph.model import Subgraph
from drag_graph.service.asking_routes import Id, Offset, ShortText, WholeId, erased_source
from drag_graph.service.job_routes import MOST_FILES, JobId, job_document, queue_of, submit_documents
from drag_graph.service.jobs import JobQueue
from drag_graph.service.page_routes import PageAdmin, PageEditor, PageReader
from drag_graph.service.page_views import moment
from drag_graph.service.pages import HEADERS, form_of, listed, render, text_of
from drag_graph.service.service_state import state_of

LISTED = 50
WORDS = {
    "Document": "document",
    "Query": "question",
    "Evidence": "passages",
    "Entity": "names of things",
    "TeacherCall": "records of a model that read it",
    "TRIPLE": "claims",
    "SIMPLE_EDGE": "merged claims",
    "Answer": "answers that used it",
}
"""What labels and relationship types of the store are called; others keep their name."""
TITLES = {"ingest": "Add documents", "distill": "Ask a teacher", "refresh": "Ask a teacher again", "link": "Join sources"}
Queue = Annotated[JobQueue, Depends(queue_of)]
router = APIRouter(include_in_schema=False)


@router.get("/sources")
async def sources_page(
    request: Request, caller: PageReader, q: Annotated[ShortText, Query()] = "", offset: Offset = 0
) -> Response:
    """List the sources, newest first, or those that match `q`, best first."""
    older = ""
    if q.strip():
        found = await state_of(request).asks.run(lambda: caller.graph.search(q, limit=20).to_dict())
        sources = [{**one, "tags": [], "texts": [], "facts": one.get("date", "")} for one in found["sources"]]
        heading = f"{len(sources)} found" if sources else "Nothing was found"
    else:
        page = await run_in_threadpool(lambda: caller.graph.show(limit=LISTED, offset=offset))
        sources = [{**_source_view(one), "texts": []} for one in page]
        heading = f"{page.total} sources" if page.total else "Nothing is stored yet"
        older = f"/sources?offset={offset + LISTED}" if offset + LISTED < page.total else ""
    values: dict[str, Any] = {"q": q, "sources": sources, "heading": heading, "older": older}
    return render(request, "sources.html", caller=caller, title="Knowledge", **values)


@router.get("/sources/{source_id}")
async def source_page(source_id: Id, request: Request, caller: PageReader) -> Response:
    """Show a source with its passages."""
    stored = await run_in_threadpool(caller.graph.show, source_id)
    source = _source_view(stored.subgraph)
    return render(request, "source.html", caller=caller, title=source["name"][:80], source=source, going=[])


@router.post("/sources/add")
async def add_sources(request: Request, caller: PageEditor, queue: Queue) -> Response:
    """Read the documents of the form in a job."""
    limits = state_of(request).limits
    form = await form_of(request, max_files=MOST_FILES, max_fields=MOST_FILES, max_part_size=limits.upload_bytes)
    try:
        values: list[tuple[str, Any]] = [
            ("files", file) for file in form.getlist("files") if isinstance(file, UploadFile) and file.filename
        ]
        values += [(name, text) for name in ("text", "name") if (text := text_of(form, name))]
        values += [("tags", tag) for tag in listed(text_of(form, "tags"))]
        job = await submit_documents(queue, caller, FormData(values), allows_urls=False)
    finally:
        await form.close()
    return RedirectResponse(f"/jobs/{job['id']}", 303, dict(HEADERS))


@router.get("/sources/{source_id}/erase")
async def erase_page(source_id: WholeId, request: Request, caller: PageAdmin) -> Response:
    """List what would be deleted with a source."""
    stored = await run_in_threadpool(caller.graph.show, source_id)
    report = await run_in_threadpool(partial(caller.graph.store.erase, source_id, dry_run=True))
    going = [f"{number} {WORDS.get(kind, kind)}" for kind, number in report.to_dict()["would_erase"].items() if number]
    source = {**_source_view(stored.subgraph), "passages": [], "claims": []}
    return render(request, "source.html", caller=caller, title="Delete", source=source, going=going)


@router.post("/sources/{source_id}/erase")
async def erase_source(source_id: WholeId, request: Request, caller: PageAdmin) -> Response:
    """Delete a source with everything that rests on it."""
    await form_of(request)
    await run_in_threadpool(erased_source, caller.graph, source_id)
    return RedirectResponse("/sources", 303, dict(HEADERS))


@router.get("/jobs")
async def jobs_page(request: Request, caller: PageReader, queue: Queue) -> Response:
    """List the last jobs, newest first."""
    found = await run_in_threadpool(queue.table.jobs, caller.graph.settings.namespace, LISTED)
    jobs = [_job_view(job_document(queue, job)) for job in found]
    return render(request, "jobs.html", caller=caller, title="Jobs", jobs=jobs)


@router.get("/jobs/{job_id}")
async def job_page(job_id: JobId, request: Request, caller: PageReader, queue: Queue) -> Response:
    """Show how far a job is."""
    found = await run_in_threadpool(queue.table.job, job_id, caller.graph.settings.namespace)
    job = _job_view(job_document(queue, found))
    return render(request, "job.html", caller=caller, title=job["title"], job=job)


def _source_view(graph: Subgraph) -> dict[str, Any]:
    document = graph.document
    passages = [
        {
            "text": chunk.text,
            "where": " · ".join(filter(None, (" > ".join(chunk.heading), f"page {chunk.page}" if chunk.page else ""))),
        }
        for chunk in graph.chunks
    ] or [{"text": one.text, "where": ""} for one in graph.evidence]
    numbers = f"{len(graph.evidence)} passages, {len(graph.triples)} claims"
    return {
        "id": graph.source_id,
        "name": graph.title,
        "tags": list(document.tags) if document else [],
        "facts": " · ".join(filter(None, (document.date if document else "", numbers, f"added {moment(graph.created_at)}"))),
        "passages": passages,
        "claims": [
            {
                "text": edge.statement or f"{edge.subject} {', '.join(edge.predicates)} {edge.object}",
                "confidence": f"{edge.confidence:.2f}",
            }
            for edge in graph.usable_edges
        ],
    }


def _job_view(job: Mapping[str, Any]) -> dict[str, Any]:
    asked = job["request"]
    names = asked.get("files") or asked.get("paths") or [asked.get("name", asked.get("file", ""))]
    title = ": ".join(filter(None, (TITLES.get(job["kind"], job["kind"].capitalize()), ", ".join(names))))
    spent = f"${job['spent_usd']:.4f}" if job["spent_usd"] else ""
    return {
        **job,
        "title": title[:200],
        "has_ended": bool(job["finished_at"]),
        "facts": " · ".join(filter(None, (job["state"], moment(job["created_at"]), job["caller"], spent))),
    }
