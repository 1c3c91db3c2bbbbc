"""Requests to OpenAI-compatible servers by plain HTTP: Ollama, llama.cpp, vLLM, LM Studio and their like need no LiteLLM."""

import atexit
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from drag_graph.models.locality import local_address
from drag_graph.models.model_catalogue import is_provider
from drag_graph.models.model_server import Server
from drag_graph.ports.model_roles import OnToken
from drag_graph.process_environment import process_environment

PATHS = {"completion": "chat/completions", "embedding": "embeddings", "rerank": "rerank"}
"""Paths below a server's base URL, by kind of request."""
_PREFIXES = frozenset({"openai", "hosted_vllm", "ollama", "ollama_chat", "llamafile", "lm_studio"})
_OTHER_PARAMETERS = re.compile(r"(?:openai/)?(?:o\d|gpt-[5-9])")
"""Models that reject common parameters. LiteLLM knows which."""


class HttpFailure(Exception):  # noqa: N818 - reads as what happened
    """A server answered with an error or with something else than a JSON object. `body` is what it said of the error."""

    def __init__(self, status: int | None, headers: Mapping[str, str] | None, document: Any = None) -> None:
        super().__init__(f"HTTP {status}")
        error = document.get("error", document) if isinstance(document, Mapping) else None
        self.status_code = status
        self.litellm_response_headers = headers
        self.body: Any = error
        self.code = error.get("code") if isinstance(error, Mapping) else None


def is_compatible(model: str, base_url: str) -> bool:
    """Return whether a server for `model` speaks OpenAI's protocol, so that LiteLLM is not needed."""
    prefix, slash, _ = model.partition("/")
    if not base_url:
        return bool(slash and local_address(model))
    return not _OTHER_PARAMETERS.match(model) and (not slash or prefix in _PREFIXES or not is_provider(prefix))


def send(kind: str, server: Server, call: Mapping[str, Any], on_token: OnToken | None = None) -> dict[str, Any]:
    """Make one request and return the JSON object of the reply. Raises HttpFailure and httpx.HTTPError.

    With `on_token`, the server sends a completion in parts, each of which `on_token` receives.
    """
    model, api_key = server.model, server.api_key
    prefix, _, name = model.partition("/")
    address = (server.base_url or local_address(model)).rstrip("/")
    if local_address(model) and not urlsplit(address).path:
        address = f"{address}/v1"
    if not server.base_url:
        api_key = api_key or process_environment().get(f"{prefix.removesuffix('_chat').upper()}_API_KEY", "")
    request = {
        "url": f"{address}/{PATHS[kind]}",
        "json": {"model": name if prefix in _PREFIXES else model, **call, **({"stream": True} if on_token else {})},
        "headers": {"Authorization": f"Bearer {api_key or 'not-needed'}"},
        "timeout": server.timeout,
    }
    if on_token is not None:
        return _in_parts(request, on_token)
    reply = _client().post(**request)
    document = _document_of(reply)
    if not reply.is_success:
        raise HttpFailure(reply.status_code, reply.headers, document)
    if not isinstance(document, dict) or not _is_reply(document):
        raise HttpFailure(None, None)
    return document


def _document_of(reply: Any) -> Any:
    """Return the JSON document of a reply, or None."""
    try:
        return reply.json()
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        return None


def _in_parts(request: Mapping[str, Any], on_token: OnToken) -> dict[str, Any]:
    """Return a completion that the server sends in parts."""
    texts, logprobs, reason, refusal = list[str](), list[Any](), "", ""
    with _client().stream("POST", **request) as reply:
        if not reply.is_success:
            reply.read()
            raise HttpFailure(reply.status_code, reply.headers, _document_of(reply))
        for part in events_of(reply):
            for choice in part.get("choices", ())[:1]:
                delta = choice.get("delta") or {}
                texts.append(str(delta.get("content") or ""))
                refusal += str(delta.get("refusal") or "")
                logprobs += (choice.get("logprobs") or {}).get("content") or []
                reason = str(choice.get("finish_reason") or reason)
                if texts[-1]:
                    on_token(texts[-1])
    message = {"content": "".join(texts), "refusal": refusal or None}
    return {"choices": [{"message": message, "finish_reason": reason, "logprobs": {"content": logprobs} if logprobs else None}]}


def events_of(reply: Any) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a stream of server-sent events. Raises HttpFailure for anything else."""
    for line in reply.iter_lines():
        data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
        if data and data != "[DONE]":
            try:
                part = json.loads(data)
            except ValueError:
                part = None
            if not isinstance(part, dict):
                raise HttpFailure(None, None)
            yield part


def _is_reply(document: dict[str, Any]) -> bool:
    """Return whether a reply has the form of a chat completion, of embeddings or of rerank scores."""
    for name in ("data", "results"):
        if name in document:
            return isinstance(document[name], list)
    choices, usage = document.get("choices"), document.get("usage") or {}
    if not isinstance(choices, list) or not isinstance(usage, dict):
        return False
    if not all(isinstance(usage.get(name) or 0, int | float) for name in ("prompt_tokens", "completion_tokens")):
        return False
    messages = [choice.get("message") or {} if isinstance(choice, dict) else None for choice in choices]
    return all(isinstance(message, dict) and isinstance(message.get("content") or "", str) for message in messages)


@cache
def _client() -> Any:
    """Return the connections that all threads share."""
    import httpx

    client = httpx.Client(limits=httpx.Limits(max_connections=None, max_keepalive_connections=64))
    atexit.register(client.close)
    return client
