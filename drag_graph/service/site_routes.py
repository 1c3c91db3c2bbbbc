"""Routes of a cloud: for its sites under `/v1`, each with a token of its own, and for `drag-graph cloud edges`.

Bodies have a maximum size and are validated before anything else happens.
"""

import asyncio
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException as Refusal
from starlette.requests import ClientDisconnect

from drag_graph import log
from drag_graph.errors import NotStored
from drag_graph.ports.site_registry import RegisteredSite, site_id
from drag_graph.service.access import require_owner
from drag_graph.service.asking_routes import Admin
from drag_graph.sites import wire
from drag_graph.sites.cloud.cloud import Cloud
from drag_graph.sites.cloud.work_board import SiteTask

NOT_YOURS = "no open work with this id: it was answered, its deadline has passed, or it belongs to another site"
STRANGER = "the cloud does not know this site by this token"
Form = TypeVar("Form", bound=BaseModel)
router = APIRouter(include_in_schema=False)


async def cloud_of(request: Request) -> Cloud:
    """Return the cloud that received a request."""
    cloud: Cloud = request.app.state.cloud
    return cloud


ThisCloud = Annotated[Cloud, Depends(cloud_of)]


async def site_of(request: Request, cloud: ThisCloud) -> RegisteredSite:
    """Return the site that sent a request. Raises HTTPException without its token."""
    name, _, token = request.headers.get("authorization", "").removeprefix("Bearer ").partition(":")
    site = await asyncio.to_thread(cloud.authenticated, name, token) if name and token else None
    if site is None:
        raise HTTPException(401, STRANGER)
    return site


async def managed_cloud(cloud: ThisCloud, caller: Admin) -> Cloud:
    """Return the cloud for a command on this machine. Raises NotStored if its sites are in another namespace."""
    require_owner(caller)
    if caller.graph.settings.namespace != cloud.store.namespace:
        raise NotStored("The cloud is in another namespace.")
    return cloud


Caller = Annotated[RegisteredSite, Depends(site_of)]
ManagedCloud = Annotated[Cloud, Depends(managed_cloud)]


@router.post("/v1/hello")
async def hello(request: Request, cloud: ThisCloud) -> wire.CloudProof:
    """Prove to a site that this is its cloud."""
    body = await _body(request, wire.Hello, "hello")
    token_hash = await asyncio.to_thread(cloud.token_hash_of, body.name)
    return wire.CloudProof(proof=wire.proof_of(token_hash, body.name, body.nonce), version=wire.VERSION)


@router.post("/v1/questions")
async def questions(request: Request, cloud: ThisCloud, site: Caller) -> wire.CloudAnswer:
    """Answer a site's question from what other sites release."""
    return await cloud.asker.ask(await _body(request, wire.CloudQuestion, "question"), site)


@router.post("/v1/audits")
async def audits(request: Request, cloud: ThisCloud, site: Caller) -> wire.SiteOrigins:
    """Ask other sites what is behind the lines of an answer."""
    body = await _body(request, wire.CloudAudit, "audit")
    return await cloud.asker.origins(body.lines, site)


@router.post("/v1/summaries/sync")
async def sync(request: Request, cloud: ThisCloud, site: Caller) -> wire.Wanted:
    """Erase the summaries that a site no longer has, and say which ones it must send."""
    body = await _body(request, wire.Hashes, "sync")
    send, erased = await asyncio.to_thread(cloud.sync, site, body.hashes)
    return wire.Wanted(send=tuple(send), dropped=erased)


@router.post("/v1/summaries")
async def upload(request: Request, cloud: ThisCloud, site: Caller) -> None:
    """Store summaries of a site."""
    body = await _body(request, wire.Summaries, "summaries")
    if not await asyncio.to_thread(cloud.upload, site, body.summaries):
        raise HTTPException(401, STRANGER)


@router.get("/v1/work", response_model=wire.SiteWork)
async def work(
    request: Request,
    cloud: ThisCloud,
    site: Caller,
    wait: Annotated[float, Query(ge=0, le=wire.LONGEST_POLL, allow_inf_nan=False)] = wire.LONGEST_POLL,
) -> Any:
    """Wait for work for a site."""
    disconnection = asyncio.ensure_future(_disconnected(request))
    try:
        task = await cloud.board.next(site.id, wait, disconnection)
    finally:
        disconnection.cancel()
    return Response(status_code=204) if task is None else task


@router.post("/v1/work/{work_id}")
async def reply(request: Request, work_id: str, cloud: ThisCloud, site: Caller) -> None:
    """Take a site's reply to its work."""
    task = cloud.board.open_task(site.id, work_id)
    if task is None:
        await _refuse(cloud, site, 409, NOT_YOURS)
    else:
        await _take(cloud, site, task, request)


@router.get("/api/v1/sites")
async def sites(cloud: ManagedCloud) -> list[dict[str, Any]]:
    """List the sites."""
    return await asyncio.to_thread(cloud.listing)


@router.post("/api/v1/sites/compact")
async def compact(cloud: ManagedCloud) -> dict[str, str]:
    """Rewrite an embedded store's file without deleted text."""
    return {"store": await asyncio.to_thread(cloud.stored.compact)}


@router.put("/api/v1/sites/{name}")
async def add(name: str, cloud: ManagedCloud) -> dict[str, str]:
    """Register a site."""
    return {"token": await asyncio.to_thread(cloud.stored.add, name)}


@router.delete("/api/v1/sites/{name}")
async def remove(name: str, cloud: ManagedCloud) -> None:
    """Remove a site and its summaries."""
    await asyncio.to_thread(cloud.stored.remove, name)
    cloud.board.forget(site_id(cloud.store.namespace, name))


async def _body(request: Request, form: type[Form], kind: str) -> Form:
    """Return the body of a request. Raises HTTPException if it is too large or invalid."""
    content = bytearray()
    try:
        async for part in request.stream():
            content += part
            if len(content) > wire.LARGEST[kind]:
                raise HTTPException(413, f"more than {wire.LARGEST[kind]} bytes")
    except ClientDisconnect:
        raise HTTPException(408, "the body did not arrive in time") from None
    try:
        return form.model_validate_json(bytes(content))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:100]
        raise HTTPException(422, f"invalid body of kind {kind!r}: {where}: {first['msg']}"[:300]) from None


async def _disconnected(request: Request) -> None:
    """Return when the client has disconnected."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _take(cloud: Cloud, site: RegisteredSite, task: SiteTask, request: Request) -> None:
    """Record a site's reply. An unusable reply still counts as the site's only reply."""
    try:
        form: type[wire.SiteReply | wire.SiteOrigins] = wire.SiteOrigins if task.work.lines else wire.SiteReply
        body = await _body(request, form, "passages")
    except Refusal as error:
        cloud.board.finish(task, f"its reply was refused: {error.detail}")
        await _refuse(cloud, site, error.status_code, str(error.detail))
    else:
        cloud.board.finish(task, body)


async def _refuse(cloud: Cloud, site: RegisteredSite, status: int, why: str) -> None:
    """Count an unusable reply of a site, and refuse it."""
    log.event("reply refused", site=site.id, status=status)
    await asyncio.to_thread(cloud.touch, site, refused=1)
    raise HTTPException(status, why)
