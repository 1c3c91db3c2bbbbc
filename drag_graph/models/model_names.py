"""The names of served models, checked without a request."""

from collections.abc import Sequence

from drag_graph.errors import UnknownModel
from drag_graph.models.model_catalogue import close_names, has_model, is_provider


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
    if base_url or (is_provider(prefix) if slash else has_model(model) or model.startswith("ft:")):
        return
    names = " or ".join(close_names(model, own_names))
    others = f"{', '.join(own_names)}, " if own_names else ""
    hint = f"Use {others}PROVIDER/NAME (ollama/llama3.2, anthropic/claude-...), or pass the server's address as base URL."
    message = f"Unknown {role + ' ' if role else ''}model {model!r}."
    raise UnknownModel(message, hint=f"Did you mean {names}? {hint}" if names else hint)
