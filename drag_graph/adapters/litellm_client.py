"""One chat completion by LiteLLM, with the project's only retry loop (design, sections 7 and 8).

Teacher and student share it. LiteLLM's own retries, telemetry and console output are off; it reads its local price map. No
error message holds a key, a prompt or a reply: what a server said is looked at here and never passed on.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
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
from drag_graph.settings import prepare_libraries, process_environment

RETRIES = 5
RETRIES_UNREACHABLE = 3
LONGEST_WAIT = 60.0
LONGEST_RETRY_AFTER = 600.0
_GRACE = 0.25
_NO_KEY = "not-needed"
_NOISY_LOGGERS = {"LiteLLM": logging.CRITICAL, "openai": logging.WARNING, "httpx": logging.WARNING, "httpcore": logging.WARNING}

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered to one request.

    `finish_reason` is `stop`, `length` (cut off) or `content_filter`; `refusal` is the provider's own refusal text. Tokens are
    counts, `cost_usd` comes from LiteLLM's local price map (0 where the model has no price), `latency_ms` is that of the
    attempt that succeeded. `raw` is the response as a JSON document; `logprobs` the first choice's, or None.
    """

    text: str
    finish_reason: str
    tokens_in: int
    tokens_out: int
    cost_usd: float
    latency_ms: int
    raw: Mapping[str, Any] = field(repr=False)
    logprobs: Any = field(default=None, repr=False)
    refusal: str = ""


