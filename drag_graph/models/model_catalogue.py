"""Prices, context windows, tokenizers, names and providers of models, from LiteLLM's data files.

LiteLLM itself is not imported, because that takes five seconds of processor time. Models that were registered with an imported
LiteLLM count as well.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from drag_graph.errors import ConfigurationError, UnknownModel
from drag_graph.process_environment import adopt_variables

GGUF = "gguf:"
"""Prefix of the name of a model in a GGUF file (`gguf_runtime.py`)."""
DEFAULT_CONTEXT_WINDOW = 4096
"""Tokens, for models that the catalogue does not have."""
Price: TypeAlias = Callable[[str, int, int], float | None]
"""Takes a model, the tokens in and the tokens out. Returns US dollars, or None for a model without a price."""
_BATCH_DISCOUNT = 0.5
"""The price of a batch relative to single requests, where the catalogue has none: what the providers charge."""
_TOKENS_PER_MESSAGE = 3
_TOKENS_BEFORE_REPLY = 3
_SAFETY = 1.2
_OVERHEAD = 200
"""Allowance for providers that count more tokens than the tokenizer here, as a factor and in tokens."""
_CHUNK = 1024
"""Characters that are tokenized at once, as in LiteLLM: the time for a long word grows with its square."""


def price_of(model: str, tokens_in: int, tokens_out: int) -> float | None:
    """Return the price in US dollars, or None for a model without a price.

    `model` is the name with or without its provider. A GGUF file costs nothing, a model at a base URL as much as its namesake.
    """
    return 0.0 if model.startswith(GGUF) else _price(model, tokens_in, tokens_out, "")


def batch_price_of(model: str, tokens_in: int, tokens_out: int) -> float | None:
    """Return the price of a request in a batch in US dollars, or None for a model without a price."""
    price = _price(model, tokens_in, tokens_out, "_batches")
    if price is not None:
        return price
    single = price_of(model, tokens_in, tokens_out)
    return None if single is None else single * _BATCH_DISCOUNT


def highest_price(
    model: str, messages: Sequence[Mapping[str, str]], parameters: Mapping[str, Any], price: Price
) -> float | None:
    """Return the highest possible cost of a request in US dollars, or None for a model without a price."""
    if price(model, 0, 0) is None:
        return None
    limit = int(parameters.get("max_completion_tokens") or parameters["max_tokens"])
    schema = {"role": "user", "content": json.dumps(parameters.get("response_format", ""))}
    tokens = count_tokens(model, [*messages, schema])
    return price(model, int(tokens * _SAFETY) + _OVERHEAD, limit)


def no_price_error(model: str) -> ConfigurationError:
    """Return the error for a budget and a model without a price."""
    hint = "Leave out `budget_usd=LIMIT`, or use the name that LiteLLM's price list has for the model."
    return ConfigurationError(f"No price is known for the model {model!r}, so the budget cannot be enforced.", hint=hint)


def context_window(model: str) -> int:
    """Return the most tokens that a prompt may have."""
    entry = next(iter(_entries(model)), {})
    return int(entry.get("max_input_tokens") or entry.get("max_tokens") or DEFAULT_CONTEXT_WINDOW)


def count_tokens(model: str, messages: Sequence[Mapping[str, str]]) -> int:
    """Return the tokens of `messages`: exact for OpenAI's models, an estimate for all others."""
    texts = [text for message in messages for text in message.values()]
    return sum(count_text(model, text) for text in texts) + _TOKENS_PER_MESSAGE * len(messages) + _TOKENS_BEFORE_REPLY


def count_text(model: str, text: str) -> int:
    """Return the tokens of `text`: exact for OpenAI's models, an estimate for all others."""
    encoding = _encoding(_encoding_name(model))
    return sum(
        len(encoding.encode(text[start : start + _CHUNK], disallowed_special=())) for start in range(0, len(text), _CHUNK)
    )


def is_provider(name: str) -> bool:
    """Return whether LiteLLM knows a provider of this name."""
    return name in _providers()


