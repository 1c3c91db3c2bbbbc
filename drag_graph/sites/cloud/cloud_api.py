"""The cloud's two HTTP services: one for edges, and one on this machine's loopback for `drag-graph cloud edges`.

Bodies are read up to a bound and validated before anything is done with them. The second service is there because one process
at a time writes to an embedded store, and that is this one.
"""

import asyncio
import hmac
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect

from drag_graph import log
from drag_graph.errors import ConfigurationError, DragGraphError
from drag_graph.manage.erasing import compact
from drag_graph.ports.graph_store import GraphStore
from drag_graph.ports.model_roles import Embedder
from drag_graph.ports.site_registry import RegisteredEdge, SharedSummary, edge_id
from drag_graph.sites import wire
from drag_graph.sites.cloud.cloud_asker import CloudAsker
from drag_graph.sites.cloud.cloud_audit import origins
from drag_graph.sites.cloud.site_tokens import add_edge, remove_edge
from drag_graph.sites.cloud.work_board import EdgeTask, WorkBoard

READING_TIME = 30.0
"""Seconds that a body may take to arrive."""
TOUCHED_EVERY = 30.0
"""Seconds between two notes in the store that an edge was heard of."""
NOT_YOURS = "no such work: it was answered, it is over, or it is not yours"
NO_TELEMETRY: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
STRANGER = "the cloud does not know this edge, or its token is another"
Caller = Callable[[Request], Awaitable[RegisteredEdge]]
_Body = TypeVar("_Body", bound=BaseModel)


class Cloud:
    """What both services share: the store, the open questions, and who was heard of when."""

    def __init__(self, store: GraphStore, embedder: Embedder, asker: CloudAsker, board: WorkBoard) -> None:
        self.store = store
        self.embedder = embedder
        self.asker = asker
        self.board = board
        self._touched: dict[str, float] = {}
        self._is_compacting = False
        self._stranger = secrets.token_hex(32)
        """What a proof to an unknown name is made with, so that nobody can find out which names are known."""

    def known_hash(self, name: str) -> str:
        """Return the hash of an edge's token; for an unknown one something that nobody else can know."""
        found = self.store.registry.edges([edge_id(self.store.namespace, name)])
        return found[0].token_sha256 if found else self._stranger

    def authenticated(self, name: str, token: str) -> RegisteredEdge | None:
        """Return the edge of that name, where the token is its."""
        found = self.store.registry.edges([edge_id(self.store.namespace, name)])
        if not found or not hmac.compare_digest(found[0].token_sha256, wire.token_hash(token)):
            return None
        is_due = time.monotonic() - self._touched.get(found[0].id, -TOUCHED_EVERY) >= TOUCHED_EVERY
        if is_due and not self._is_compacting:  # who writes waits for that, and there are few threads
            self.touch(found[0])
        return found[0]

    def compact(self) -> str:
        """Write an embedded store's file anew, without what was withdrawn; return what is left on disk, in words."""
        self._is_compacting = True
        try:
            return compact(self.store)
        finally:
            self._is_compacting = False

    def touch(self, edge: RegisteredEdge, *, refused: int = 0) -> None:
        """Note in the store that an edge was heard of."""
        self._touched[edge.id] = time.monotonic()
        self.store.registry.touch(edge.id, datetime.now(UTC).isoformat(timespec="seconds"), refused=refused)

    def upload(self, edge: RegisteredEdge, summaries: Sequence[wire.SummaryText]) -> bool:
        """Store summaries. Vectors and hashes are made here: an edge's own could draw every question to it."""
        vectors = self.embedder.embed([item.text for item in summaries])
        written = [
            SharedSummary(item.key, wire.token_hash(item.text), item.text, tuple(float(number) for number in vector))
            for item, vector in zip(summaries, vectors, strict=True)
        ]
        return self.store.registry.upload(edge.id, written)

    def listing(self) -> list[dict[str, Any]]:
        """Return the edges as `cloud edges` shows them."""
        return [{**asdict(edge), "online": self.board.is_online(edge.id)} for edge in self.store.registry.edges()]


def edge_app(cloud: Cloud) -> FastAPI:
    """Return the service for edges."""
    app = _app()

    async def caller(request: Request) -> RegisteredEdge:
        name, _, token = request.headers.get("authorization", "").removeprefix("Bearer ").partition(":")
        edge = await asyncio.to_thread(cloud.authenticated, name, token) if name and token else None
        if edge is None:
            raise HTTPException(401, STRANGER)
        return edge

    @app.post("/v1/hello")
    async def hello(request: Request) -> wire.CloudProof:
        body = await _body(request, wire.Hello, "hello")
        known = await asyncio.to_thread(cloud.known_hash, body.name)
        return wire.CloudProof(proof=wire.proof_of(known, body.name, body.nonce), version=wire.VERSION)

    @app.post("/v1/questions")
    async def questions(request: Request, edge: Annotated[RegisteredEdge, Depends(caller)]) -> wire.CloudAnswer:
        return await cloud.asker.ask(await _body(request, wire.CloudQuestion, "question"), edge)

    @app.post("/v1/audits")
    async def audits(request: Request, edge: Annotated[RegisteredEdge, Depends(caller)]) -> wire.EdgeOrigins:
        body = await _body(request, wire.CloudAudit, "audit")
        return await origins(cloud.store, cloud.board, edge, body.lines, cloud.asker.seconds)

    _add_summaries(app, cloud, caller)
    _add_work(app, cloud, caller)
    return app


