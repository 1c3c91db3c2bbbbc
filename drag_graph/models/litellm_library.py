"""LiteLLM, imported when first needed: for providers that do not speak OpenAI's protocol, for their keys, and for batches.

Its retries, telemetry and console output are off, and it reads its local price map.
"""

import logging
import warnings
from functools import lru_cache
from typing import Any

from drag_graph import log
from drag_graph.process_environment import prepare_libraries

_NOISY_LOGGERS = {"LiteLLM": logging.CRITICAL, "openai": logging.WARNING, "httpx": logging.WARNING, "httpcore": logging.WARNING}


def load_litellm() -> Any:
    """Return the `litellm` module, quiet and offline except for the calls that it is asked to make."""
    litellm = _loaded()
    quieten_loggers()  # again, in case another library has changed a level since
    litellm.suppress_debug_info = True
    litellm.turn_off_message_logging = True
    litellm.disable_hf_tokenizer_download = True
    litellm.DEFAULT_MAX_RETRIES = 0  # embeddings use this instead of `max_retries`
    return litellm


def quieten_loggers() -> None:
    """Keep the libraries from logging or warning about prompts and replies."""
    # Pydantic's warnings quote the parts of a reply.
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings", category=UserWarning)
    for name, level in _NOISY_LOGGERS.items():
        logger = logging.getLogger(name)
        if logger.level < level:
            logger.setLevel(level)


def provider_of(model: str) -> str:
    """Return LiteLLM's name of the provider of a resolved model name."""
    return str(load_litellm().get_llm_provider(model)[1])


def supports_schema(model: str) -> bool:
    """Return whether the provider of a model takes a JSON schema as `response_format`."""
    return bool(load_litellm().supports_response_schema(model=model))


def missing_keys(model: str) -> list[str]:
    """Return the variables of keys that `model` needs and the environment lacks, [] if another login may work."""
    missing = [str(name) for name in load_litellm().validate_environment(model=model)["missing_keys"]]
    # Regions, profiles and addresses have other sources that only the provider's library knows.
    return missing if all(name.endswith("_API_KEY") for name in missing) else []


@lru_cache(maxsize=1)
def _loaded() -> Any:
    prepare_libraries()
    with log.slow("loading LiteLLM"):
        import litellm

    return litellm
