"""Routes by which a person marks claims and answers as right or wrong."""

from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import StringConstraints
from starlette.concurrency import run_in_threadpool

from drag_graph.ports.correction_store import Correction, Verdict
from drag_graph.service.access import LOCAL, Caller
from drag_graph.service.asking_routes import SHORT_ID, Editor, Reader, RequestBody, ShortText
from drag_graph.service.errors import REPLIES

router = APIRouter(prefix="/api/v1/corrections", responses=REPLIES)


class CorrectionRequest(RequestBody):
    """A verdict on a claim or an answer; null undoes the last one."""

    id: Annotated[str, StringConstraints(pattern=SHORT_ID)]
    verdict: Verdict | None
    note: ShortText = ""


def corrected(caller: Caller, body: CorrectionRequest) -> Correction:
    """Mark a claim or an answer under the name of the key, or without a key, under that of the user who runs the service."""
    author = "" if caller.name == LOCAL else caller.name
    return caller.graph.correct(body.id, body.verdict, body.note, by=author)


@router.post("")
async def correct(body: CorrectionRequest, caller: Editor) -> JSONResponse:
    """Mark a claim or an answer as right or wrong, or undo that."""
    return JSONResponse((await run_in_threadpool(corrected, caller, body)).to_dict())


@router.get("")
async def corrections(caller: Reader) -> JSONResponse:
    """List all corrections, including undone ones, most recently changed first."""
    return JSONResponse((await run_in_threadpool(caller.graph.corrections)).to_dict())
