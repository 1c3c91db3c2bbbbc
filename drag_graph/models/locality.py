"""Which models run on this machine, and the check on everything that leaves it."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from drag_graph.errors import ConfigurationError
from drag_graph.process_environment import process_environment

Check = Callable[[Mapping[str, Any]], None]
"""Raises Withheld if the arguments of a call must not leave this machine."""
_ADDRESSES = {
    "ollama": "http://localhost:11434",
    "ollama_chat": "http://localhost:11434",
    "llamafile": "http://127.0.0.1:8080",
    "lm_studio": "http://localhost:1234",
}
"""Default addresses of the providers that run on one's own machine."""


def unchecked(_call: Mapping[str, Any]) -> None:
    """Let everything leave: `--privacy off`."""


def refuse(model: str, _call: Mapping[str, Any]) -> None:
    """Raise ConfigurationError: a remote model is used without a privacy gate."""
    hint = "Set `privacy` to standard or strict, or to off to send texts as they are."
    raise ConfigurationError(f"There is no privacy gate for the remote model {model!r}.", hint=hint)


def local_address(model: str) -> str:
    """Return the address of a model's provider if it runs on one's own machine, else ''. `OLLAMA_API_BASE` etc. change it."""
    provider = model.partition("/")[0]
    default = _ADDRESSES.get(provider, "")
    return (default and process_environment().get(f"{provider.removesuffix('_chat').upper()}_API_BASE", "")) or default


def is_local(model: str, base_url: str) -> bool:
    """Return whether requests for a model stay on this machine; through a proxy they do not."""
    address = base_url or local_address(model)
    return urlsplit(address).hostname in {"localhost", "127.0.0.1", "::1"} and not _has_proxy(address)


def _has_proxy(address: str) -> bool:
    """Return whether HTTP clients reach this address through a proxy from the environment."""
    parts, proxies = urlsplit(address), getproxies_environment()
    return not {parts.scheme, "all"}.isdisjoint(proxies) and not proxy_bypass(parts.hostname or "", proxies)
