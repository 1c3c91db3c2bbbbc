"""Routes for monitoring: `/health`, `/ready`, `/metrics`."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.concurrency import run_in_threadpool

from drag_graph.service.access import Caller, requires
from drag_graph.service.discovery import instance_of
from drag_graph.service.errors import REPLIES
from drag_graph.service.jobs import JobQueue
from drag_graph.service.service_state import state_of

router = APIRouter(responses=REPLIES)


@router.get("/health")
async def health(request: Request) -> dict[str, str]:
    """Report that the process responds; `instance` changes with each start. Needs no key."""
    return {"status": "ok", "instance": instance_of(state_of(request).local_token)}


@router.get("/ready")
async def ready(request: Request) -> JSONResponse:
    """Report whether questions are accepted: 503 while the service is stopping. Needs no key."""
    is_stopping = state_of(request).asks.is_closed
    return JSONResponse({"status": "stopping" if is_stopping else "ready"}, 503 if is_stopping else 200)


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}})
async def metrics(request: Request, _caller: Annotated[Caller, Depends(requires("admin"))]) -> Response:
    """Report the counters of all namespaces in the format of Prometheus."""
    return Response(await run_in_threadpool(_measured, request), media_type=CONTENT_TYPE_LATEST)


def _measured(request: Request) -> bytes:
    state = state_of(request)
    jobs: JobQueue = request.app.state.jobs
    state.metrics.queue.labels("running").set(state.asks.running)
    state.metrics.queue.labels("waiting").set(state.asks.waiting)
    for name, number in jobs.table.counts().items():
        state.metrics.jobs.labels(name).set(number)
    state.metrics.cost.set(jobs.table.spent_usd())
    state.metrics.measure_store(state.graph.settings)
    return generate_latest(state.metrics.registry)
