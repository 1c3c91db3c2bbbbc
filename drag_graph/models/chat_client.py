"""The chat client: completions, embeddings and scores, with the project's only retry loop.

All roles of models share it. Requests go to an OpenAI-compatible server directly, to other
providers through LiteLLM. No error contains a key, a prompt or a reply. Of what a server says, only the reason for a rejection
is passed on (`provider_errors.reason_of`).
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import SystemRandom
from typing import Any, Literal

from drag_graph import log
from drag_graph.concurrency.threads import in_background
from drag_graph.errors import ModelAccessDenied
from drag_graph.models.litellm_library import load_litellm, missing_keys, provider_of, quieten_loggers
from drag_graph.models.locality import refuse
from drag_graph.models.model_catalogue import Price, count_tokens, litellm_name, price_of
from drag_graph.models.model_server import Server
from drag_graph.models.openai_server import HttpFailure, is_compatible, send
from drag_graph.models.provider_errors import Failure, judge, unavailable
from drag_graph.ports.model_roles import OnToken

RETRIES_UNREACHABLE = 3
LONGEST_WAIT = 60.0
_GRACE = 0.25
_DICE = SystemRandom()

Kind = Literal[
    "completion", "embedding", "rerank", "create_file", "file_content", "create_batch", "retrieve_batch", "list_batches"
]
"""What a request asks for, by the name of LiteLLM's function."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer to one request.

    `finish_reason` is `stop`, `length` (cut off) or `content_filter` (then `text` may be the provider's refusal). `cost_usd` is
    0 for a model without a price, `latency_ms` that of the successful attempt. `logprobs` are those of the first choice as a
    JSON document, or None. `counted_here`: the server sent no token counts, so a tokenizer estimated them.
    """

    text: str
    finish_reason: str
    tokens_in: int
    tokens_out: int
    cost_usd: float
    latency_ms: int
    logprobs: Any = field(default=None, repr=False)
    counted_here: bool = False


def complete(
    server: Server,
    messages: Sequence[Mapping[str, str]],
    *,
    on_lost: Callable[[bool], None] = lambda _again: None,
    on_token: OnToken | None = None,
    **parameters: Any,
) -> Completion:
    """Return the model's answer. Thread-safe.

    `on_token` is called with each part of the answer of an OpenAI-compatible server, and again from the beginning if an attempt
    is repeated; of other providers with the whole answer. `on_lost` is called after an attempt whose reply was lost but may
    have been charged, with whether another attempt follows. `parameters` go to the model. LiteLLM drops those that its provider
    does not support.

    Rate limits, timeouts, 5xx and broken connections are retried up to `server.retries` times, after a random part of 1, 2, 4,
    8, 16 s or slightly more than Retry-After. A server that cannot be reached at all is retried up to 3 times.

    Raises ModelAccessDenied, UnknownModel, ModelUnavailable, ContextOverflow, RefusedReply (the provider's filter),
    RequestRejected and Withheld.
    """
    call = {"messages": [dict(message) for message in messages], **parameters}
    response, latency_ms = _answer("completion", call, server, on_lost=on_lost, on_token=on_token)
    document = response if isinstance(response, dict) else response.model_dump(include={"choices", "usage"}, warnings=False)
    completion = read_completion(document, server.model, messages, latency_ms=latency_ms)
    if on_token is not None and not isinstance(response, dict):
        on_token(completion.text)
    return completion


def embed(server: Server, texts: Sequence[str]) -> list[Any]:
    """Return the model's vectors for the texts: mappings with `index` and `embedding`. Retries and raises as `complete`."""
    response, _ = _answer("embedding", {"input": list(texts), "encoding_format": "float"}, server)
    return list((response.get("data") if isinstance(response, dict) else response.data) or [])


def rerank(server: Server, question: str, texts: Sequence[str]) -> list[Any]:
    """Return the model's scores: mappings with `index` and `relevance_score`. Retries and raises as `complete`."""
    call = {"query": question, "documents": list(texts), "top_n": len(texts), "return_documents": False}
    response, _ = _answer("rerank", call, server)
    return list((response.get("results") if isinstance(response, dict) else response.results) or [])


def manage(kind: Kind, server: Server, done_already: Callable[[], Any | None] = lambda: None, **call: Any) -> Any:
    """Return the result of LiteLLM's function `kind` for files and batches of the model's provider.

    Retries and raises as `complete`; RequestRejected has the HTTP status. Before each retry, a result of `done_already` other
    than None is returned instead.
    """
    return _answer(kind, call, server, done_already=done_already)[0]


def _answer(
    kind: Kind,
    call: Mapping[str, Any],
    server: Server,
    *,
    on_lost: Callable[[bool], None] = lambda _again: None,
    done_already: Callable[[], Any | None] = lambda: None,
    on_token: OnToken | None = None,
) -> tuple[Any, int]:
    """Return the response and the milliseconds of the successful attempt: the only retry loop."""
    request = _request(kind, call, server, on_token)
    check_privacy(server, call)
    attempt = 0
    while True:
        started = time.monotonic()
        outcome = _attempt(request, server, call)
        if not isinstance(outcome, Failure):
            return outcome, round((time.monotonic() - started) * 1000)
        wait = _wait(outcome, attempt)
        most = min(RETRIES_UNREACHABLE, server.retries) if outcome.unreachable else server.retries
        again = outcome.repeatable and attempt < most
        if outcome.billed:
            on_lost(again)
        if not again:
            raise outcome.error
        attempt += 1
        log.event("waiting for the model server", stage=kind, attempt=attempt, wait_s=wait, status="retry")
        server.sleep(wait)
        done = done_already()
        if done is not None:
            return done, 0


def _request(kind: Kind, call: Mapping[str, Any], server: Server, on_token: OnToken | None = None) -> Callable[[], Any]:
    """Return what makes the request once. Raises UnknownModel, and ModelAccessDenied if the key is evidently missing."""
    model, base_url = server.model, server.base_url
    is_chat = kind in {"completion", "embedding", "rerank"}
    if is_chat and is_compatible(model, base_url):
        quieten_loggers()
        return partial(send, kind, server, call, on_token)
    require_key(server)
    name = litellm_name(model, base_url)
    fixed: dict[str, Any] = {"max_retries": 0, "timeout": server.timeout}
    fixed |= {"model": name, "num_retries": 0, "drop_params": True} if is_chat else {"custom_llm_provider": provider_of(name)}
    if base_url:  # always with a key: else LiteLLM would send a provider's key from the environment to this server
        fixed |= {"api_base": base_url, "api_key": server.api_key or "not-needed"}
    elif server.api_key:
        fixed["api_key"] = server.api_key
    return partial(getattr(load_litellm(), kind), **fixed, **call)


def require_key(server: Server) -> None:
    """Raise ModelAccessDenied if the key of the model's provider is evidently missing."""
    if is_compatible(server.model, server.base_url) or server.base_url or server.api_key:
        return
    if missing := missing_keys(litellm_name(server.model)):
        hint = f"Set {' or '.join(missing)}, or use a local model by its base URL."
        raise ModelAccessDenied(f"No key is set for the model {server.model!r}.", hint=hint)


def check_privacy(server: Server, call: Mapping[str, Any]) -> None:
    """Let the gate check a call that leaves this machine. All such calls are made in this module."""
    if not server.is_local:
        (server.privacy or partial(refuse, server.model))(call)


def _attempt(request: Callable[[], Any], server: Server, call: Mapping[str, Any]) -> Any:
    """Make one request in its own thread; return the response or a Failure. A reply that exceeds the limit is abandoned."""
    import httpx

    try:
        return in_background(request, "model-call").result(server.timeout * 1.05 + _GRACE)
    except TimeoutError:
        return unavailable(server, "no complete reply in time", billed=True)
    except (HttpFailure, httpx.HTTPError) as error:
        return judge(error, server, call)
    except (httpx.InvalidURL, UnicodeError):  # an address or a key that no request can carry
        return judge(HttpFailure(None, None), server, call)
    except Exception as error:
        if any(kind.__name__ == "OpenAIError" for kind in type(error).__mro__):  # the root of LiteLLM's errors
            return judge(error, server, call)
        raise


def _wait(failure: Failure, attempt: int) -> float:
    """Return the seconds to wait, random so that calls which failed together do not return together."""
    if failure.retry_after is not None:
        return failure.retry_after * _DICE.uniform(1.0, 1.1)
    return _DICE.uniform(0.0, min(2.0**attempt, LONGEST_WAIT))


def read_completion(
    document: Mapping[str, Any], model: str, messages: Sequence[Mapping[str, str]], price: Price = price_of, latency_ms: int = 0
) -> Completion:
    """Read an OpenAI chat completion. If it has no token counts, they are estimated here: it was not free."""
    choice = (document.get("choices") or [{}])[0]
    message = choice.get("message") or {}
    usage = document.get("usage") or {}
    refusal = message.get("refusal") or (message.get("provider_specific_fields") or {}).get("refusal")
    text = str(refusal or message.get("content") or "")
    tokens_in, tokens_out = (max(0, int(usage.get(name) or 0)) for name in ("prompt_tokens", "completion_tokens"))
    counted_here = not tokens_in or not (tokens_out or not text)
    if counted_here:
        tokens_in = tokens_in or count_tokens(model, messages)
        tokens_out = tokens_out or count_tokens(model, [{"role": "assistant", "content": text}])
    return Completion(
        text=text,
        finish_reason="content_filter" if refusal else str(choice.get("finish_reason") or "stop"),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        cost_usd=price(model, tokens_in, tokens_out) or 0.0,
        latency_ms=latency_ms,
        logprobs=choice.get("logprobs"),
        counted_here=counted_here,
    )
