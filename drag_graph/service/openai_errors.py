"""Errors in OpenAI's shape, for the routes under /v1/."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel

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
