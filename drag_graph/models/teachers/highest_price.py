"""The highest possible cost of a request, sent alone or in a batch."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from drag_graph.errors import ConfigurationError
from drag_graph.models.model_catalogue import Price, count_tokens

_SAFETY = 1.2
_OVERHEAD = 200
"""Allowance for providers that count more tokens than the tokenizer here, as a factor and in tokens."""


def highest_price(
    model: str, messages: Sequence[Mapping[str, str]], parameters: Mapping[str, Any], price_of: Price
) -> float | None:
    """Return the highest possible cost of a request in US dollars, or None for a model without a price."""
    if price_of(model, 0, 0) is None:
        return None
    limit = int(parameters.get("max_completion_tokens") or parameters["max_tokens"])
    schema = {"role": "user", "content": json.dumps(parameters.get("response_format", ""))}
    tokens = count_tokens(model, [*messages, schema])
    return price_of(model, int(tokens * _SAFETY) + _OVERHEAD, limit)


def no_price_error(model: str) -> ConfigurationError:
    """Return the error for a budget and a model without a price."""
    hint = "Leave out `budget_usd=LIMIT`, or use the name that LiteLLM's price list has for the model."
    return ConfigurationError(f"No price is known for the model {model!r}, so the budget cannot be enforced.", hint=hint)
