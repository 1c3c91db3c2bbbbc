"""The graph: as JSON, and as a page with a picture and a list."""

from functools import partial
from typing import Annotated, Any
from urllib.parse import urlencode, urlsplit

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import StringConstraints
from starlette.concurrency import run_in_threadpool

from drag_graph.app.application import DragGraph
from drag_graph.report.graph_picture import GraphPicture
from drag_graph.service.access import Caller
from drag_graph.service.asking_routes import SHORT_ID, Reader, ShortText
from drag_graph.service.errors import REPLIES
from drag_graph.service.page_routes import PageEditor, PageReader
from drag_graph.service.pages import HEADERS, form_of, render, text_of
from drag_graph.service.service_state import state_of

OfId = Annotated[str, StringConstraints(pattern=SHORT_ID)]
Ids = Annotated[list[OfId], Query(max_length=100)]
LONGEST_ADDRESS = 8_000
"""Characters of an address that servers accept."""
router = APIRouter()


@router.get("/api/v1/graph", responses=REPLIES)
async def graph(caller: Reader, source: Ids = [], answer: OfId | None = None, around: Ids = []) -> JSONResponse:  # noqa: B006
    """Return the entities and edges of sources, of what an answer rests on, or around entities; else of the newest sources."""
    return JSONResponse((await _picture(caller, source, answer, around)).to_dict())


@router.get("/graph", include_in_schema=False)
async def graph_page(
    request: Request,
    caller: PageReader,
    *,
    source: Ids = [],  # noqa: B006
    answer: OfId | None = None,
    around: Ids = [],  # noqa: B006
    q: Annotated[ShortText, Query()] = "",
) -> Response:
    """Show the same as a picture with a list, or that of the sources which a search for `q` finds."""
    if q.strip():
        found = await state_of(request).asks.run(lambda: caller.graph.search(q, limit=5).to_dict())
        source = [one["id"] for one in found["sources"]]
    picture = GraphPicture("Nothing was found", [], []) if q.strip() and not source else None
    picture = picture or await _picture(caller, source, answer, around)
    values = picture.view() | {"q": q, "query": request.url.query, "browser": _neo4j_browser(caller.graph, picture)}
    return render(request, "graph.html", caller=caller, **values)


@router.post("/graph/merges", include_in_schema=False)
async def merge(request: Request, caller: PageEditor) -> Response:
    """Merge two names, or undo or restore a merge."""
    form = await form_of(request)
    change: Any = partial(caller.graph.merge, text_of(form, "one"), text_of(form, "other"))
    for name, method in (("undo", caller.graph.undo_merge), ("redo", caller.graph.redo_merge)):
        if id_ := text_of(form, name):
            change = partial(method, id_)
    await run_in_threadpool(change)
    return RedirectResponse(f"/graph?{text_of(form, 'query')}", 303, dict(HEADERS))


async def _picture(caller: Caller, source: list[str], answer: str | None, around: list[str]) -> GraphPicture:
    return await run_in_threadpool(partial(caller.graph.picture, source, answer_id=answer or "", around=around))


def _neo4j_browser(graph: DragGraph, picture: GraphPicture) -> dict[str, str] | None:
    """Return a statement for Neo4j Browser, and its usual address; None if the store is embedded."""
    if not graph.settings.uses_neo4j:
        return None
    statement = picture.to_cypher(graph.settings.namespace)
    address = f"http://{urlsplit(graph.settings.store).hostname}:7474/browser/"
    href = f"{address}?{urlencode({'cmd': 'edit', 'arg': statement})}"
    return {"statement": statement, "href": href if len(href) < LONGEST_ADDRESS else address}
