"""Errors as replies: `{"error": {"type", "message", "hint"}}`, or under /v1/ OpenAI's shape, and a status for each class."""

import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException

from drag_graph import errors, log

OPENAI_PATHS = "/v1/"
OPENAI_STATUSES = {422: 400}
"""Statuses that are others there."""
TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
CODES = {
    "KeyRefused": "invalid_api_key",
    "TooManyRequests": "rate_limit_exceeded",
    "ContextOverflow": "context_length_exceeded",
    "ModelUnknown": "model_not_found",
    "ParameterUnsupported": "unsupported_parameter",
}
"""OpenAI's codes of our errors. Others have our type as their code."""


class OpenAIErrorDetail(BaseModel):
    """What failed. `param` is the parameter that is refused, if the error is about one."""

    message: str
    type: str
    param: str | None
    code: str


class OpenAIErrorReply(BaseModel):
    """The body of every error under /v1/."""

    error: OpenAIErrorDetail


OPENAI_REPLIES: dict[int | str, dict[str, Any]] = {"4XX": {"model": OpenAIErrorReply}, "5XX": {"model": OpenAIErrorReply}}
"""Errors in the schema of a route."""


def openai_error(body: Mapping[str, Any], status: int, param: str | None = None) -> dict[str, Any]:
    """Return the body of one of our errors in OpenAI's shape. The hint is part of the message."""
    error = body["error"]
    kind = TYPES.get(status, "invalid_request_error" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "server_error")
    message = f"{error['message']} {error['hint']}".strip()
    return {"error": {"message": message, "type": kind, "param": param, "code": CODES.get(error["type"], error["type"])}}


STATUSES: Mapping[type[errors.DragGraphError], int] = {
    errors.DragGraphError: 500,
    errors.ConfigurationError: 422,
    errors.MissingExtra: 501,
    errors.SubgraphRefused: 422,
    errors.StoreUnavailable: 503,
    errors.StoreLocked: 503,
    errors.NotStored: 404,
    errors.ModelError: 502,
    errors.ModelUnavailable: 503,
    errors.CloudError: 502,
    errors.CloudUnavailable: 503,
    errors.ReplyError: 502,
    errors.ContextOverflow: 422,
    errors.QueryInvalid: 422,
    errors.DocumentUnusable: 422,
    errors.Withheld: 403,
    errors.AwaitsBatch: 409,
    errors.BudgetReached: 402,
    errors.Interrupted: 503,
}
"""The status of each class. A class that is not listed has the status of its parent."""
SITE_PATHS = ("/v1/hello", "/v1/questions", "/v1/audits", "/v1/summaries", "/v1/work")
"""Beginnings of the paths for the sites of a cloud, whose errors have one field `detail` (`drag_graph.sites.wire`)."""
LATER = {"Retry-After": "5"}
"""Header of a reply to a request that may succeed in a few seconds."""
LONGEST_MESSAGE = 300


class ErrorDetail(BaseModel):
    """What failed, and how to fix it."""

    type: str
    message: str
    hint: str


class ErrorReply(BaseModel):
    """The body of every reply that is an error."""

    error: ErrorDetail


class RequestRefused(HTTPException):
    """Refusal of a request before the application receives it. `kind` is the `type` of the error."""

    def __init__(
        self, status: int, kind: str, message: str, *, hint: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, message, headers)
        self.kind = kind
        self.hint = hint


REPLIES: dict[int | str, dict[str, Any]] = {"4XX": {"model": ErrorReply}, "5XX": {"model": ErrorReply}}
"""Errors in the schema of a route."""


def status_of(error: BaseException) -> int:
    """Return the HTTP status of an error."""
    if isinstance(error, HTTPException):
        return error.status_code
    return next((STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES), 500)


def body_of(error: BaseException) -> dict[str, Any]:
    """Return the body of an error. The body of an unexpected error contains no details."""
    match error:
        case errors.DragGraphError():
            kind, message, hint = type(error).__name__, str(error), error.hint
        case RequestRefused():
            kind, message, hint = error.kind, error.detail, error.hint
        case HTTPException():
            kind, message, hint = "HTTPError", f"{error.detail}.", "The routes are listed at /openapi.json."
        case RequestValidationError():
            kind, message, hint = "RequestInvalid", first_problem(error), "The schema of the request is at /openapi.json."
        case _:
            kind, message = "InternalError", "The service failed. This is a fault of drag-graph."
            hint = "Report it, with the log line that has the X-Request-Id of this reply."
    return {"error": {"type": kind, "message": message, "hint": hint}}


def reply_to(error: BaseException, path: str = "") -> JSONResponse:
    """Return the reply to a request for `path` that ended with an error, and log an unexpected one."""
    status = 422 if isinstance(error, RequestValidationError) else status_of(error)
    log_unexpected(error)
    headers = dict(getattr(error, "headers", None) or {}) | (LATER if getattr(error, "retryable", False) else {})
    if path.startswith(SITE_PATHS):
        is_ours = isinstance(error, errors.DragGraphError)  # says nothing about the store
        detail = "the store or the embedder of the cloud failed" if is_ours else body_of(error)["error"]["message"]
        return JSONResponse({"detail": detail}, 503 if is_ours else status, headers)
    if path.startswith(OPENAI_PATHS):
        body = openai_error(body_of(error), status, getattr(error, "param", None))
        return JSONResponse(body, OPENAI_STATUSES.get(status, status), headers)
    return JSONResponse(body_of(error), status, headers)


def log_unexpected(error: BaseException) -> None:
    """Log an error that is a fault of drag-graph, without its text, which may contain a question."""
    if not isinstance(error, errors.DragGraphError | HTTPException | RequestValidationError):
        log.event("failed", level=logging.ERROR, reason=type(error).__name__)


def add_error_handlers(app: FastAPI, page_of: Callable[[Request, Exception], Response]) -> None:
    """Let the application reply to errors in our shape: to browsers with `page_of`, except under /api and /v1."""

    async def handle(request: Request, error: Exception) -> Response:
        path = request.url.path
        is_browser = "text/html" in request.headers.get("accept", "") and not path.startswith(("/api/", "/v1/"))
        return page_of(request, error) if is_browser else reply_to(error, path)

    for kind in (errors.DragGraphError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, handle)


def first_problem(error: RequestValidationError | ValidationError) -> str:
    """Return the first problem of an invalid request, without the value."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}."[:LONGEST_MESSAGE]
