"""One chat completion or embedding by LiteLLM, with the project's only retry loop (docs/design.md, sections 7 and 8).

Teacher, student and embedder share it. LiteLLM's own retries, telemetry and console output are off; it reads its local price
map. No error message holds a key, a prompt or a reply: of what a server said, only why it rejected a request is passed on,
without these (`reasons`).
"""

import atexit
import logging
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import lru_cache, partial
from inspect import iscoroutinefunction
from random import SystemRandom
from typing import Any, Literal

from drag_graph import log
from drag_graph.errors import ConfigurationError, ModelAccessDenied, UnknownModel
from drag_graph.models.locality import Check, is_local
from drag_graph.models.provider_errors import Failure, Target, judge, unavailable
from drag_graph.settings import prepare_libraries, process_environment

GGUF = "gguf:"
"""How the name of a model begins that is a file, run in this process (`gguf.py`)."""
RETRIES = 5
RETRIES_UNREACHABLE = 3
LONGEST_WAIT = 60.0
_GRACE = 0.25
_DICE = SystemRandom()
_NO_KEY = "not-needed"
_OBSERVERS = ("callbacks", "input_callback", "success_callback", "failure_callback", "service_callback")
_NOISY_LOGGERS = {"LiteLLM": logging.CRITICAL, "openai": logging.WARNING, "httpx": logging.WARNING, "httpcore": logging.WARNING}

Kind = Literal["completion", "embedding", "create_file", "file_content", "create_batch", "retrieve_batch", "list_batches"]
"""The function of LiteLLM that makes a request."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered to one request.

    `finish_reason` is `stop`, `length` (cut off) or `content_filter` (then `text` may be the provider's refusal). Tokens are
    counts, `cost_usd` comes from LiteLLM's local price map (0 where the model has no price), `latency_ms` is that of the
    attempt that succeeded. `logprobs` are the first choice's as a JSON document, or None.
    """

    text: str
    finish_reason: str
    tokens_in: int
    tokens_out: int
    cost_usd: float
    latency_ms: int
    logprobs: Any = field(default=None, repr=False)
    counted_here: bool = False
    """The server did not say how many tokens it took: they were counted here, by a tokenizer that may be another model's."""


@dataclass(frozen=True, slots=True)
class Server:
    """A model and how it is reached, as the user named it.

    `timeout` is the wall-clock limit of one attempt in seconds, held against drip-fed bodies too. `key_variable` is what the
    hint names when the server at `base_url` refuses the key. `privacy` looks at what leaves this machine; without one, nothing
    does.
    """

    model: str
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    key_variable: str = "DRAG_GRAPH_TEACHER_API_KEY"
    timeout: float = 120.0
    sleep: Callable[[float], None] = time.sleep
    privacy: Check | None = None


def complete(
    server: Server,
    messages: Sequence[Mapping[str, str]],
    *,
    on_lost: Callable[[bool], None] = lambda _again: None,
    **parameters: Any,
) -> Completion:
    """Return the model's answer; thread-safe.

    `on_lost` is called after an attempt whose reply got lost but may have been charged, with whether another attempt follows.
    `parameters` go to the model, without those that its provider does not know.

    Rate limits, timeouts, 5xx and broken connections are repeated at most 5 times, after a random part of 1, 2, 4, 8, 16 s, or
    a little more than what Retry-After says; a server that cannot be reached at all, at most 3 times.

    Raises ModelAccessDenied, UnknownModel, ModelUnavailable, ContextOverflow, RefusedReply (the provider's filter) and
    RequestRejected.
    """
    call = {"messages": [dict(message) for message in messages], **parameters}
    response, latency_ms = _answer("completion", call, server, on_lost)
    document = response.model_dump(include={"choices", "usage"}, warnings=False)
    return read_completion(document, resolve(server.model, server.base_url), messages, latency_ms=latency_ms)


