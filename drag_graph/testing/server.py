"""A scripted OpenAI-compatible server on the loopback, for tests and demonstrations without a network.

    with ScriptedServer() as server:
        server.script("evidence", Say("I cannot help with that."), Fault(503, retry_after="1"))
        ...  # a client with base URL server.url and any key

Requests are told apart by the schema's name: that of `response_format`, else the one that the prompt names
(`schema "evidence"`), else the request counts as one of a student; those for embeddings count as `embeddings`, those for
scores as `rerank`. What is scripted for a name is used up in order; after it comes the default: a plausible, valid,
deterministic reply made from the prompt. Every request is logged.
"""

import hashlib
import json
import re
import socket
import struct
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from drag_graph.testing.batches import BatchDesk
from drag_graph.testing.plausible import DEFAULTS, answer_of, plausible_tokens

STUDENT = "student"
EMBEDDINGS = "embeddings"
RERANK = "rerank"
BATCHES = "/v1/batches"
"""The path under which the lines of batches are logged."""
DIMENSION = 64
_NAMED_SCHEMA = re.compile(r'schema "(\w+)"')


@dataclass(frozen=True, slots=True)
class Say:
    """Answer with `text`: a str as it is, else as JSON; for embeddings and scores it is the whole body.

    `interval` drips the body, a byte every so many seconds.
    """

    text: Any
    finish_reason: str = "stop"
    logprobs: Any = None
    refusal: str | None = None
    delay: float = 0.0
    interval: float = 0.0


@dataclass(frozen=True, slots=True)
class Fault:
    """Fail: with an HTTP `status`, or (status 0) by resetting the connection in the middle of the body."""

    status: int = 0
    retry_after: str = ""
    message: str = "scripted fault"
    code: str | None = None
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Request:
    """One logged request; `at` is monotonic.

    `schema` is the reply's name, `student`, `embeddings`, `rerank`, or '' for another path.
    """

    path: str
    schema: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    at: float

    @property
    def prompt(self) -> str:
        """All message texts together."""
        return "\n".join(str(message.get("content") or "") for message in self.body.get("messages", ()))


Scripted = Say | Fault | Callable[[Request], Any]


def fenced(document: Any, before: str = "Here is the JSON:", after: str = "Let me know!") -> Say:
    """Answer with the document in a code fence between prose."""
    return Say(f"{before}\n```json\n{json.dumps(document, indent=1)}\n```\n{after}")


def half(document: Any, share: float = 0.5, finish_reason: str = "length") -> Say:
    """Answer with the first `share` of the document."""
    text = json.dumps(document)
    return Say(text[: int(len(text) * share)], finish_reason=finish_reason)