def _add_summaries(app: FastAPI, cloud: Cloud, caller: Caller) -> None:
    """Add what an edge tells of itself."""

    @app.post("/v1/summaries/sync")
    async def sync(request: Request, edge: Annotated[RegisteredEdge, Depends(caller)]) -> wire.Wanted:
        body = await _body(request, wire.Hashes, "sync")
        send, dropped = await asyncio.to_thread(cloud.store.registry.sync, edge.id, body.hashes)
        return wire.Wanted(send=tuple(send), dropped=dropped)

    @app.post("/v1/summaries")
    async def upload(request: Request, edge: Annotated[RegisteredEdge, Depends(caller)]) -> wire.Stored:
        body = await _body(request, wire.Summaries, "summaries")
        if not await asyncio.to_thread(cloud.upload, edge, body.summaries):
            raise HTTPException(401, STRANGER)
        return wire.Stored(stored=len(body.summaries))

    @app.delete("/v1/summaries")
    async def withdraw(edge: Annotated[RegisteredEdge, Depends(caller)]) -> wire.Taken:
        await asyncio.to_thread(cloud.store.registry.sync, edge.id, {})
        return wire.Taken()


def _add_work(app: FastAPI, cloud: Cloud, caller: Caller) -> None:
    """Add what an edge is asked, and its replies."""

    @app.get("/v1/work", response_model=wire.EdgeWork)
    async def work(request: Request, edge: Annotated[RegisteredEdge, Depends(caller)], wait: float = wire.LONGEST_POLL) -> Any:
        gone = asyncio.ensure_future(_disconnected(request))
        try:
            found = await cloud.board.next(edge.id, min(max(wait, 0.0), wire.LONGEST_POLL), gone)
        finally:
            gone.cancel()
        return Response(status_code=204) if found is None else found

    @app.post("/v1/work/{work_id}")
    async def reply(request: Request, work_id: str, edge: Annotated[RegisteredEdge, Depends(caller)]) -> wire.Taken:
        task = cloud.board.open_task(edge.id, work_id)
        if task is None:
            await _refused(cloud, edge, 409, NOT_YOURS)
        else:
            await _taken(cloud, edge, task, request)
        return wire.Taken()


def operator_app(cloud: Cloud, token: str) -> FastAPI:
    """Return the service for `drag-graph cloud edges`, for who has read the token; it tells what failed."""
    app = _app(tells_all=True)

    async def operator(request: Request) -> None:
        if not hmac.compare_digest(request.headers.get("authorization", ""), f"Bearer {token}"):
            raise HTTPException(401, "not the operator's token")

    only_operator = [Depends(operator)]

    @app.get("/v1/edges", dependencies=only_operator)
    async def edges() -> list[dict[str, Any]]:
        return await asyncio.to_thread(cloud.listing)

    @app.post("/v1/edges/{name}", dependencies=only_operator)
    async def add(name: str) -> dict[str, str]:
        return {"token": await asyncio.to_thread(add_edge, cloud.store, name)}

    @app.delete("/v1/edges/{name}", dependencies=only_operator)
    async def remove(name: str) -> wire.Taken:
        await asyncio.to_thread(remove_edge, cloud.store, name)
        cloud.board.forget(edge_id(cloud.store.namespace, name))
        return wire.Taken()

    @app.post("/v1/compaction", dependencies=only_operator)
    async def compaction() -> dict[str, str]:
        return {"store": await asyncio.to_thread(cloud.compact)}

    return app


def _app(*, tells_all: bool = False) -> FastAPI:
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, telemetry=NO_TELEMETRY)

    async def failed(_request: Request, error: Exception) -> Response:
        if isinstance(error, ConfigurationError):
            return JSONResponse({"detail": str(error), "hint": error.hint}, 409)
        log.event("failed", level=logging.WARNING, reason=type(error).__name__)
        if tells_all and isinstance(error, DragGraphError):
            return JSONResponse({"detail": str(error), "hint": error.hint}, 503)
        return JSONResponse({"detail": "the cloud's own store or embedder fails"}, 503)

    app.add_exception_handler(DragGraphError, failed)
    return app


async def _body(request: Request, form: type[_Body], kind: str) -> _Body:
    """Return the body of a request. Raises HTTPException where it is too large, too slow or not of this form."""
    try:
        async with asyncio.timeout(READING_TIME):
            content = await _content(request, wire.LARGEST[kind])
    except (TimeoutError, ClientDisconnect):
        raise HTTPException(408, "the body did not arrive in time") from None
    try:
        return form.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:100]
        raise HTTPException(422, f"not a {kind} of this protocol: {where}: {first['msg']}"[:300]) from None


async def _content(request: Request, most: int) -> bytes:
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > most:
            raise HTTPException(413, f"more than {most} bytes")
    return bytes(content)


async def _disconnected(request: Request) -> None:
    """Return when the other side has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _taken(cloud: Cloud, edge: RegisteredEdge, task: EdgeTask, request: Request) -> None:
    """Take an edge's reply. One that is unusable is the only one, too, and the question goes on without it."""
    try:
        form: type[wire.EdgeReply | wire.EdgeOrigins] = wire.EdgeOrigins if task.work.lines else wire.EdgeReply
        said = await _body(request, form, "passages")
    except HTTPException as error:
        cloud.board.finish(task, f"its reply was refused: {error.detail}")
        await _refused(cloud, edge, error.status_code, str(error.detail))
    else:
        cloud.board.finish(task, said)


async def _refused(cloud: Cloud, edge: RegisteredEdge, status: int, why: str) -> None:
    """Count a reply that is not usable, and refuse it."""
    log.event("reply refused", edge=edge.id, status=status)
    await asyncio.to_thread(cloud.touch, edge, refused=1)
    raise HTTPException(status, why)
