"""The cloud's two HTTP services: one for sites, and one on the loopback address for `drag-graph cloud edges`.

Bodies have a maximum size and are validated before anything else happens. The second service exists because only one process
can write to an embedded store.
"""

import asyncio
import hmac
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from fastapi import Depends, FastAPI, HTTPException, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect

from drag_graph import log
from drag_graph.errors import ConfigurationError, DragGraphError
from drag_graph.identity import sha256_of
from drag_graph.ports.graph_store import GraphStore
from drag_graph.ports.model_roles import Embedder
from drag_graph.ports.site_registry import RegisteredSite, SharedSummary, SiteChanges, site_id
from drag_graph.sites import wire
from drag_graph.sites.cloud.cloud_asker import CloudAsker
from drag_graph.sites.cloud.site_management import StoredSites
from drag_graph.sites.cloud.work_board import SiteTask, WorkBoard

READING_TIME = 30.0
"""Seconds in which a body must arrive."""
TOUCHED_EVERY = 30.0
"""Seconds between two updates of when a site was last seen."""
NOT_YOURS = "no open work with this id: it was answered, its deadline has passed, or it belongs to another site"
NO_TELEMETRY: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
STRANGER = "the cloud does not know this site by this token"
Caller = Callable[[Request], Awaitable[RegisteredSite]]
Form = TypeVar("Form", bound=BaseModel)


class Cloud:
    """The state of both services: the store, the open work, and when each site was last seen."""

    def __init__(self, store: GraphStore, embedder: Embedder, asker: CloudAsker, board: WorkBoard) -> None:
        self.store = store
        self.embedder = embedder
        self.asker = asker
        self.board = board
        self.stored = StoredSites(store)
        self._touched: dict[str, float] = {}
        self._stranger = secrets.token_hex(32)
        """Used for proofs to unknown names, so that nobody can find out which names are known."""

    def site(self, name: str) -> RegisteredSite | None:
        """Return the site with this name."""
        return next(iter(self.store.registry.sites([site_id(self.store.namespace, name)])), None)

    def token_hash_of(self, name: str) -> str:
        """Return the hash of a site's token; for an unknown name a secret of this process."""
        site = self.site(name)
        return site.token_sha256 if site else self._stranger

    def authenticated(self, name: str, token: str) -> RegisteredSite | None:
        """Return the site with this name, if the token is its own."""
        site = self.site(name)
        if site is None or not hmac.compare_digest(site.token_sha256, sha256_of(token)):
            return None
        if time.monotonic() - self._touched.get(site.id, -TOUCHED_EVERY) >= TOUCHED_EVERY:
            self.touch(site)
        return site

    def touch(self, site: RegisteredSite, *, refused: int = 0) -> None:
        """Record that a site was seen, and how many more of its replies were refused."""
        self._touched[site.id] = time.monotonic()
        self.store.registry.write(
            SiteChanges(site.id, seen_at=datetime.now(UTC).isoformat(timespec="seconds"), refused=refused)
        )

    def upload(self, site: RegisteredSite, summaries: Sequence[wire.SummaryText]) -> bool:
        """Store summaries. The cloud computes vectors and hashes, because a site's own could attract every question."""
        vectors = self.embedder.embed([item.text for item in summaries])
        shared = [
            SharedSummary(item.key, sha256_of(item.text), item.text, tuple(float(number) for number in vector))
            for item, vector in zip(summaries, vectors, strict=True)
        ]
        return self.store.registry.write(SiteChanges(site.id, summaries=shared))

    def sync(self, site: RegisteredSite, hashes: Mapping[str, str]) -> tuple[list[str], int]:
        """Erase the summaries of a site whose keys are not in `hashes`.

        Return the sorted keys whose summaries are missing or have another hash, and the number of erased summaries.
        """
        stored = self.store.registry.hashes(site.id)
        dropped = stored.keys() - hashes.keys()
        if dropped:
            self.store.registry.write(SiteChanges(site.id, dropped=dropped))
        return sorted(key for key, hash_ in hashes.items() if stored.get(key) != hash_), len(dropped)

    def listing(self) -> list[dict[str, Any]]:
        """Return the sites, as `cloud edges` lists them."""
        return [{**site, "online": self.board.is_online(site["id"])} for site in self.stored.sites()]


def site_app(cloud: Cloud) -> FastAPI:
    """Return the service for sites."""
    app = _app()

    async def caller(request: Request) -> RegisteredSite:
        name, _, token = request.headers.get("authorization", "").removeprefix("Bearer ").partition(":")
        site = await asyncio.to_thread(cloud.authenticated, name, token) if name and token else None
        if site is None:
            raise HTTPException(401, STRANGER)
        return site

    @app.post("/v1/hello")
    async def hello(request: Request) -> wire.CloudProof:
        body = await _body(request, wire.Hello, "hello")
        token_hash = await asyncio.to_thread(cloud.token_hash_of, body.name)
        return wire.CloudProof(proof=wire.proof_of(token_hash, body.name, body.nonce), version=wire.VERSION)

    @app.post("/v1/questions")
    async def questions(request: Request, site: Annotated[RegisteredSite, Depends(caller)]) -> wire.CloudAnswer:
        return await cloud.asker.ask(await _body(request, wire.CloudQuestion, "question"), site)

    @app.post("/v1/audits")
    async def audits(request: Request, site: Annotated[RegisteredSite, Depends(caller)]) -> wire.SiteOrigins:
        body = await _body(request, wire.CloudAudit, "audit")
        return await cloud.asker.origins(body.lines, site)

    _add_summaries(app, cloud, caller)
    _add_work(app, cloud, caller)
    return app


