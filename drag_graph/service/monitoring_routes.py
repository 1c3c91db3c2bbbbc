"""Routes for monitoring: `/health`, `/ready`, `/metrics`."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.concurrency import run_in_threadpool

from drag_graph.service.access import Caller, requires
from drag_graph.service.discovery import instance_of
from drag_graph.service.errors import REPLIES
from drag_graph.service.jobs import JobQueue
from drag_graph.service.service_state import ServiceState, state_of

PATIENCE = 2.0
"""Seconds in which Neo4j must reply."""
router = APIRouter(responses=REPLIES)


@router.get("/health")
async def health(request: Request) -> dict[str, str]:
    """Report that the process responds; `instance` changes with each start. Needs no key."""
    return {"status": "ok", "instance": instance_of(state_of(request).local_token)}


@router.get("/ready")
async def ready(request: Request) -> JSONResponse:
    """Report whether questions are accepted: 503 while the service is stopping, or Neo4j does not reply. Needs no key."""
    state = state_of(request)
    status = "stopping" if state.asks.is_closed else "ready" if await store_replies(state) else "no store"
    return JSONResponse({"status": status}, 200 if status == "ready" else 503)


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}})
async def metrics(request: Request, _caller: Annotated[Caller, Depends(requires("admin"))]) -> Response:
    """Report the counters of all namespaces in the format of Prometheus."""
    return Response(await run_in_threadpool(_measured, request), media_type=CONTENT_TYPE_LATEST)


async def store_replies(state: ServiceState) -> bool:
    """Whether Neo4j replies within `PATIENCE`. Only one check runs at a time, also if nothing replies."""
    if not state.graph.settings.uses_neo4j:
        return True
    if state.check is None or state.check.done():
        query = partial(state.graph.store.query, "RETURN 1", timeout=PATIENCE)
        state.check = asyncio.create_task(run_in_threadpool(query))
    done, _ = await asyncio.wait({state.check}, timeout=PATIENCE)
    return bool(done) and state.check.exception() is None


def _measured(request: Request) -> bytes:
    state = state_of(request)
    jobs: JobQueue = request.app.state.jobs
    state.metrics.queue.labels("running").set(state.asks.running)
    state.metrics.queue.labels("waiting").set(state.asks.waiting)
    for name, number in jobs.table.counts().items():
        state.metrics.jobs.labels(name).set(number)
    state.metrics.cost.set(jobs.table.spent_usd())
    store = Path(state.graph.settings.store).expanduser()
    if not state.graph.settings.uses_neo4j and store.is_file():
        state.metrics.store_bytes.set(store.stat().st_size)
    return generate_latest(state.metrics.registry)
