"""The most that a request to a model can cost, sent by itself or in a batch."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from drag_graph.errors import ConfigurationError
from drag_graph.models.chat_client import count_tokens

Price: TypeAlias = Callable[[str, int, int], float | None]
"""Takes a model, the tokens in and the tokens out, and returns US dollars; None where the model has no price."""
_SAFETY = 1.2
_OVERHEAD = 200
"""A provider may count more tokens than the tokenizer here: what is allowed for that, as a factor and in tokens."""
_SHAPES = 64


def most(model: str, messages: Sequence[Mapping[str, str]], parameters: Mapping[str, Any], price_of: Price) -> float | None:
    """Return the most that a request can cost in US dollars, or None where the model has no price."""
    if price_of(model, 0, 0) is None:
        return None
    limit = int(parameters.get("max_completion_tokens") or parameters["max_tokens"])
    tokens = count_tokens(model, messages) + _tokens_of(model, json.dumps(parameters.get("response_format", "")))
    return price_of(model, int(tokens * _SAFETY) + _OVERHEAD, limit)


def unpriced(model: str) -> ConfigurationError:
    """Return the error for a budget where the model has no price."""
    hint = "Leave --budget-usd out, or name the model as LiteLLM's price map does."
    return ConfigurationError(f"no price is known for the model {model!r}, so no budget can be kept", hint=hint)


@lru_cache(_SHAPES)
def _tokens_of(model: str, text: str) -> int:
    return count_tokens(model, [{"role": "user", "content": text}])