def _add_summaries(app: FastAPI, cloud: Cloud, caller: Caller) -> None:
    """Add the routes for the summaries of a site."""

    @app.post("/v1/summaries/sync")
    async def sync(request: Request, site: Annotated[RegisteredSite, Depends(caller)]) -> wire.Wanted:
        body = await _body(request, wire.Hashes, "sync")
        send, erased = await asyncio.to_thread(cloud.sync, site, body.hashes)
        return wire.Wanted(send=tuple(send), dropped=erased)

    @app.post("/v1/summaries")
    async def upload(request: Request, site: Annotated[RegisteredSite, Depends(caller)]) -> None:
        body = await _body(request, wire.Summaries, "summaries")
        if not await asyncio.to_thread(cloud.upload, site, body.summaries):
            raise HTTPException(401, STRANGER)


def _add_work(app: FastAPI, cloud: Cloud, caller: Caller) -> None:
    """Add the routes for work and its replies."""

    @app.get("/v1/work", response_model=wire.SiteWork)
    async def work(
        request: Request,
        site: Annotated[RegisteredSite, Depends(caller)],
        wait: Annotated[float, Query(ge=0, le=wire.LONGEST_POLL, allow_inf_nan=False)] = wire.LONGEST_POLL,
    ) -> Any:
        disconnection = asyncio.ensure_future(_disconnected(request))
        try:
            task = await cloud.board.next(site.id, wait, disconnection)
        finally:
            disconnection.cancel()
        return Response(status_code=204) if task is None else task

    @app.post("/v1/work/{work_id}")
    async def reply(request: Request, work_id: str, site: Annotated[RegisteredSite, Depends(caller)]) -> None:
        task = cloud.board.open_task(site.id, work_id)
        if task is None:
            await _refuse(cloud, site, 409, NOT_YOURS)
        else:
            await _take(cloud, site, task, request)


def operator_app(cloud: Cloud, token: str) -> FastAPI:
    """Return the service for `drag-graph cloud edges`. The token is in a file that only its owner can read."""

    async def operator(request: Request) -> None:
        if not hmac.compare_digest(request.headers.get("authorization", ""), f"Bearer {token}"):
            raise HTTPException(401, "not the operator's token")

    app = _app(Depends(operator), shows_errors=True)

    @app.get("/v1/sites")
    async def sites() -> list[dict[str, Any]]:
        return await asyncio.to_thread(cloud.listing)

    @app.post("/v1/sites/{name}")
    async def add(name: str) -> dict[str, str]:
        return {"token": await asyncio.to_thread(cloud.stored.add, name)}

    @app.delete("/v1/sites/{name}")
    async def remove(name: str) -> None:
        await asyncio.to_thread(cloud.stored.remove, name)
        cloud.board.forget(site_id(cloud.store.namespace, name))

    @app.post("/v1/compaction")
    async def compaction() -> dict[str, str]:
        return {"store": await asyncio.to_thread(cloud.stored.compact)}

    return app


def _app(*dependencies: Any, shows_errors: bool = False) -> FastAPI:
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, telemetry=NO_TELEMETRY, dependencies=dependencies)

    async def failed(_request: Request, error: Exception) -> Response:
        if isinstance(error, ConfigurationError):
            return JSONResponse({"detail": str(error), "hint": error.hint}, 409)
        log.event("failed", level=logging.WARNING, reason=type(error).__name__)
        if shows_errors and isinstance(error, DragGraphError):
            return JSONResponse({"detail": str(error), "hint": error.hint}, 503)
        return JSONResponse({"detail": "the store or the embedder of the cloud failed"}, 503)

    app.add_exception_handler(DragGraphError, failed)
    return app


async def _body(request: Request, form: type[Form], kind: str) -> Form:
    """Return the body of a request. Raises HTTPException if it is too large, too slow or invalid."""
    content = bytearray()
    try:
        async with asyncio.timeout(READING_TIME):
            async for part in request.stream():
                content += part
                if len(content) > wire.LARGEST[kind]:
                    raise HTTPException(413, f"more than {wire.LARGEST[kind]} bytes")
    except (TimeoutError, ClientDisconnect):
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
    except HTTPException as error:
        cloud.board.finish(task, f"its reply was refused: {error.detail}")
        await _refuse(cloud, site, error.status_code, str(error.detail))
    else:
        cloud.board.finish(task, body)


async def _refuse(cloud: Cloud, site: RegisteredSite, status: int, why: str) -> None:
    """Count an unusable reply of a site, and refuse it."""
    log.event("reply refused", site=site.id, status=status)
    await asyncio.to_thread(cloud.touch, site, refused=1)
    raise HTTPException(status, why)