class RequestRejected(ReplyError):  # noqa: N818
    """The server would not take this request (HTTP 400, 413, 422): its form or size does not suit it."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """What an attempt ran into. `error` is raised when it is final; `billed` says that the lost reply may have been charged."""

    error: DragGraphError
    retries: int = 0
    retry_after: float | None = None
    billed: bool = False


def complete(
    model: str,
    messages: Sequence[Mapping[str, str]],
    *,
    base_url: str = "",
    api_key: str = "",
    timeout: float = 120.0,
    deadline: float | None = None,
    key_variable: str = "DRAG_GRAPH_TEACHER_API_KEY",
    on_lost: Callable[[bool], None] | None = None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
    **parameters: Any,
) -> Completion:
    """Return the model's answer; thread-safe.

    `timeout` is the wall-clock limit of one attempt in seconds, held against drip-fed bodies too; `deadline` that of
    all attempts and waits together (None: the retries are the only limit). `key_variable` is what the hint names
    when the server at `base_url` refuses the key. `on_lost` is called after an attempt whose reply got lost but may have been
    charged, with whether another attempt follows. `parameters` go to the model, without those that its provider does not know.

    Rate limits, timeouts, 5xx and broken connections are repeated at most 5 times after 1, 2, 4, 8, 16 s, or after what
    Retry-After says; a server that cannot be reached at all, at most 3 times.

    Raises ModelAccessDenied, UnknownModel, ModelUnavailable, ContextOverflow, RefusedReply (the provider's filter) and
    RequestRejected.
    """
    litellm = load_litellm()
    name = resolve(model, base_url)
    check_access(name, base_url=base_url, api_key=api_key)
    call = {
        "model": name,
        "messages": [dict(message) for message in messages],
        "num_retries": 0,
        "max_retries": 0,
        "drop_params": True,
        **parameters,
        **_address(name, base_url, api_key),
    }
    end = None if deadline is None else clock() + deadline
    attempt = 0
    while True:
        limit = timeout if end is None else min(timeout, max(end - clock(), 0.001))
        started = time.monotonic()
        outcome = _attempt(litellm, {**call, "timeout": limit}, limit, base_url, key_variable)
        if not isinstance(outcome, _Failure):
            return _completion(outcome, name, round((time.monotonic() - started) * 1000))
        wait = _wait(outcome, attempt)
        again = attempt < outcome.retries and (end is None or clock() + wait < end)
        if outcome.billed and on_lost is not None:
            on_lost(again)
        if not again:
            raise outcome.error
        attempt += 1
        _log.info("waiting for the model server", extra={"stage": "model", "attempt": attempt, "wait_s": wait})
        sleep(wait)


def load_litellm() -> Any:
    """Return the `litellm` module, quiet and offline except for the calls that it is asked to make."""
    prepare_libraries()
    import litellm

    litellm.suppress_debug_info = True
    litellm.turn_off_message_logging = True
    litellm.disable_hf_tokenizer_download = True
    for name, level in _NOISY_LOGGERS.items():
        logger = logging.getLogger(name)
        if logger.level < level:  # these log prompts and replies at lower levels
            logger.setLevel(level)
    return litellm


@lru_cache(maxsize=256)
def resolve(model: str, base_url: str = "") -> str:
    """Return the name that LiteLLM wants: with `base_url`, a name without a provider is one of an OpenAI-compatible server.

    Raises UnknownModel when no provider is known for the name.
    """
    litellm = load_litellm()
    prefix = model.split("/", 1)[0]
    if base_url:
        known = {provider.value for provider in litellm.LlmProviders}
        return model if "/" in model and prefix in known else f"openai/{model}"
    try:
        litellm.get_llm_provider(model)
    except litellm.exceptions.BadRequestError:
        hint = "Write PROVIDER/NAME (ollama/llama3.2, anthropic/claude-...), or give the server's address as base URL."
        raise UnknownModel(f"no provider is known for the model {model!r}", hint=hint) from None
    return model


def check_access(model: str, *, base_url: str = "", api_key: str = "") -> None:
    """Raise ModelAccessDenied when the key that `model` needs is evidently missing; makes no call."""
    if base_url or api_key:
        return
    missing = _missing_keys(model)
    if missing:
        hint = f"Set {' or '.join(missing)}, or choose a local model by its base URL."
        raise ModelAccessDenied(f"no key is set for the model {model!r}", hint=hint)


def supports_schema(model: str, base_url: str = "") -> bool:
    """Return whether a JSON schema may be sent as `response_format`: known to be so, or worth a try at a given address."""
    if base_url:
        return True
    return bool(load_litellm().supports_response_schema(model=resolve(model)))


def supports_json_object(model: str, base_url: str = "") -> bool:
    """Return whether `response_format` with `json_object` may be sent."""
    if base_url:
        return True
    return "response_format" in (load_litellm().get_supported_openai_params(model=resolve(model)) or [])


def price_of(model: str, tokens_in: int, tokens_out: int) -> float | None:
    """Return the price in US dollars by LiteLLM's local map, or None where the map has no price for `model`.

    `model` is the name with or without its provider; a model behind an address of one's own has the price of its name.
    """
    litellm = load_litellm()
    for name in (model, model.split("/", 1)[-1]):
        entry = litellm.model_cost.get(name)
        if entry and "input_cost_per_token" in entry:
            per_output = entry.get("output_cost_per_token") or 0.0
            return float(tokens_in * (entry["input_cost_per_token"] or 0.0) + tokens_out * per_output)
    return None


def count_tokens(model: str, messages: Sequence[Mapping[str, str]]) -> int:
    """Return the tokens of `messages` by the tokenizers that LiteLLM carries (an estimate for models of other families)."""
    return int(load_litellm().token_counter(model=model, messages=[dict(message) for message in messages]))


def _address(name: str, base_url: str, api_key: str) -> dict[str, str]:
    # A server of the user's own never gets a provider's key out of the environment.
    address = {"api_base": base_url} if base_url else {}
    if api_key:
        address["api_key"] = api_key
    elif base_url and name.startswith("openai/"):
        address["api_key"] = _NO_KEY
    return address


def _missing_keys(model: str) -> list[str]:
    found = load_litellm().validate_environment(model=model)
    missing = [str(name) for name in found["missing_keys"]]
    # Other variables (regions, profiles, addresses) have ways around them that only the provider's library knows.
    return missing if missing and all(name.endswith("_API_KEY") for name in missing) else []


def _key_names(model: str, base_url: str, key_variable: str) -> str:
    if base_url:
        return key_variable
    provider = str(load_litellm().get_llm_provider(model)[1]).upper()
    in_use = [name for name in process_environment() if name.startswith(provider) and name.endswith("_KEY")]
    names = _missing_keys(model) or in_use
    return " or ".join(sorted(names)) or f"{provider}_API_KEY"


def _attempt(litellm: Any, call: Mapping[str, Any], limit: float, base_url: str, key_variable: str) -> Any:
    """Make one request; return LiteLLM's response or a _Failure. A reply that drips past the limit is abandoned."""
    import httpx
    import openai

    future: Future[Any] = Future()

    def work() -> None:
        try:
            future.set_result(litellm.completion(**call))
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, which raises it
            future.set_exception(error)

    # A daemon thread: an abandoned request must hold up neither this call nor the end of the process.
    threading.Thread(target=work, name="model-call", daemon=True).start()
    try:
        return future.result(limit * 1.05 + _GRACE)
    except TimeoutError:
        return _unavailable(call["model"], base_url, "no whole answer in time", billed=True)
    except (openai.OpenAIError, httpx.HTTPError) as error:
        return _judge(litellm, error, call["model"], base_url, key_variable)


def _judge(litellm: Any, error: Exception, model: str, base_url: str, key_variable: str) -> _Failure:
    """Decide what an error of LiteLLM means. Its text is only looked at: it can hold the prompt and the key."""
    import httpx

    kinds, status = litellm.exceptions, getattr(error, "status_code", None)
    final = _final(kinds, error, model, base_url, key_variable)
    if final is not None:
        return _Failure(final)
    if any(isinstance(link, httpx.ConnectError) for link in _chain(error)) or "Connection refused" in str(error):
        return _unavailable(model, base_url, "it cannot be reached", retries=RETRIES_UNREACHABLE)
    answered = _headers(error) is not None
    if isinstance(error, kinds.Timeout) and not answered:
        return _unavailable(model, base_url, "no answer in time", billed=True)
    if isinstance(error, kinds.Timeout | kinds.RateLimitError) or status in {408, 409, 425} or (status or 500) >= 500:  # noqa: PLR2004
        reason = f"it answers HTTP {status}" if answered else "the connection broke off or gave no usable answer"
        return _unavailable(model, base_url, reason, retry_after=_retry_after(_headers(error)), billed=not answered)
    return _Failure(RequestRejected(f"{_where(model, base_url)} rejected the request (HTTP {status})"))


def _final(kinds: Any, error: Exception, model: str, base_url: str, key_variable: str) -> DragGraphError | None:
    """Return what to raise for an error that no repetition mends, or None."""
    status, where, codes = getattr(error, "status_code", None), _where(model, base_url), _codes(error)
    if isinstance(error, kinds.AuthenticationError) or status in {401, 403}:
        hint = f"Set {_key_names(model, base_url, key_variable)} to a key that is valid there."
        return ModelAccessDenied(f"{where} refused the key (HTTP {status})", hint=hint)
    if isinstance(error, kinds.NotFoundError):
        hint = "Check the model's name, and the base URL if one is given (it usually ends in /v1)."
        return UnknownModel(f"{where} does not know the model {_shown(model, base_url)!r}", hint=hint)
    if isinstance(error, kinds.ContextWindowExceededError) or "context_length_exceeded" in codes:
        return ContextOverflow(f"the prompt is longer than {_shown(model, base_url)!r} takes")
    if isinstance(error, kinds.ContentPolicyViolationError) or codes & {"content_policy_violation", "content_filter"}:
        return RefusedReply(f"the content filter of {where} stopped the request")
    if "insufficient_quota" in codes:
        hint = "Top up the account or raise its limit, then run the same command again."
        return ModelUnavailable(f"{where} says that the account's quota is used up", hint=hint)
    return None


def _unavailable(model: str, base_url: str, reason: str, *, retries: int = RETRIES, **rest: Any) -> _Failure:
    retry_after = rest.get("retry_after")
    if retry_after is not None and retry_after > LONGEST_RETRY_AFTER:
        reason, retries = f"{reason} and asks to wait {retry_after:.0f} s", 0
    hint = "Is it running, and is its address right? Finished work is kept: run the same command again to go on."
    return _Failure(ModelUnavailable(f"{_where(model, base_url)} is not available: {reason}", hint=hint), retries, **rest)


def _where(model: str, base_url: str) -> str:
    if not base_url:
        return f"the provider of {model!r}"
    parts = urlsplit(base_url)  # without user, password, path and query, any of which can hold a secret
    return f"the model server at {parts.hostname}{f':{parts.port}' if parts.port else ''}"


def _shown(model: str, base_url: str) -> str:
    return model.removeprefix("openai/") if base_url else model


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


def _wait(failure: _Failure, attempt: int) -> float:
    return failure.retry_after if failure.retry_after is not None else min(2.0**attempt, LONGEST_WAIT)


def _completion(response: Any, model: str, latency_ms: int) -> Completion:
    document = response.model_dump()
    choice = (document.get("choices") or [{}])[0]
    message = choice.get("message") or {}
    usage = document.get("usage") or {}
    tokens_in, tokens_out = int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)
    return Completion(
        text=message.get("content") or "",
        finish_reason=str(choice.get("finish_reason") or "stop"),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        cost_usd=price_of(model, tokens_in, tokens_out) or 0.0,
        latency_ms=latency_ms,
        raw=document,
        logprobs=choice.get("logprobs"),
        refusal=message.get("refusal") or (message.get("provider_specific_fields") or {}).get("refusal") or "",
    )