def embed(server: Server, texts: Sequence[str]) -> list[Any]:
    """Return what the model sent for the texts: mappings with `index` and `embedding`. Repeats and raises as `complete`."""
    response, _ = _answer("embedding", {"input": list(texts), "encoding_format": "float"}, server)
    return list(response.data or [])


def manage(kind: Kind, server: Server, done_already: Callable[[], Any | None] = lambda: None, **call: Any) -> Any:
    """Return what LiteLLM's function `kind` of files or batches returns for the provider of the model.

    Repeats and raises as `complete`; RequestRejected has the HTTP status. Before each repetition, what `done_already` returns
    is returned instead, unless it is None.
    """
    return _answer(kind, call, server, done_already=done_already)[0]


def provider_of(model: str, base_url: str = "") -> str:
    """Return LiteLLM's name of the provider of `model`. Raises UnknownModel."""
    return str(load_litellm().get_llm_provider(resolve(model, base_url))[1])


def _answer(
    kind: Kind,
    call: Mapping[str, Any],
    server: Server,
    on_lost: Callable[[bool], None] = lambda _again: None,
    done_already: Callable[[], Any | None] = lambda: None,
) -> tuple[Any, int]:
    """Return LiteLLM's response and the milliseconds that the successful attempt took: the only retry loop."""
    litellm = load_litellm()
    name = resolve(server.model, server.base_url)
    check_access(name, base_url=server.base_url, api_key=server.api_key)
    check_privacy(server, call)
    key_names = partial(_key_names, name, server.base_url, server.key_variable)
    target = Target(name, server.base_url, key_names, server.api_key, partial(_texts_of, call))
    fixed: dict[str, Any] = {"max_retries": 0}
    if kind in {"completion", "embedding"}:
        fixed |= {"model": name, "num_retries": 0, "drop_params": True}
    else:
        fixed["custom_llm_provider"] = provider_of(server.model, server.base_url)
    call = {**fixed, **call, **_address(server.base_url, server.api_key), "timeout": server.timeout}
    attempt = 0
    while True:
        started = time.monotonic()
        outcome = _attempt(getattr(litellm, kind), call, server.timeout, target)
        if not isinstance(outcome, Failure):
            return outcome, round((time.monotonic() - started) * 1000)
        wait = _wait(outcome, attempt)
        again = attempt < _retries(outcome)
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


def check_privacy(server: Server, call: Mapping[str, Any]) -> None:
    """Let the gate look at a call that leaves this machine: all do that are made here, and there is no other way out."""
    if is_local(server.model, server.base_url):
        return
    if server.privacy is None:
        hint = "Set `privacy` to standard or strict, or to off to send texts as they are."
        raise ConfigurationError(f"no privacy gate stands before the model {server.model!r}", hint=hint)
    server.privacy(call)


def load_litellm() -> Any:
    """Return the `litellm` module, quiet and offline except for the calls that it is asked to make."""
    litellm = _loaded()
    _quieten(litellm)  # again, should somebody have set something anew since
    return litellm


@lru_cache(maxsize=1)
def _loaded() -> Any:
    """Return the module for what makes no call, without the trouble of quietening it again."""
    prepare_libraries()
    import litellm

    _quieten(litellm)
    atexit.register(_close_connections, litellm)
    return litellm


def _close_connections(litellm: Any) -> None:
    """Close what LiteLLM keeps open for further requests: it leaves that to the end of the process."""
    kept = vars(litellm).get("in_memory_llm_clients_cache")
    for client in [] if kept is None else list(kept.cache_dict.values()):
        if hasattr(client, "close") and not iscoroutinefunction(client.close):
            client.close()


def _quieten(litellm: Any) -> None:
    if _without_contents() not in warnings.filters:
        _without_contents.cache_clear()
        _without_contents()
    litellm.suppress_debug_info = True
    litellm.turn_off_message_logging = True
    litellm.disable_hf_tokenizer_download = True
    litellm.DEFAULT_MAX_RETRIES = 0  # for embeddings LiteLLM takes this where it is told 0
    for name, level in _NOISY_LOGGERS.items():
        logger = logging.getLogger(name)
        if logger.level < level:  # these log prompts and replies at lower levels
            logger.setLevel(level)


