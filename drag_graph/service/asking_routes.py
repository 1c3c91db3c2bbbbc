"""Routes that ask, search, read and correct: each calls one method of the application and returns its `to_dict()`."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.concurrency import run_in_threadpool

from drag_graph.app.answering import AnswerState
from drag_graph.app.application import DragGraph
from drag_graph.app.store_erasing import ErasureReport
from drag_graph.manage.short_ids import SourceState
from drag_graph.model import Mode
from drag_graph.ports.correction_store import Correction, Verdict
from drag_graph.ports.model_roles import OnToken
from drag_graph.ports.setting_types import Fraction, NonNegativeInt, PositiveInt, Privacy
from drag_graph.report.graph_picture import GraphPicture
from drag_graph.service.access import LOCAL, Caller, requires
from drag_graph.service.answer_stream import EVENT_STREAM, streamed
from drag_graph.service.errors import REPLIES, RequestRefused
from drag_graph.service.service_state import state_of

Reader = Annotated[Caller, Depends(requires("reader"))]
Editor = Annotated[Caller, Depends(requires("editor"))]
Admin = Annotated[Caller, Depends(requires("admin"))]
ShortText = Annotated[str, StringConstraints(max_length=1_000)]
LongText = Annotated[str, StringConstraints(min_length=1, max_length=100_000)]
SHORT_ID = "^[0-9a-f]{4,32}$"
"""An id of the store, or the beginning of one."""
Id = Annotated[str, Path(pattern=SHORT_ID, description="An id, or the beginning of one (4 digits or more).")]
WholeId = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$", description="A whole id.")]
Limit = Annotated[int, Query(ge=1, le=1_000)]
OfId = Annotated[str, StringConstraints(pattern=SHORT_ID)]
Ids = Annotated[list[OfId], Query(max_length=100)]
PageFormat = Literal["json", "prov", "html"]

router = APIRouter(prefix="/api/v1", responses=REPLIES)


def erased_source(graph: DragGraph, source_id: str) -> ErasureReport:
    """Erase a source. An unknown id is refused first, because erasing it would rewrite the file of the store for nothing."""
    graph.store.erase(source_id, dry_run=True)
    return graph.store.erase(source_id)


class RequestBody(BaseModel):
    """The body of a request. Unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class Restricted(RequestBody):
    """Restrictions of a search, like the flags of `drag-graph search`."""

    sources: Annotated[list[ShortText], Field(max_length=100)] = []
    since: ShortText = ""
    until: ShortText = ""
    tags: Annotated[list[ShortText], Field(max_length=100)] = []
    token_budget: Annotated[int, Field(ge=1, le=100_000)] | None = None


class AskRequest(Restricted):
    """A question, or the id of a stored question. The service uses its own settings for those that are left out."""

    question: LongText | None = None
    options: Annotated[list[LongText], Field(max_length=26)] = []
    query_id: ShortText | None = None
    keep: bool = True
    explain: bool = False
    local: bool = False
    mode: Mode | None = None
    line_format: Literal["arrow", "sentence", "json"] | None = None
    max_lines: PositiveInt | None = None
    shared_lines: NonNegativeInt | None = None
    line_order: Literal["best-first", "best-last"] | None = None
    brief: bool | None = None
    abstain: bool | None = None
    max_answer_tokens: Annotated[int, Field(ge=1, le=8_192)] | None = None
    relevance: Fraction | None = None


class SourceQuery(RequestBody):
    """Which sources to list."""

    limit: Annotated[int, Field(ge=1, le=1_000)] = 50
    offset: Annotated[int, Field(ge=0, le=2**31)] = 0
    name: ShortText = ""
    state: SourceState | None = None
    since: ShortText = ""
    until: ShortText = ""
    tags: Annotated[list[ShortText], Field(max_length=100)] = []


class SearchRequest(Restricted):
    """A question, or some words."""

    text: LongText
    limit: Annotated[int, Field(ge=1, le=100)] = 10


class PrivacyRequest(RequestBody):
    """Questions to check. Nothing is sent to a model."""

    questions: Annotated[list[LongText], Field(min_length=1, max_length=100)]
    why: bool = False
    privacy: Privacy | None = None


