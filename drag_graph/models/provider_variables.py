"""Which variables of the environment a provider of models reads."""

from pydantic import SecretStr

from drag_graph.settings import process_environment

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
"""How the variables of providers (or of all whose names begin so) begin, beside their own names."""


def belongs_to(provider: str, name: str) -> bool:
    """Return whether LiteLLM reads the variable of that name for a provider, which is named as LiteLLM names it.

    Those are its whose names begin with the provider's own, whatever underscores it has (`VERTEXAI_`, `VERTEX_AI_`), or with
    those under which its makers keep theirs (`AWS_` for bedrock).
    """
    own = provider.removeprefix("text-completion-").removesuffix("_chat").replace("-", "_")
    families = next((more for stem, more in FAMILIES.items() if own.startswith(stem)), ())
    parts = name.split("_")
    begins = {"".join(parts[:number]) for number in range(1, len(parts))}
    return own.replace("_", "").upper() in begins or name.startswith(families)


def provider_variables(provider: str) -> dict[str, SecretStr]:
    """Return the variables of the environment that LiteLLM reads for a model provider."""
    return {name: SecretStr(value) for name, value in process_environment().items() if value and belongs_to(provider, name)}
