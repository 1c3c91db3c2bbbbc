"""Routes of OpenAI's chat API: clients that know it can ask drag-graph (docs/openai.md)."""

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from drag_graph.app.answer_results import GivenAnswer
from drag_graph.ask.follow_up import FollowUp
from drag_graph.model import Mode
from drag_graph.ports.model_roles import OnToken
from drag_graph.service.answer_stream import EVENT_STREAM, OwnEvents, streamed
from drag_graph.service.asking_routes import Reader
from drag_graph.service.errors import body_of, status_of
from drag_graph.service.listed_options import listed_options
from drag_graph.service.openai_errors import OPENAI_REPLIES, openai_error
from drag_graph.service.openai_requests import ChatRequest, ParameterRefused
from drag_graph.service.service_state import state_of

MODEL = "drag-graph"
MODELS: Mapping[str, Mode | None] = {MODEL: None, **{f"{MODEL}:{mode}": cast("Mode", mode) for mode in get_args(Mode)}}
"""Names of models, with the mode of their answers; None is that of the service."""
router = APIRouter(prefix="/v1", responses=OPENAI_REPLIES)


@router.get("/models")
async def models(caller: Reader) -> JSONResponse:  # noqa: ARG001 - who may call it
    """List the models: the student of the service, in each mode."""
    data = [{"id": name, "object": "model", "created": 0, "owned_by": MODEL} for name in MODELS]
    return JSONResponse({"object": "list", "data": data})


@router.post("/chat/completions", responses={200: {"content": {EVENT_STREAM: {"schema": {"type": "string"}}}}})
async def chat_completions(body: ChatRequest, caller: Reader, request: Request) -> Response:
    """Answer the last message of the user."""
    if body.model not in MODELS:
        message = f"There is no model {body.model[:100]!r}. There are: {', '.join(MODELS)}."
        raise ParameterRefused("model", message, "ModelUnknown", 404)
    body.check()
    message, turns, instruction = body.conversation()
    stem, options = listed_options(message)
    mode, state = MODELS[body.model], state_of(request)

    def answer(on_token: OnToken | None = None) -> Mapping[str, Any]:
        with state.metrics.counted_ask(mode or caller.graph.settings.mode) as counted:  # also if the rewriting fails
            follow_up = caller.graph.follow_up(stem, turns)
            values: dict[str, Any] = {"mode": mode, "max_answer_tokens": body.most_tokens, "instruction": instruction}
            given = caller.graph.ask(follow_up.question, options, on_token=on_token, **values)
            counted(given)
        return _reply(given, follow_up)

    completion = _Completion(body)
    if body.stream:
        return streamed(state.asks, answer, completion)
    reply = await state.asks.run(answer)
    answer_id = reply["drag_graph"]["answer_id"]
    return JSONResponse(completion.whole(reply), headers={"X-Answer-Id": answer_id} if answer_id else {})


def _reply(given: GivenAnswer, follow_up: FollowUp) -> dict[str, Any]:
    """Return what both forms of a completion have."""
    content, result = str(given), given.result
    if result.facts.get("quoted"):  # a quotation has no citation of its own
        content += "".join(f" [{number}]" for sentence in given.sentences for number in sentence["lines"])
    prompt = result.answer.prompt_tokens + follow_up.prompt_tokens
    written = result.reply_tokens + follow_up.reply_tokens
    own = {"question": follow_up.question, "sentences": given.sentences, **given.to_dict()}
    return {
        "content": content,
        "finish_reason": "length" if result.facts.get("truncated") else "stop",
        "usage": {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written},
        "drag_graph": own | ({"not_rewritten": follow_up.reason} if follow_up.reason else {}),
    }


@dataclass
class _Completion(OwnEvents):
    """A completion in OpenAI's form, whole or as a stream of chunks."""

    request: ChatRequest
    id: str = field(default_factory=lambda: f"chatcmpl-{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))
    _sent: str | None = None

    def whole(self, reply: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body of a reply that is not streamed."""
        message = {"role": "assistant", "content": reply["content"], "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reply["finish_reason"]}
        return self._head("chat.completion", [choice]) | {name: reply[name] for name in ("usage", "drag_graph")}

    def token(self, text: str) -> str:
        """Return the chunk of a further part of the answer."""
        role = {"role": "assistant"} if self._sent is None else {}
        self._sent = (self._sent or "") + text
        return self._chunk({**role, "content": text})

    def answer(self, document: Mapping[str, Any]) -> str:
        """Return the chunks that end the stream. What was checked after it was sent cannot be taken back."""
        sent, content = self._sent or "", document["content"]
        rest = self.token(content.removeprefix(sent)) if content.startswith(sent) and (content != sent or not sent) else ""
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