class CypherRequest(RequestBody):
    """A read-only Cypher statement."""

    statement: Annotated[str, StringConstraints(min_length=1, max_length=10_000)]
    limit: Annotated[int, Field(ge=1, le=10_000)] = 100
    timeout: Annotated[float, Field(gt=0, le=600)] = 10.0


@router.post("/ask", responses={200: {"content": {EVENT_STREAM: {"schema": {"type": "string"}}}}})
async def ask(body: AskRequest, caller: Reader, request: Request) -> Response:
    """Answer a question. With `Accept: text/event-stream` the answer is streamed as events `token`, `answer` and `error`."""
    state = state_of(request)
    values = body.model_dump(exclude={"explain"}, exclude_none=True)

    def answer(on_token: OnToken | None = None) -> Mapping[str, Any]:
        return state.ask(caller.graph, **values, on_token=on_token).to_dict(explain=body.explain)

    if EVENT_STREAM in request.headers.get("accept", ""):
        return streamed(state.asks, answer)
    return JSONResponse(await state.asks.run(answer))


@router.post("/search")
async def search(body: SearchRequest, caller: Reader, request: Request) -> JSONResponse:
    """Search without a student: sources, texts and edges, best first."""
    values = body.model_dump(exclude_none=True)
    return JSONResponse(await state_of(request).asks.run(lambda: caller.graph.search(**values).to_dict()))


@router.get("/sources")
async def sources(caller: Reader, wanted: Annotated[SourceQuery, Query()]) -> JSONResponse:
    """List the stored queries and documents, newest first. The header `X-Total-Count` has the total number."""
    listed = await run_in_threadpool(lambda: caller.graph.show(**wanted.model_dump()))
    return JSONResponse(listed.to_dict(), headers={"X-Total-Count": str(listed.total)})


@router.get("/sources/{source_id}")
async def source(source_id: Id, caller: Reader) -> JSONResponse:
    """Describe one stored query or document."""
    stored = await run_in_threadpool(caller.graph.show, source_id)
    return JSONResponse(stored.summary())


@router.delete("/sources/{source_id}")
async def erase_source(source_id: WholeId, caller: Admin) -> JSONResponse:
    """Erase a source and everything that rests on it. The text is also removed from the store's file."""
    return JSONResponse((await run_in_threadpool(erased_source, caller.graph, source_id)).to_dict())


@router.get("/sources/{source_id}/subgraph")
async def subgraph(source_id: Id, caller: Reader, format: Literal["json", "html"] = "json") -> Response:  # noqa: A002
    """Return the evidence, triples and edges of a source, as JSON or as a picture."""
    if format == "html":
        picture = await run_in_threadpool(caller.graph.picture, [source_id])
        return HTMLResponse(await run_in_threadpool(picture.to_html))
    stored = await run_in_threadpool(caller.graph.show, source_id)
    return JSONResponse(await run_in_threadpool(stored.to_dict))


@router.get("/answers")
async def answers(
    caller: Reader, limit: Limit = 50, query_id: ShortText | None = None, text: ShortText = "", state: AnswerState | None = None
) -> JSONResponse:
    """List stored answers, newest first: those to a query, with a text in question or answer, or with a mark."""
    listed = await run_in_threadpool(partial(caller.graph.answers, query_id, limit=limit, text=text, state=state))
    return JSONResponse(listed.to_dict())


@router.get("/answers/{answer_id}")
async def answer(answer_id: Id, caller: Reader) -> JSONResponse:
    """Return one stored answer."""
    return JSONResponse((await run_in_threadpool(caller.graph.answer, answer_id)).to_dict())


@router.get("/answers/{answer_id}/audit")
async def audit(answer_id: Id, caller: Reader, format: PageFormat = "json") -> Response:  # noqa: A002
    """Trace an answer back to evidence and teacher calls, as JSON, W3C PROV or a page."""
    traced = await run_in_threadpool(lambda: caller.graph.answer(answer_id).audit())
    match format:
        case "html":
            return HTMLResponse(await run_in_threadpool(traced.to_html))
        case "prov":
            return JSONResponse(await run_in_threadpool(traced.to_prov))
        case "json":
            return JSONResponse(traced.to_dict())


