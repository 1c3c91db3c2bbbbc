"""What the lines of a batch's files say (docs/adr/0013)."""

from collections.abc import Mapping, Sequence
from typing import Any

from drag_graph.providers.client import count_tokens
from drag_graph.teachers.litellm.batches import batch_price_of

UNUSABLE = (ValueError, KeyError, TypeError, AttributeError, IndexError)
"""What reading a line of another form can raise."""


def completion(
    body: Mapping[str, Any], model: str, messages: Sequence[Mapping[str, str]]
) -> tuple[str, str, tuple[int, int, float]]:
    """Return the text, the finish reason, and the tokens in and out and the price of a chat completion.

    Raises one of UNUSABLE where it is none.
    """
    choice = body["choices"][0]
    message, usage = choice["message"], body.get("usage") or {}
    text = str(message.get("content") or "")
    tokens_in = max(0, int(usage.get("prompt_tokens") or 0))
    tokens_out = max(0, int(usage.get("completion_tokens") or 0))
    if not tokens_in:  # a reply that does not say what it took is not free
        tokens_in = count_tokens(model, messages)
    if text and not tokens_out:
        tokens_out = count_tokens(model, [{"role": "assistant", "content": text}])
    took = (tokens_in, tokens_out, batch_price_of(model, tokens_in, tokens_out) or 0.0)
    if message.get("refusal"):
        return str(message["refusal"]), "content_filter", took
    return text, str(choice.get("finish_reason") or "stop"), took


def code_of(answer: Mapping[str, Any]) -> str:
    """Return the code of a line's error, '' where it has none."""
    try:
        return str(answer["error"]["code"])
    except UNUSABLE:
        return ""


def status_of(answer: Mapping[str, Any] | None) -> int:
    """Return the HTTP status of a line of replies, 0 where it has none."""
    try:
        return int(answer["response"]["status_code"])  # type: ignore[index]
    except UNUSABLE:
        return 0
