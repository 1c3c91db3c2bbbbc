"""Which models are not on this machine, and what looks at all that goes to them."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from drag_graph.settings import goes_by_proxy, process_environment

Check = Callable[[Mapping[str, Any]], None]
"""Raises Withheld where the arguments of a call must not leave this machine."""


def unchecked(_call: Mapping[str, Any]) -> None:
    """Let everything leave: what `--privacy off` means."""


_LOCAL = {
    "ollama": "http://localhost:11434",
    "ollama_chat": "http://localhost:11434",
    "llamafile": "http://127.0.0.1:8080",
    "lm_studio": "http://localhost:1234",
}
"""Where providers are that need no address."""


def is_local(model: str, base_url: str) -> bool:
    """Return whether a model runs on this machine: behind an address of it, or, without one, by a provider that does.

    Neither does where the environment puts the provider elsewhere, or a proxy before this machine.
    """
    provider = model.partition("/")[0]
    if not base_url and provider in _LOCAL:
        base_url = process_environment().get(f"{provider.removesuffix('_chat').upper()}_API_BASE") or _LOCAL[provider]
    return urlsplit(base_url).hostname in {"localhost", "127.0.0.1", "::1"} and not goes_by_proxy(base_url)
