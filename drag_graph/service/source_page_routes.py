"""Pages to list, add and delete sources, and to show the graph as a picture with a list."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal
from urllib.parse import urlencode, urlsplit

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile

from drag_graph.app.application import DragGraph
from drag_graph.graph.rejected_claims import claims_of_edges
from drag_graph.manage.short_ids import SourceState
from drag_graph.model import Subgraph
from drag_graph.report.audit_document import counted
from drag_graph.report.audit_views import marked, moment
from drag_graph.report.graph_picture import GraphPicture
from drag_graph.service.asking_routes import Id, Ids, OfId, ShortText, WholeId, erased_source, picture_for
from drag_graph.service.errors import RequestRefused
from drag_graph.service.job_routes import MOST_FILES, Queue, submit_documents
from drag_graph.service.page_routes import HEADERS, PageAdmin, PageEditor, PageReader, form_of, listed, render, text_of
from drag_graph.service.service_state import state_of

LISTED = 25
WORDS = {
    "Document": "document",
    "Query": "question",
    "Evidence": "passage{s}",
    "Entity": "thing{s} named in it",
    "TeacherCall": "recorded model call{s}",
    "TRIPLE": "claim{s}",
    "SIMPLE_EDGE": "merged claim{s}",
    "Answer": "answer{s} that used it",
}
"""Names of the store's labels and relationship types on the page. Other types keep their name."""
HITS, SHOWN_PASSAGES = 10, 2
BEFORE, LONGEST_EXCERPT = 60, 300
"""Characters of a passage that are shown before the first word that was searched for, and in all."""
LONGEST_ADDRESS = 8_000
"""Characters of an address that servers accept."""
router = APIRouter(include_in_schema=False)


class SourcePageQuery(BaseModel):
    """The form above the list of sources."""

    q: ShortText = ""
    state: SourceState | Literal[""] = ""
    tags: ShortText = ""
    since: ShortText = ""
    until: ShortText = ""
    offset: Annotated[int, Field(ge=0, le=2**31)] = 0


@router.get("/sources")
async def sources_page(request: Request, caller: PageReader, wanted: Annotated[SourcePageQuery, Query()]) -> Response:
    """List the sources with `q` in their name, newest first, and the passages that match it, best first."""
    only: dict[str, Any] = {"since": wanted.since, "until": wanted.until, "tags": listed(wanted.tags)}
    chosen = {"name": wanted.q.strip(), "state": wanted.state or None, **only}
    page = await run_in_threadpool(lambda: caller.graph.show(limit=LISTED, offset=wanted.offset, **chosen))
    sources = [_source_view(one) for one in page]
    hits: list[dict[str, Any]] = []
    if chosen["name"] and not wanted.offset and wanted.state not in {"expired", "failed"}:
        found = await state_of(request).asks.run(lambda: caller.graph.search(wanted.q, limit=HITS, **only).to_dict())
        hits = [one for one in _hit_views(found, wanted.q) if wanted.state in {"", one["kind"]}]
    given = wanted.model_dump(exclude_defaults=True)
    following = wanted.offset + LISTED
    values: dict[str, Any] = {
        "wanted": wanted,
        "is_filtered": bool(given.keys() - {"q", "offset"}),
        "is_empty": not page.total and not given,
        "total": page.total,
        "sources": sources,
        "hits": hits,
        "older": f"/sources?{urlencode({**given, 'offset': following})}" if following < page.total else "",
    }
    return render(request, "sources.html", caller=caller, title="Knowledge", **values)


@router.get("/sources/{source_id}")
async def source_page(source_id: Id, request: Request, caller: PageReader) -> Response:
    """Show a source with its passages."""
    stored = await run_in_threadpool(caller.graph.show, source_id)
    corrections = await run_in_threadpool(caller.graph.corrections)
    verdicts = {one.target_id: one.verdict for one in corrections if not one.undone_at}
    source = _source_view(stored.subgraph) | _content_view(stored.subgraph, verdicts)
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
        if not values:
            hint = "Choose files, or type a name and a text."
            raise RequestRefused(422, "DocumentsRefused", "There is nothing to add.", hint=hint)
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
    counts = report.to_dict()["would_erase"]
    going = [f"{n} {WORDS.get(kind, kind).format(s='s'[: n != 1])}" for kind, n in counts.items() if n]
    source = _source_view(stored.subgraph) | {"passages": [], "claims": []}
    return render(request, "source.html", caller=caller, title="Delete", source=source, going=going)


@router.post("/sources/{source_id}/erase")
async def erase_source(source_id: WholeId, request: Request, caller: PageAdmin) -> Response:
    """Delete a source with everything that rests on it."""
    await form_of(request)
    await run_in_threadpool(erased_source, caller.graph, source_id)
    return RedirectResponse("/sources", 303, dict(HEADERS))