@router.get("/graph")
async def graph(caller: Reader, source: Ids = [], answer: OfId | None = None, around: Ids = []) -> JSONResponse:  # noqa: B006
    """Return the entities and edges of sources, of what an answer rests on, or around entities; else of the newest sources."""
    return JSONResponse((await picture_for(caller, source, answer, around)).to_dict())


async def picture_for(caller: Caller, source: list[str], answer: str | None, around: list[str]) -> GraphPicture:
    """Return the picture of the graph that a request asks for."""
    return await run_in_threadpool(partial(caller.graph.picture, source, answer_id=answer or "", around=around))


@router.get("/communities")
async def communities(caller: Reader) -> JSONResponse:
    """List the stored communities, the largest first."""
    return JSONResponse((await run_in_threadpool(caller.graph.stored_communities)).to_dict())


@router.post("/privacy/check")
async def privacy_check(body: PrivacyRequest, caller: Reader) -> JSONResponse:
    """Show what the privacy gate would send of each question. Nothing is sent."""
    check = partial(caller.graph.privacy.check, **body.model_dump())
    return JSONResponse((await run_in_threadpool(check)).to_dict())


@router.get("/privacy/sent")
async def privacy_sent(caller: Admin) -> JSONResponse:
    """Count what models and the cloud have received, by day and destination, in all namespaces. Keys are refused."""
    require_all_namespaces(caller)
    return JSONResponse((await run_in_threadpool(caller.graph.privacy.sent)).to_dict())


@router.post("/query")
async def query(body: CypherRequest, caller: Admin) -> JSONResponse:
    """Execute a read-only Cypher statement. It sees all namespaces, so callers with a key are refused."""
    require_all_namespaces(caller)
    return JSONResponse((await run_in_threadpool(partial(caller.graph.store.query, **body.model_dump()))).to_dict())


def require_all_namespaces(caller: Caller) -> None:
    """Raise RequestRefused for a caller with a key, who may see some namespaces only."""
    if not caller.sees_all:
        hint = "Use the command line, or the service without a key, on its machine."
        raise RequestRefused(403, "NamespaceRefused", "This covers all namespaces, a key only some.", hint=hint)


class CorrectionRequest(RequestBody):
    """A verdict on a claim or an answer; null undoes the last one."""

    id: OfId
    verdict: Verdict | None
    note: ShortText = ""


def corrected(caller: Caller, body: CorrectionRequest) -> Correction:
    """Mark a claim or an answer under the name of the key, or without a key, under that of the user who runs the service."""
    author = "" if caller.name == LOCAL else caller.name
    return caller.graph.correct(body.id, body.verdict, body.note, by=author)


@router.post("/corrections")
async def correct(body: CorrectionRequest, caller: Editor) -> JSONResponse:
    """Mark a claim or an answer as right or wrong, or undo that."""
    return JSONResponse((await run_in_threadpool(corrected, caller, body)).to_dict())


@router.get("/corrections")
async def corrections(caller: Reader) -> JSONResponse:
    """List all corrections, including undone ones, most recently changed first."""
    return JSONResponse((await run_in_threadpool(caller.graph.corrections)).to_dict())


class MergeRequest(RequestBody):
    """Two names of the same thing."""

    one: ShortText
    other: ShortText


@router.get("/merges")
async def merges(caller: Reader, text: ShortText = "", limit: Limit = 100) -> JSONResponse:
    """List the concepts that were judged to be the same thing, only those with `text` in a name if it is given."""
    return JSONResponse((await run_in_threadpool(partial(caller.graph.merges, text, limit=limit))).to_dict())


@router.post("/merges")
async def merge(body: MergeRequest, caller: Editor) -> JSONResponse:
    """Judge two names to be the same thing."""
    return JSONResponse((await run_in_threadpool(caller.graph.merge, body.one, body.other)).to_dict())


@router.post("/merges/{merge_id}/undo")
async def undo_merge(merge_id: Id, caller: Editor) -> JSONResponse:
    """Undo a merge. `link` does not make it again."""
    return JSONResponse((await run_in_threadpool(caller.graph.undo_merge, merge_id)).to_dict())


@router.post("/merges/{merge_id}/redo")
async def redo_merge(merge_id: Id, caller: Editor) -> JSONResponse:
    """Restore a merge that was undone."""
    return JSONResponse((await run_in_threadpool(caller.graph.redo_merge, merge_id)).to_dict())
