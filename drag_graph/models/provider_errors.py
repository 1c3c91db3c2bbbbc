"""What an error of LiteLLM means. Its text can hold the prompt and the key: only `reasons` passes any of it on."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from drag_graph.errors import (
    ContextOverflow,
    DragGraphError,
    ModelAccessDenied,
    ModelUnavailable,
    RefusedReply,
    ReplyError,
    UnknownModel,
)
from drag_graph.models.refusal_reasons import reason_of

LONGEST_RETRY_AFTER = 600.0


class RequestRejected(ReplyError):  # noqa: N818
    """The server would not take this request (HTTP 400, 413, 422): its form or size does not suit it."""

    status: int | None = None
    """The HTTP status, where there is one."""


def host_of(address: str) -> str:
    """Return an address's host and port: without user, password, path and query, any of which can hold a secret."""
    parts = urlsplit(address)
    return f"{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}"


@dataclass(frozen=True, slots=True)
class Target:
    """The model that a request went to, by LiteLLM's name, and what no error may quote: its key and the words sent to it.

    `key_names` says which variable holds the key.
    """

    model: str
    base_url: str
    key_names: Callable[[], str] = str
    key: str = field(default="", repr=False)
    sent: Callable[[], str] = str

    @property
    def where(self) -> str:
        """Who answers, for people."""
        if not self.base_url:
            return f"the provider of {self.model!r}"
        return f"the model server at {host_of(self.base_url)}"

    @property
    def shown(self) -> str:
        """The model's name as its server knows it."""
        return self.model.removeprefix("openai/") if self.base_url else self.model


@dataclass(frozen=True, slots=True)
class Failure:
    """What an attempt ran into. `error` is raised when it is final.

    `repeatable`: another attempt may help. `unreachable`: nothing answered at the address. `retry_after`: the seconds that the
    server asks to wait. `billed`: the lost reply may have been charged.
    """

    error: DragGraphError
    repeatable: bool = False
    unreachable: bool = False
    retry_after: float | None = None
    billed: bool = False


def judge(kinds: Any, error: Exception, target: Target) -> Failure:
    """Decide what an error of LiteLLM means; `kinds` is its module `exceptions`."""
    import httpx

    final = _final(kinds, error, target)
    if final is not None:
        return Failure(final)
    if any(isinstance(link, httpx.ConnectError) for link in _chain(error)) or "Connection refused" in str(error):
        return unavailable(target, "it cannot be reached", unreachable=True)
    status, answered = getattr(error, "status_code", None), _headers(error) is not None
    if isinstance(error, kinds.Timeout) and not answered:
        return unavailable(target, "no answer in time", billed=True)
    if isinstance(error, kinds.Timeout | kinds.RateLimitError) or status in {408, 409, 425, 429} or (status or 500) >= 500:  # noqa: PLR2004
        reason = f"it answers HTTP {status}" if answered else "the connection broke off or gave no usable answer"
        return unavailable(target, reason, retry_after=_retry_after(_headers(error)), billed=not answered)
    reason = reason_of(_chain(error), target.sent(), target.key)
    rejected = RequestRejected(f"{target.where} rejected the request (HTTP {status}){reason and f': {reason}'}")
    rejected.status = status
    return Failure(rejected)


def unavailable(target: Target, reason: str, *, retry_after: float | None = None, **facts: bool) -> Failure:
    """Return the failure that another attempt may mend, unless the server asks for a wait beyond all patience."""
    patient = retry_after is None or retry_after <= LONGEST_RETRY_AFTER
    if not patient:
        reason = f"{reason} and asks to wait {retry_after:.0f} s"
    hint = "Is it running, and is its address right? Finished work is kept: run the same command again to go on."
    error = ModelUnavailable(f"{target.where} is not available: {reason}", hint=hint)
    return Failure(error, repeatable=patient, retry_after=retry_after, **facts)


def _final(kinds: Any, error: Exception, target: Target) -> DragGraphError | None:
    """Return what to raise for an error that no repetition mends, or None."""
    status, codes = getattr(error, "status_code", None), _codes(error)
    if isinstance(error, kinds.AuthenticationError) or status in {401, 403}:
        hint = f"Set {target.key_names()} to a key that is valid there."
        return ModelAccessDenied(f"{target.where} refused the key (HTTP {status})", hint=hint)
    if isinstance(error, kinds.NotFoundError):
        hint = "Check the model's name, and the base URL if one is given (it usually ends in /v1)."
        return UnknownModel(f"{target.where} does not know the model {target.shown!r}", hint=hint)
    if isinstance(error, kinds.ContextWindowExceededError) or "context_length_exceeded" in codes:
        return ContextOverflow(f"the prompt is longer than {target.shown!r} takes")
    if isinstance(error, kinds.ContentPolicyViolationError) or codes & {"content_policy_violation", "content_filter"}:
        return RefusedReply(f"the content filter of {target.where} stopped the request")
    if "insufficient_quota" in codes:
        hint = "Top up the account or raise its limit, then run the same command again."
        return ModelUnavailable(f"{target.where} says that the account's quota is used up", hint=hint)
    return None


def _codes(error: BaseException) -> set[str]:
    """Return the machine-readable codes that the server gave; LiteLLM keeps them only on the error underneath its own."""
    return {str(code) for link in _chain(error) if (code := getattr(link, "code", None))}


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__ or link.__context__


def _headers(error: Exception) -> Mapping[str, str] | None:
    found = getattr(error, "litellm_response_headers", None)
    if found is None:
        found = getattr(getattr(error, "response", None), "headers", None)
    return found or None


def _retry_after(headers: Mapping[str, str] | None) -> float | None:
    """Return the seconds that Retry-After asks for (a number or an HTTP date), or None."""
    value = (headers or {}).get("retry-after", "").strip()
    if not value:
        return None
    try:
        return max(float(value), 0.0)
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)
