"""What an error of a model server means: final, or worth another attempt.

The text of such an error can contain the prompt and the key. Only `reason_of` passes any of it on.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from drag_graph.errors import (
    ContextOverflow,
    DragGraphError,
    ModelAccessDenied,
    ModelUnavailable,
    RefusedReply,
    ReplyError,
    UnknownModel,
)
from drag_graph.models.model_server import Server

LONGEST_RETRY_AFTER = 600.0
_RETRYABLE = {408, 409, 425, 429}
_REJECTED = {400, 413, 422}
_SERVER_ERROR = 500
_TOO_LONG = re.compile(
    r"exceed context limit|maximum context (?:length is|limit)|the model's context length"
    r"|input tokens exceed the configured limit|exceeds the (?:available context size|maximum number of tokens allowed)",
    re.IGNORECASE,
)
LONGEST_REASON = 200
_HIDDEN = "\u2026"
_WRAPPED = re.compile(r"^(?:litellm\.\w+: )?(?:\w+Exception - )?")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]*@|\?\S*=\S*|\b(?:bearer|basic)\s+\S+", re.IGNORECASE)
_KEY = re.compile(r"(?=[\w.+/=-]*\d)(?=[\w.+/=-]*[A-Za-z])[\w.+/=-]{16,}|\b(?:sk|pk|key|token)-[\w-]+", re.IGNORECASE)
_LINE_BREAK = re.compile(r"\\+[nrtbf]")
"""A line break or tab as a server writes it when it quotes the request as JSON or Python."""
_WORD = re.compile(r"\w+")
_REPEATED = re.compile(rf"{_HIDDEN}(?:[^\w{_HIDDEN}]{{0,3}}{_HIDDEN})+")
_SHORT = 4
_PLAIN = frozenset(["does", "from", "have", "must", "only", "such", "than", "that", "this", "when", "will", "with", "your"])


class RequestRejected(ReplyError):  # noqa: N818
    """The server rejected the form or the size of a request (HTTP 400, 413, 422)."""

    status: int | None = None
    """The HTTP status, if the server sent one."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed attempt. `error` is raised when it is final.

    `repeatable`: another attempt may help. `unreachable`: nothing answered at the address. `retry_after`: the seconds that the
    server asks to wait. `billed`: the lost reply may have been charged.
    """

    error: DragGraphError
    repeatable: bool = False
    unreachable: bool = False
    retry_after: float | None = None
    billed: bool = False


def judge(error: Exception, server: Server, call: Mapping[str, Any]) -> Failure:
    """Classify an error of LiteLLM, of httpx, or an HttpFailure. No error quotes the texts of `call`."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    status, headers = getattr(error, "status_code", None), _headers(error)
    final = _final_error(kinds, status, error, server)
    if final is not None:
        return Failure(final)
    is_refused = any(type(link).__name__ == "ConnectError" for link in _chain(error)) or "Connection refused" in str(error)
    if is_refused:
        return unavailable(server, "it cannot be reached", unreachable=True)
    if kinds & {"Timeout", "TimeoutException"} and headers is None:
        return unavailable(server, "no reply in time", billed=True)
    if "RateLimitError" in kinds or status in _RETRYABLE or (status or _SERVER_ERROR) >= _SERVER_ERROR:
        reason = f"it answers HTTP {status}" if headers is not None else "the connection broke or the reply was unusable"
        return unavailable(server, reason, retry_after=_retry_after(headers), billed=headers is None)
    reason = reason_of(_chain(error), _texts_of(call), server.api_key)
    rejected = RequestRejected(f"{_capitalised(server.where)} rejected the request (HTTP {status}){reason and f': {reason}'}.")
    rejected.status = status
    return Failure(rejected)


def unavailable(server: Server, reason: str, *, retry_after: float | None = None, **facts: bool) -> Failure:
    """Return a failure that another attempt may fix, unless the server asks for too long a wait."""
    is_patient = retry_after is None or retry_after <= LONGEST_RETRY_AFTER
    if not is_patient:
        reason = f"{reason} and asks to wait {retry_after:.0f} s"
    hint = "Check that it is running and that its address is right. Completed work is kept; the same command resumes it."
    error = ModelUnavailable(f"{_capitalised(server.where)} is not available: {reason}.", hint=hint)
    return Failure(error, repeatable=is_patient, retry_after=retry_after, **facts)


