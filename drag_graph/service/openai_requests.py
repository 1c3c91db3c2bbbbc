"""Requests of OpenAI's chat API: what they may have, and the question in them."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from drag_graph.ask.follow_up import Turn
from drag_graph.service.errors import RequestRefused

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

    @property
    def most_tokens(self) -> int | None:
        """The maximum number of tokens in the answer."""
        asked = self.max_completion_tokens or self.max_tokens
        return asked and min(asked, MOST_TOKENS)

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
