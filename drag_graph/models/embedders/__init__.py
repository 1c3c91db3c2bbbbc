"""The embedders: texts to unit vectors.

`lexical` needs nothing but numpy, MiniLM and its relatives run in this process, and any other name goes to LiteLLM. A run that
is interrupted and resumed must store the same numbers as one that is not, so a text's vector does not depend on the texts
beside it; so vectors can be remembered by text.
"""

from importlib.util import find_spec
from pathlib import Path

from drag_graph.errors import ConfigurationError
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.embedders.local_embedder import MINILM, MINILM_PACKAGE, PACKAGES, LocalEmbedder
from drag_graph.models.embedders.served_embedder import LiteLLMEmbedder
from drag_graph.models.locality import Check, is_local
from drag_graph.ports.model_roles import Embedder
from drag_graph.settings import Settings

LOCAL_PREFIX = "sentence-transformers/"
_BUILT_IN = frozenset({"", "auto", "lexical", "minilm"})

__all__ = ["MINILM", "LexicalEmbedder", "LiteLLMEmbedder", "LocalEmbedder", "make_embedder"]


def make_embedder(settings: Settings, privacy: Check | None = None) -> Embedder:
    """Return the embedder that `settings.embedder` names: auto, lexical, minilm, a folder, a hub name, or a LiteLLM name.

    `privacy` looks at what leaves this machine; without one, nothing does.

    `auto` is MiniLM where its packages and weights are installed (nothing is imported to find out), else `lexical`. Raises
    MissingExtra when an in-process model is asked for and its packages are not installed.
    """
    chosen = settings.embedder.strip()
    if not chosen:
        raise ConfigurationError("no embedder is named", hint="Use auto, lexical, minilm, a folder, or a LiteLLM name.")
    if chosen == "auto":
        chosen = "minilm" if all(find_spec(package) for package in (*PACKAGES, MINILM_PACKAGE)) else "lexical"
    if chosen == "lexical":
        return LexicalEmbedder()
    if chosen == "minilm":
        return LocalEmbedder(MINILM)
    if _is_folder(chosen):
        return LocalEmbedder(chosen)
    api_key = settings.embedder_api_key.get_secret_value()
    return LiteLLMEmbedder(chosen, base_url=settings.embedder_base_url, api_key=api_key, privacy=privacy)


def is_here(settings: Settings) -> bool:
    """Whether the embedder that the settings name works on this machine."""
    chosen = settings.embedder.strip()
    return chosen in _BUILT_IN or _is_folder(chosen) or is_local(chosen, settings.embedder_base_url)


def _is_folder(chosen: str) -> bool:
    return chosen.startswith(LOCAL_PREFIX) or Path(chosen).expanduser().is_dir()