def _final_error(kinds: set[str], status: int | None, error: Exception, server: Server) -> DragGraphError | None:
    """Return the exception for an error that no repetition fixes, or None."""
    codes = {str(code) for link in _chain(error) if (code := getattr(link, "code", None))}
    where = _capitalised(server.where)
    if "AuthenticationError" in kinds or status in {401, 403}:
        return ModelAccessDenied(f"{where} refused the key (HTTP {status}).", hint=f"Set {server.key_names()} to a valid key.")
    if "NotFoundError" in kinds or status == 404:  # noqa: PLR2004
        hint = "Check the model's name, and the base URL if there is one (it usually ends in /v1)."
        return UnknownModel(f"{where} does not know the model {server.model!r}.", hint=hint)
    is_too_long = status in _REJECTED and any(_TOO_LONG.search(message_of(link)) for link in _chain(error))
    if "ContextWindowExceededError" in kinds or "context_length_exceeded" in codes or is_too_long:
        return ContextOverflow(f"The prompt is too long for {server.model!r}.")
    if "ContentPolicyViolationError" in kinds or codes & {"content_policy_violation", "content_filter"}:
        return RefusedReply(f"The content filter of {server.where} blocked the request.")
    if "insufficient_quota" in codes:
        hint = "Top up the account or raise its limit, then run the same command again."
        return ModelUnavailable(f"The quota of {server.where} is used up.", hint=hint)
    return None


def _texts_of(call: Mapping[str, Any]) -> str:
    """Return the texts of a completion, an embedding or a rerank request."""
    messages = (message["content"] for message in call.get("messages", ()))
    return " ".join([*messages, *call.get("input", ()), call.get("query", ""), *call.get("documents", ())])


def _capitalised(phrase: str) -> str:
    return f"{phrase[:1].upper()}{phrase[1:]}"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes. LiteLLM keeps the server's code and message only on a cause."""
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__ or link.__context__


def _headers(error: Exception) -> Mapping[str, str] | None:
    """Return the headers of the server's answer, or None if there was no answer."""
    headers = getattr(error, "litellm_response_headers", None)
    return (getattr(getattr(error, "response", None), "headers", None) if headers is None else headers) or None


def _retry_after(headers: Mapping[str, str] | None) -> float | None:
    """Return the seconds that Retry-After asks for (a number or an HTTP date), or None."""
    value = (headers or {}).get("retry-after", "").strip()
    with suppress(ValueError):
        return max(float(value), 0.0)
    with suppress(ValueError):
        moment = parsedate_to_datetime(value)
        return max((moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds(), 0.0)
    return None


def reason_of(errors: Iterable[BaseException], sent: str, key: str) -> str:
    """Return the server's message from the first of `errors` (a chain) that has one, else "".

    `key`, anything that looks like a key or credentials, and the words of `sent` are hidden, except short and common words.
    """
    reason = next((text for error in errors if (text := message_of(error))), "")
    reason = _ESCAPE.sub(lambda code: chr(int(code[1], 16)), _WRAPPED.sub("", reason))
    reason = _LINE_BREAK.sub(" ", reason)
    reason = " ".join("".join(sign if sign.isprintable() else " " for sign in reason).split())
    if key:
        reason = reason.replace(key, _HIDDEN)
    reason = _KEY.sub(_HIDDEN, _CREDENTIALS.sub(_HIDDEN, reason))
    sent_words = {word.casefold() for word in _WORD.findall(sent)}
    reason = _WORD.sub(lambda word: _HIDDEN if _is_sent(word[0], sent_words) else word[0], reason)
    reason = _REPEATED.sub(_HIDDEN, reason)
    return reason if len(reason) <= LONGEST_REASON else f"{reason[: LONGEST_REASON - 1]}{_HIDDEN}"


def message_of(error: BaseException) -> str:
    """Return the server's own message from an exception, "" if there is none."""
    body: Any = getattr(error, "body", None)
    for name in ("error", "detail", "message"):
        if isinstance(body, Mapping) and name in body:
            body = body[name]
    return body if isinstance(body, str) else str(getattr(error, "message", ""))


def _is_sent(word: str, sent_words: set[str]) -> bool:
    """Return whether a word of the server's message reveals a word of the request or the beginning of one."""
    folded = word.casefold()
    if folded in _PLAIN or (len(word) < _SHORT and word.isascii() and (word.islower() or word.isdigit())):
        return False
    return folded in sent_words or any(one.startswith(folded) or (not word.isascii() and folded in one) for one in sent_words)