def _hit_views(found: Mapping[str, Any], wanted: str) -> list[dict[str, Any]]:
    """Return the sources that a search found, each with its best passages or claims, in which the words are marked."""
    words = re.compile("|".join(map(re.escape, wanted.split())), re.IGNORECASE)
    texts: dict[str, list[Any]] = {}
    for line in (*found["spans"], *found["edges"]):
        shown = texts.setdefault(line["source_id"], [])
        if len(shown) < SHOWN_PASSAGES:
            first = words.search(line["text"])
            place = first.start() if first else 0
            begin = max(place - BEFORE, 0)
            start = begin and (line["text"].find(" ", begin, place) + 1 or begin)
            end = start + LONGEST_EXCERPT
            text = f"{'…' if start else ''}{line['text'][start:end]}{'…' if end < len(line['text']) else ''}"
            shown.append(marked(text, (match.span() for match in words.finditer(text))))
    return [{**one, "texts": texts[one["id"]]} for one in found["sources"] if one["id"] in texts]


def _source_view(graph: Subgraph) -> dict[str, Any]:
    """Return what a list shows of a source."""
    document = graph.document
    numbers = f"{counted(len(graph.evidence), 'passage')}, {counted(len(graph.triples), 'claim')}"
    dated = f"dated {document.date}" if document and document.date else ""
    added = f"added {moment(graph.created_at)}"
    return {
        "id": graph.source_id,
        "name": graph.title,
        "tags": list(document.tags) if document else [],
        "facts": [one for one in ("document" if document else "question", dated, numbers, added) if one],
    }


def _content_view(graph: Subgraph, verdicts: Mapping[str, str]) -> dict[str, Any]:
    """Return the passages and claims of a source. `verdicts` are users' corrections by claim id."""
    claims_of = claims_of_edges(graph, graph.usable_edges)
    passages = [
        {
            "text": chunk.text,
            "where": " · ".join(filter(None, (" > ".join(chunk.heading), f"page {chunk.page}" if chunk.page else ""))),
        }
        for chunk in graph.chunks
    ] or [{"text": one.text, "where": ""} for one in graph.evidence]
    return {
        "passages": passages,
        "claims": [
            {
                "text": edge.statement or f"{edge.subject} {', '.join(edge.predicates)} {edge.object}",
                "confidence": f"{edge.confidence:.2f}",
                "ids": claims_of[edge.id],
                "verdict": next(iter(own)) if len(own := {verdicts.get(id_, "") for id_ in claims_of[edge.id]}) == 1 else "",
            }
            for edge in graph.usable_edges
        ],
    }


@router.get("/graph")
async def graph_page(
    request: Request,
    caller: PageReader,
    *,
    source: Ids = [],  # noqa: B006
    answer: OfId | None = None,
    around: Ids = [],  # noqa: B006
    q: Annotated[ShortText, Query()] = "",
) -> Response:
    """Show the entities and edges of sources that match `q`, or of those that `GET /graph` selects, as a picture and a list."""
    if q.strip():
        found = await state_of(request).asks.run(lambda: caller.graph.search(q, limit=5).to_dict())
        source = [one["id"] for one in found["sources"]]
    picture = GraphPicture("Nothing was found", [], []) if q.strip() and not source else None
    picture = picture or await picture_for(caller, source, answer, around)
    values = picture.view() | {"q": q, "query": request.url.query, "browser": _neo4j_browser(caller.graph, picture)}
    return render(request, "graph.html", caller=caller, **values)


@router.post("/graph/merges")
async def merge(request: Request, caller: PageEditor) -> Response:
    """Merge two names, or undo or restore a merge."""
    form = await form_of(request)
    change: Any = partial(caller.graph.merge, text_of(form, "one"), text_of(form, "other"))
    for name, method in (("undo", caller.graph.undo_merge), ("redo", caller.graph.redo_merge)):
        if id_ := text_of(form, name):
            change = partial(method, id_)
    await run_in_threadpool(change)
    return RedirectResponse(f"/graph?{text_of(form, 'query')}", 303, dict(HEADERS))


def _neo4j_browser(graph: DragGraph, picture: GraphPicture) -> dict[str, str] | None:
    """Return a statement for Neo4j Browser, and its usual address; None if the store is embedded."""
    if not graph.settings.uses_neo4j:
        return None
    statement = picture.to_cypher(graph.settings.namespace)
    address = f"http://{urlsplit(graph.settings.store).hostname}:7474/browser/"
    href = f"{address}?{urlencode({'cmd': 'edit', 'arg': statement})}"
    return {"statement": statement, "href": href if len(href) < LONGEST_ADDRESS else address}
