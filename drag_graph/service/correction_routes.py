"""Routes by which a person marks claims and answers as right or wrong, and names as the same thing."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import StringConstraints
from starlette.concurrency import run_in_threadpool

from drag_graph.ports.correction_store import Correction, Verdict
from drag_graph.service.access import LOCAL, Caller
from drag_graph.service.asking_routes import SHORT_ID, Editor, Id, Limit, Reader, RequestBody, ShortText
from drag_graph.service.errors import REPLIES

router = APIRouter(prefix="/api/v1", responses=REPLIES)


class CorrectionRequest(RequestBody):
    """A verdict on a claim or an answer; null undoes the last one."""

    id: Annotated[str, StringConstraints(pattern=SHORT_ID)]
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
