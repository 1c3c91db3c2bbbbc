"""The environment variables of a model provider."""

from pydantic import SecretStr

from drag_graph.process_environment import process_environment

FAMILIES: dict[str, tuple[str, ...]] = {
    "bedrock": ("AWS_",),
    "sagemaker": ("AWS_",),
    "vertex_ai": ("VERTEX", "GOOGLE_"),
    "gemini": ("GOOGLE_",),
    "azure": ("AZURE_",),
    "huggingface": ("HF_",),
    "together_ai": ("TOGETHER_",),
    "fireworks_ai": ("FIREWORKS_",),
    "perplexity": ("PERPLEXITYAI_",),
    "friendliai": ("FRIENDLI_",),
    "watsonx": ("WX_", "WML_"),
    "volcengine": ("ARK_",),
    "cohere": ("CO_",),
    "openrouter": ("OR_",),
    "vercel_ai_gateway": ("VERCEL_",),
}
"""Further prefixes of variables, by provider or beginning of providers' names."""


def belongs_to(provider: str, name: str) -> bool:
    """Return whether LiteLLM reads the variable `name` for a provider (by LiteLLM's name).

    A provider's variables begin with its name, with or without underscores (`VERTEXAI_`, `VERTEX_AI_`), or with a prefix of its
    vendor (`AWS_` for bedrock).
    """
    own = provider.removeprefix("text-completion-").removesuffix("_chat").replace("-", "_")
    families = next((more for stem, more in FAMILIES.items() if own.startswith(stem)), ())
    parts = name.split("_")
    begins = {"".join(parts[:number]) for number in range(1, len(parts))}
    return own.replace("_", "").upper() in begins or name.startswith(families)


def provider_variables(provider: str) -> dict[str, SecretStr]:
    """Return the environment variables that LiteLLM reads for a model provider."""
    return {name: SecretStr(value) for name, value in process_environment().items() if value and belongs_to(provider, name)}