def litellm_name(model: str, base_url: str = "") -> str:
    """Return LiteLLM's name of a model; at a base URL, a name without a provider means an OpenAI-compatible server.

    Raises UnknownModel if the name has no known provider.
    """
    prefix, slash, _ = model.partition("/")
    if base_url:
        return model if slash and is_provider(prefix) else f"openai/{model}"
    check_served_name(model)
    return model


def check_served_name(model: str, base_url: str = "", *, role: str = "", own_names: Sequence[str] = ()) -> None:
    """Raise UnknownModel if no server or provider can have this name.

    `role` (teacher, student, ...) completes the message, `own_names` are names of this role that need no server.
    """
    prefix, slash, _ = model.partition("/")
    if base_url or (is_provider(prefix) if slash else model in _models() or model.startswith("ft:")):
        return
    is_path = slash and prefix in {"", ".", "..", "~"}
    names = f"{GGUF}{model}" if is_path else " or ".join(close_names(model, own_names))
    others = f"{', '.join(own_names)}, " if own_names else ""
    hint = f"Use {others}PROVIDER/NAME (ollama/llama3.2, anthropic/claude-...), or pass the server's address as base URL."
    message = f"Unknown {role + ' ' if role else ''}model {model!r}."
    raise UnknownModel(message, hint=f"Did you mean {names}? {hint}" if names else hint)


def close_names(name: str, more: Sequence[str] = ()) -> list[str]:
    """Return up to three names of models like `name`, the closest first; names in `more` win."""
    provider, slash, rest = name.partition("/")
    if slash and not is_provider(provider):
        return [f"{other}/{rest}" for other in get_close_matches(provider, _providers(), n=3)]
    return [*get_close_matches(name, more, n=1), *get_close_matches(name, _models(), n=3, cutoff=0.8)][:3]


def _price(model: str, tokens_in: int, tokens_out: int, suffix: str) -> float | None:
    for entry in _entries(model):
        per_input = entry.get(f"input_cost_per_token{suffix}")
        per_output = entry.get(f"output_cost_per_token{suffix}")
        if f"input_cost_per_token{suffix}" in entry and not (suffix and None in {per_input, per_output}):
            return float(tokens_in * (per_input or 0.0) + tokens_out * (per_output or 0.0))
    return None


def _entries(model: str) -> list[dict[str, Any]]:
    models = _models()
    return [models[name] for name in dict.fromkeys((model, model.split("/", 1)[-1])) if name in models]


def _models() -> dict[str, dict[str, Any]]:
    """Return the catalogue by name: LiteLLM's own if it is imported, else the file that it ships."""
    loaded: dict[str, dict[str, Any]] | None = getattr(sys.modules.get("litellm"), "model_cost", None)
    return loaded or _data("model_prices_and_context_window_backup.json")


@lru_cache(maxsize=1)
def _providers() -> frozenset[str]:
    named = _data("provider_endpoints_support_backup.json")["providers"]
    selling = (entry.get("litellm_provider", "") for entry in _data("model_prices_and_context_window_backup.json").values())
    return frozenset([*named, *selling, *_data("llms/openai_like/providers.json")]) - {""}


@lru_cache(maxsize=3)
def _data(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((_litellm_folder() / name).read_text(encoding="utf-8"))
    return document


def _litellm_folder() -> Path:
    spec = find_spec("litellm")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _encoding_name(model: str) -> str:
    """Return the name of tiktoken's encoding, chosen as LiteLLM does."""
    import tiktoken

    if _models().get(model, {}).get("litellm_provider") == "openai":
        with suppress(KeyError):
            return str(tiktoken.encoding_name_for_model(model)) if "gpt-4o" not in model else "o200k_base"
    return "cl100k_base"


@lru_cache(maxsize=4)
def _encoding(name: str) -> Any:
    adopt_variables({"TIKTOKEN_CACHE_DIR": str(_litellm_folder() / "litellm_core_utils" / "tokenizers")})
    import tiktoken

    return tiktoken.get_encoding(name)
