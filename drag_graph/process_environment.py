"""Variables of this process that other libraries read. Our own are in `settings`."""

import os
from collections.abc import Mapping


def process_environment() -> Mapping[str, str]:
    """Return a copy of the environment, for adapters."""
    return dict(os.environ)


def prepare_libraries() -> None:
    """Set variables that the model libraries read on import, unless the user has set them. Call it before importing them.

    The libraries then avoid needless downloads, read no .env file, and do not spin while they wait for a processor (spinning
    made a small batch of embeddings 8 times slower on a busy machine).
    """
    for name, value in {
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_MODE": "PRODUCTION",
        "PYTHON_DOTENV_DISABLED": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "OMP_WAIT_POLICY": "PASSIVE",
    }.items():
        os.environ.setdefault(name, value)


def prepare_ray(address: str) -> str:
    """Set variables that Ray reads on import, unless the user has set them. Return the cluster's address, '' for a new one.

    Ray then sends no usage statistics, uploads nothing from the working directory, and keeps a new cluster on the loopback.
    """
    address = address or os.environ.get("RAY_ADDRESS", "")
    for name, value in {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
        **({} if address else {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}),
    }.items():
        os.environ.setdefault(name, value)
    return address


def adopt_variables(variables: Mapping[str, str]) -> None:
    """Set variables of this process, for libraries that read them."""
    os.environ.update(variables)