class ScriptedServer:
    """See the module. `key`, where given, is the only one accepted; `delay` is added to each reply, in seconds."""

    def __init__(self, *, key: str = "", models: tuple[str, ...] = ("scripted",), delay: float = 0.0) -> None:
        self.key, self.models, self.delay = key, models, delay
        self.requests: list[Request] = []
        self.batches = BatchDesk(self._answer_line)
        self._scripts: dict[str, deque[Scripted]] = defaultdict(deque)
        self._functions: dict[str, Callable[[Request], Any]] = {}
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _handler_of(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The base URL, ending in /v1."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def script(self, schema: str, *replies: Scripted) -> None:
        """Queue what the next requests for `schema` get: Say, Fault, or a function of the request that returns either."""
        with self._lock:
            self._scripts[schema].extend(replies)

    def always(self, schema: str, function: Callable[[Request], Any]) -> None:
        """Replace the default reply for `schema`."""
        with self._lock:
            self._functions[schema] = function

    def count(self, schema: str = "") -> int:
        """Return the number of logged chat requests, of one schema or of all."""
        with self._lock:
            chat = [request.schema for request in self.requests if request.schema not in {"", EMBEDDINGS, RERANK}]
            return chat.count(schema) if schema else len(chat)

    def of(self, schema: str) -> list[Request]:
        """Return the logged requests for one schema, in order of arrival."""
        with self._lock:
            return [request for request in self.requests if request.schema == schema]

    def log(self, request: Request) -> None:
        """Add the request to the log."""
        with self._lock:
            self.requests.append(request)

    def _answer_line(self, body: Mapping[str, Any]) -> tuple[int, Any]:
        """Return the HTTP status and body that a line of a batch gets: those that a chat request would get."""
        request = Request(BATCHES, schema_of(body), body, {}, time.monotonic())
        self.log(request)
        reply = self.take(request)
        if isinstance(reply, Say):
            return 200, _chat_completion(request, reply)
        return reply.status or 500, _error(reply.message, code=reply.code)

    def take(self, request: Request) -> Say | Fault:
        """Return what the request gets."""
        with self._lock:
            queue = self._scripts[request.schema]
            reply: Any = queue.popleft() if queue else self._functions.get(request.schema, _default)
        if callable(reply):
            reply = reply(request)
        return reply if isinstance(reply, Say | Fault) else Say(reply)


def _default(request: Request) -> Say:
    if request.schema == EMBEDDINGS:
        return Say(embeddings(request.body))
    if request.schema == RERANK:
        return Say(rerank_scores(request.body))
    if request.schema == STUDENT:
        text, logprobs = answer_of(request.prompt, wants_logprobs=bool(request.body.get("logprobs")))
        return Say(text, logprobs=logprobs)
    return Say(DEFAULTS[request.schema](request.prompt))


def schema_of(body: Mapping[str, Any]) -> str:
    """Return the name of the schema that a chat request asks for, or `student`."""
    named = ((body.get("response_format") or {}).get("json_schema") or {}).get("name")
    if named:
        return str(named)
    for message in body.get("messages", ()):
        match = _NAMED_SCHEMA.search(str(message.get("content") or ""))
        if match and match[1] in DEFAULTS:
            return match[1]
    return STUDENT


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report nothing: faults and deadlines make clients go away on purpose."""


def _handler_of(server: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        scripted = server

    return Handler


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # head and body in one packet: else each reply waits for a delayed acknowledgement
    scripted: ScriptedServer

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Keep quiet."""

    def _at_the_desk(self) -> bool:
        """Answer a request about files and batches; return whether it is one."""
        desk = self.scripted.batches
        if not desk.serves(self.path):
            return False
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self._is_refused():
            self._send(401, _error("the key is wrong", code="invalid_api_key"))
        else:
            status, document = desk.reply(self.command, self.path, self.headers.get("Content-Type") or "", body)
            self._send(status, document, retry_after="" if status == 200 else "0")  # noqa: PLR2004
        return True

    def _is_refused(self) -> bool:
        return bool(self.scripted.key) and self.headers.get("Authorization") != f"Bearer {self.scripted.key}"

    def do_GET(self) -> None:
        if self._at_the_desk():
            return
        if self.path.endswith("/models"):
            data = [{"id": name, "object": "model", "owned_by": "drag-graph"} for name in self.scripted.models]
            self._send(200, {"object": "list", "data": data})
        else:
            self._send(404, _error("no such path"))

    def do_POST(self) -> None:
        if self._at_the_desk():
            return
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        kind = next((kind for kind in (EMBEDDINGS, RERANK) if self.path.endswith(f"/{kind}")), "")
        schema = schema_of(body) if self.path.endswith("/chat/completions") else kind
        request = Request(self.path, schema, body, dict(self.headers), time.monotonic())
        self.scripted.log(request)
        if self._is_refused():
            self._send(401, _error("the key is wrong", code="invalid_api_key"))
        elif schema:
            self._reply(request)
        else:
            self._send(404, _error("no such path"))

    def _reply(self, request: Request) -> None:
        reply = self.scripted.take(request)
        time.sleep(self.scripted.delay + reply.delay)
        if isinstance(reply, Say):
            document = reply.text if request.schema in {EMBEDDINGS, RERANK} else _chat_completion(request, reply)
            if request.body.get("stream"):
                self._send(200, _events(document), kind="text/event-stream")
            else:
                self._send(200, document, interval=reply.interval)
        elif reply.status:
            self._send(reply.status, _error(reply.message, code=reply.code), retry_after=reply.retry_after)
        else:
            self._reset()

    def _send(
        self, status: int, document: Any, *, retry_after: str = "", interval: float = 0.0, kind: str = "application/json"
    ) -> None:
        payload = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(payload)))
        if retry_after:
            self.send_header("Retry-After", retry_after)
        self.end_headers()
        if not interval:
            self.wfile.write(payload)
            return
        for byte in payload:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            time.sleep(interval)

    def _reset(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'{"id": "cut')
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()


def _chat_completion(request: Request, reply: Say) -> dict[str, Any]:
    text = reply.text if isinstance(reply.text, str) else json.dumps(reply.text)
    tokens_in, tokens_out = plausible_tokens(request.prompt), plausible_tokens(text)
    choice: dict[str, Any] = {
        "index": 0,
        "finish_reason": reply.finish_reason,
        "message": {"role": "assistant", "content": text, "refusal": reply.refusal},
        "logprobs": reply.logprobs,
    }
    usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}
    model = request.body.get("model", "scripted")
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model, "choices": [choice], "usage": usage}


def _events(document: Mapping[str, Any]) -> bytes:
    """Return a completion as server-sent events, a word each."""
    (choice,) = document["choices"]
    words = re.findall(r"\s*\S+\s*", choice["message"]["content"])
    parts: list[dict[str, Any]] = [{"delta": {"content": word}} for word in words]
    last = {"refusal": choice["message"]["refusal"]}
    parts.append({"delta": last, "finish_reason": choice["finish_reason"], "logprobs": choice["logprobs"]})
    events = [json.dumps({**document, "choices": [{"index": 0, **part}]}) for part in parts]
    return "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"]).encode()


def embeddings(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reply to a request for embeddings: hashed words, so that texts with common words are near each other."""
    texts = body.get("input", [])
    texts = [texts] if isinstance(texts, str) else texts
    data = [{"object": "embedding", "index": i, "embedding": _embedding(str(text))} for i, text in enumerate(texts)]
    tokens = sum(plausible_tokens(str(text)) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": body.get("model", "scripted"), "data": data, "usage": usage}


def rerank_scores(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reply to a rerank request, best first: the fraction of the question's words that a text has."""
    words = set(re.findall(r"\w+", str(body.get("query", "")).casefold()))
    shared = [len(words & set(re.findall(r"\w+", str(text).casefold()))) for text in body.get("documents", [])]
    results = [{"index": i, "relevance_score": number / max(len(words), 1)} for i, number in enumerate(shared)]
    return {"id": "rerank-1", "results": sorted(results, key=lambda entry: -entry["relevance_score"])}


def _embedding(text: str) -> list[float]:
    vector = [0.0] * DIMENSION
    for word in re.findall(r"\w+", text.casefold()) or [text.strip()]:
        vector[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big") % DIMENSION] += 1.0
    length = sum(value * value for value in vector) ** 0.5
    return [value / length for value in vector] if length else vector


def _error(message: str, *, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "scripted_error", "param": None, "code": code}}
