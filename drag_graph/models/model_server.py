"""How to reach a served model."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlsplit

from drag_graph.models.litellm_library import missing_keys, provider_of, supports_schema
from drag_graph.models.locality import Check, is_local, local_address
from drag_graph.models.model_catalogue import litellm_name
from drag_graph.ports.setting_types import RETRIES, ModelSpec
from drag_graph.process_environment import process_environment


@dataclass(frozen=True, slots=True)
class Server:
    """A model and how to reach it.

    `timeout` is the limit of one attempt in seconds, also for a reply that arrives byte by byte. `key_variable` is the variable
    in the hint when the server at `base_url` refuses the key. `privacy` checks what leaves this machine; without one, nothing
    may.
    """

    model: str
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    key_variable: str = "DRAG_GRAPH_TEACHER_API_KEY"
    timeout: float = 120.0
    sleep: Callable[[float], None] = time.sleep
    privacy: Check | None = None
    retries: int = RETRIES

    @classmethod
    def of(cls, spec: ModelSpec, privacy: Check | None = None, sleep: Callable[[float], None] = time.sleep) -> Self:
        """Return the server of a model specification."""
        return cls(spec.name, spec.base_url, spec.api_key, spec.key_variable, spec.timeout, sleep, privacy, spec.retries)

    @property
    def is_local(self) -> bool:
        """Whether requests stay on this machine."""
        return is_local(self.model, self.base_url)

    @property
    def takes_schemas(self) -> bool:
        """Whether a JSON schema may be sent as `response_format`; a server that rejects it shows so later."""
        return bool(self.base_url or local_address(self.model)) or supports_schema(litellm_name(self.model))

    @property
    def where(self) -> str:
        """The server, as a phrase of an error."""
        return f"the model server at {host_of(self.base_url)}" if self.base_url else f"the provider of {self.model!r}"

    def key_names(self) -> str:
        """Return the variables that may hold the server's key."""
        if self.base_url:
            return self.key_variable
        if local_address(self.model):
            return f"{self.model.partition('/')[0].removesuffix('_chat').upper()}_API_KEY"
        name = litellm_name(self.model)
        provider = provider_of(name).upper()
        in_use = [name for name in process_environment() if name.startswith(provider) and name.endswith("_KEY")]
        return " or ".join(sorted(missing_keys(name) or in_use)) or f"{provider}_API_KEY"


def host_of(address: str) -> str:
    """Return the host and port of an address. User, password, path and query can hold secrets."""
    parts = urlsplit(address)
    return f"{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}"
