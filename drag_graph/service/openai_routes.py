"""Routes of OpenAI's chat API: clients that know it can ask drag-graph (docs/how-to/clients.md)."""

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, cast, get_args

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from drag_graph.app.answer_results import GivenAnswer
from drag_graph.ask.follow_up import FollowUp, Turn
from drag_graph.model import Mode
from drag_graph.ports.model_roles import OnToken
from drag_graph.service.answer_stream import EVENT_STREAM, OwnEvents, streamed
from drag_graph.service.asking_routes import Reader, ShortText
from drag_graph.service.errors import OPENAI_REPLIES, RequestRefused, body_of, openai_error, status_of
from drag_graph.service.listed_options import listed_options
from drag_graph.service.service_state import state_of

IGNORED = frozenset(
    (
        *("temperature", "top_p", "seed", "user", "presence_penalty", "frequency_penalty", "reasoning_effort", "verbosity"),
        *("metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "parallel_tool_calls"),
    )
)
"""Parameters without an effect here. Any other unknown one is refused unless it is empty."""
MOST_TOKENS = 8_192


class ParameterRefused(RequestRefused):
    """A parameter has a value that is not supported."""

    def __init__(self, param: str, message: str, kind: str = "ParameterUnsupported", status: int = 400) -> None:
        super().__init__(status, kind, message, hint="See docs/how-to/clients.md.")
        self.param = param


class ContentPart(BaseModel):
    """A part of a message."""

    type: str
    text: str = ""


class ChatMessage(BaseModel):
    """A message of a conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[ContentPart] | None = None


class StreamOptions(BaseModel):
    """Options of a stream."""

    include_usage: bool = False


StopText = Annotated[str, Field(min_length=1, max_length=1_000)]


class ChatRequest(BaseModel):
    """A request for a chat completion."""

    model_config = ConfigDict(extra="allow")

    model: str
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=1_000)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    n: int | None = None
    response_format: dict[str, Any] | None = None
    stop: StopText | Annotated[list[StopText], Field(max_length=16)] | None = None

    def cut(self, text: str, *, is_complete: bool) -> str:
        """Return the text before the first stop sequence; of an incomplete text, without an end that could begin one."""
        stops = [self.stop] if isinstance(self.stop, str) else self.stop or []
        if found := [text.index(stop) for stop in stops if stop in text]:
            return text[: min(found)]
        held = 0 if is_complete else max((len(stop) - 1 for stop in stops), default=0)
        return text[: len(text) - held] if held else text

    def check(self) -> None:
        """Raise ParameterRefused for what is not supported."""
        refused = [name for name, value in (self.model_extra or {}).items() if value and name not in IGNORED]
        refused += ["n"] if self.n not in {None, 1} else []
        refused += ["response_format"] if (self.response_format or {}).get("type", "text") != "text" else []
        if refused:
            name = refused[0][:50].encode("utf-8", "replace").decode()  # a name can be no Unicode
            raise ParameterRefused(name, f"{name!r} is not supported.")

    def conversation(self) -> tuple[str, list[Turn], str]:
        """Return the question, the turns before it, and the texts of system messages.

        Raises ParameterRefused for other messages than texts, or if the last one is not the user's.
        """
        turns = list[Turn]()
        orders = list[str]()
        for number, message in enumerate(self.messages):
            text = _text_of(message, f"messages[{number}]")
            if message.role in {"system", "developer"}:
                orders.append(text)
            elif text:
                turns.append((message.role, text))
        if self.messages[-1].role != "user" or not turns or not _text_of(self.messages[-1], ""):
            raise ParameterRefused("messages", "The last message must be a text of the user.", "RequestInvalid")
        return turns[-1][1], turns[:-1], "\n\n".join(filter(None, orders))


def _text_of(message: ChatMessage, place: str) -> str:
    if message.role in {"tool", "function"}:
        raise ParameterRefused(f"{place}.role", "Results of tools are not supported.")
    if isinstance(message.content, list):
        if other := [part.type for part in message.content if part.type != "text"]:
            raise ParameterRefused(f"{place}.content", f"Content of the type {other[0][:50]!r} is not supported.")
        return "\n".join(part.text for part in message.content).strip()
    return (message.content or "").strip()


MODEL = "drag-graph"
MODELS: Mapping[str, Mode | None] = {MODEL: None, **{f"{MODEL}:{mode}": cast("Mode", mode) for mode in get_args(Mode)}}
"""Names of models, with the mode of their answers; None is that of the service."""
router = APIRouter(prefix="/v1", responses=OPENAI_REPLIES)


@router.get("/models")
async def models(caller: Reader) -> JSONResponse:  # noqa: ARG001 - who may call it
    """List the models: the student of the service, in each mode."""
    return JSONResponse({"object": "list", "data": [_model(name) for name in MODELS]})


@router.get("/models/{name}")
async def model(name: Annotated[ShortText, Path()], caller: Reader) -> JSONResponse:  # noqa: ARG001 - who may call it
    """Describe a model."""
    return JSONResponse(_model(name))


@router.post("/chat/completions", responses={200: {"content": {EVENT_STREAM: {"schema": {"type": "string"}}}}})
async def chat_completions(body: ChatRequest, caller: Reader, request: Request) -> Response:
    """Answer the last message of the user."""
    _model(body.model)
    body.check()
    message, turns, instruction = body.conversation()
    stem, options = listed_options(message)
    mode, state = MODELS[body.model], state_of(request)

    def answer(on_token: OnToken | None = None) -> Mapping[str, Any]:
        with state.metrics.counted_ask(mode or caller.graph.settings.mode) as counted:  # also if the rewriting fails
            follow_up = caller.graph.follow_up(stem, turns)
            most = body.max_completion_tokens or body.max_tokens
            values: dict[str, Any] = {"mode": mode, "max_answer_tokens": most and min(most, MOST_TOKENS)}
            values["instruction"] = instruction
            given = caller.graph.ask(follow_up.question, options, on_token=on_token, **values)
            counted(given)
        return _reply(given, follow_up, body)

    completion = _Completion(body)
    if body.stream:
        return streamed(state.asks, answer, completion)
    reply = await state.asks.run(answer)
    answer_id = reply["drag_graph"]["answer_id"]
    return JSONResponse(completion.whole(reply), headers={"X-Answer-Id": answer_id} if answer_id else {})


def _model(name: str) -> dict[str, Any]:
    """Return the description of a model. Raises ParameterRefused for an unknown one."""
    if name not in MODELS:
        message = f"There is no model {name[:100]!r}. There are: {', '.join(MODELS)}."
        raise ParameterRefused("model", message, "ModelUnknown", 404)
    return {"id": name, "object": "model", "created": 0, "owned_by": MODEL}


def _reply(given: GivenAnswer, follow_up: FollowUp, request: ChatRequest) -> dict[str, Any]:
    """Return what both forms of a completion have."""
    content, result = str(given), given.result
    if result.facts.get("quoted"):  # a quotation has no citation of its own
        content += "".join(f" [{number}]" for sentence in given.sentences for number in sentence["lines"])
    prompt = result.answer.prompt_tokens + follow_up.prompt_tokens
    written = result.reply_tokens + follow_up.reply_tokens
    own = {"question": follow_up.question, "sentences": given.sentences, **given.to_dict()}
    return {
        "content": (cut := request.cut(content, is_complete=True)),
        "finish_reason": "length" if result.facts.get("truncated") and cut == content else "stop",
        "usage": {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written},
        "drag_graph": own | ({"not_rewritten": follow_up.reason} if follow_up.reason else {}),
    }


@dataclass
class _Completion(OwnEvents):
    """A completion in OpenAI's form, whole or as a stream of chunks."""

    request: ChatRequest
    id: str = field(default_factory=lambda: f"chatcmpl-{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))
    _written: str = ""
    _sent: str | None = None

    def whole(self, reply: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body of a reply that is not streamed."""
        message = {"role": "assistant", "content": reply["content"], "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reply["finish_reason"]}
        return self._head("chat.completion", [choice]) | {name: reply[name] for name in ("usage", "drag_graph")}

    def token(self, text: str, *, is_last: bool = False) -> str:
        """Return the chunk of a further part of the answer."""
        role = {"role": "assistant"} if self._sent is None else {}
        self._written += text
        content = self.request.cut(self._written, is_complete=is_last)
        part = content.removeprefix(self._sent or "")
        self._sent = content
        return self._chunk({**role, "content": part}) if part or role else ""

    def answer(self, document: Mapping[str, Any]) -> str:
        """Return the chunks that end the stream. What was checked after it was sent cannot be taken back."""
        sent, content = self._sent or "", document["content"]
        is_more = content.startswith(sent) and (content != sent or not sent)
        self._written = sent
        rest = self.token(content.removeprefix(sent), is_last=True) if is_more else ""
        last = self._chunk({}, document["finish_reason"], drag_graph=document["drag_graph"])
        usage = _data(self._head("chat.completion.chunk", []) | {"usage": document["usage"]}) if self._wants_usage else ""
        return f"{rest}{last}{usage}data: [DONE]\n\n"

    def error(self, error: BaseException) -> str:
        """Return the event that ends a failed answer."""
        return _data(openai_error(body_of(error), status_of(error)))

    @property
    def _wants_usage(self) -> bool:
        return self.request.stream_options is not None and self.request.stream_options.include_usage

    def _chunk(self, delta: Mapping[str, Any], finish_reason: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        usage = {"usage": None} if self._wants_usage else {}
        return _data(self._head("chat.completion.chunk", [choice]) | usage | more)

    def _head(self, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.request.model, "choices": choices}


def _data(document: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(document, ensure_ascii=False)}\n\n"