@lru_cache(maxsize=1)
def _without_contents() -> tuple[Any, ...]:
    """Set and return the filter against Pydantic's warnings of a reply with odd parts, which show these parts."""
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings", category=UserWarning)
    return tuple(warnings.filters[0])


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


def price_of(model: str, tokens_in: int, tokens_out: int) -> float | None:
    """Return the price in US dollars by LiteLLM's local map, or None where the map has no price for `model`.

    `model` is the name with or without its provider; a model behind an address of one's own has the price of its name, one of a
    file in this process none to pay.
    """
    if model.startswith(GGUF):
        return 0.0
    litellm = _loaded()
    for name in (model, model.split("/", 1)[-1]):
        entry = litellm.model_cost.get(name)
        if entry and "input_cost_per_token" in entry:
            per_output = entry.get("output_cost_per_token") or 0.0
            return float(tokens_in * (entry["input_cost_per_token"] or 0.0) + tokens_out * per_output)
    return None


def count_tokens(model: str, messages: Sequence[Mapping[str, str]]) -> int:
    """Return the tokens of `messages` by the tokenizers that LiteLLM carries (an estimate for models of other families)."""
    return int(_loaded().token_counter(model=model, messages=[dict(message) for message in messages]))


def _texts_of(call: Mapping[str, Any]) -> str:
    """Return what a completion or an embedding says to the model."""
    return " ".join([*(message["content"] for message in call.get("messages", ())), *call.get("input", ())])


def _address(base_url: str, api_key: str) -> dict[str, str]:
    # A server of the user's own never gets a provider's key out of the environment, so it always gets one from here.
    if base_url:
        return {"api_base": base_url, "api_key": api_key or _NO_KEY}
    return {"api_key": api_key} if api_key else {}


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


def _attempt(ask: Callable[..., Any], call: Mapping[str, Any], limit: float, target: Target) -> Any:
    """Make one request; return LiteLLM's response or a Failure. A reply that drips past the limit is abandoned.

    Its thread is a daemon of its own: it must hold up neither its caller nor the end of the process.
    """
    import httpx
    import litellm
    import openai

    future: Future[Any] = Future()

    def work() -> None:
        _skip_records(litellm)
        try:
            future.set_result(ask(**call))
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
            future.set_exception(error)

    threading.Thread(target=work, name="model-call", daemon=True).start()
    try:
        return future.result(limit * 1.05 + _GRACE)
    except TimeoutError:
        return unavailable(target, "no whole answer in time", billed=True)
    except (openai.OpenAIError, httpx.HTTPError) as error:
        return judge(litellm.exceptions, error, target)


def _skip_records(litellm: Any) -> None:
    """Spare LiteLLM, in this thread, the record of each call that it makes for observers, where there is none.

    It would copy the prompt and the reply twice to take their texts out again: a fifth of what a call takes of the processor.
    """
    try:
        from litellm._internal_context import is_internal_call
    except ImportError:  # versions of LiteLLM without it make the record
        return
    is_internal_call.set(not any(getattr(litellm, name, None) for name in _OBSERVERS))


def _retries(failure: Failure) -> int:
    if not failure.repeatable:
        return 0
    return RETRIES_UNREACHABLE if failure.unreachable else RETRIES


def _wait(failure: Failure, attempt: int) -> float:
    """Return the seconds to wait, spread at random: what failed together must not come back together."""
    if failure.retry_after is not None:
        return failure.retry_after * _DICE.uniform(1.0, 1.1)
    return _DICE.uniform(0.0, min(2.0**attempt, LONGEST_WAIT))


def read_completion(
    document: Mapping[str, Any],
    model: str,
    messages: Sequence[Mapping[str, str]],
    price: Callable[[str, int, int], float | None] = price_of,
    latency_ms: int = 0,
) -> Completion:
    """Return what an OpenAI chat completion says. A reply that does not say what it took is not free: it is counted here."""
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
