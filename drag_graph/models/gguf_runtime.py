"""The GGUF runtime: a model file in this process, by llama.cpp's own server (extra `gguf`; no torch).

The server listens on the loopback only, on a port that the system chooses. It requires a key that is new for each server and
never leaves this process. A process has one model in memory; loading another file replaces it.

llama.cpp reports log-probabilities of the tokens that it generates, not of a given text. So each token of a continuation is
forced by a bias on this token, one request per token; the reported log-probability is that before the bias. A grammar does not
work: with it the sampler picks other tokens than the tokenizer.
"""

import atexit
import logging
import mmap
import os
import secrets
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Self

from drag_graph.errors import MissingExtra, ModelUnavailable, UnknownModel
from drag_graph.files import sha256_of_file
from drag_graph.models.causal_model import Form
from drag_graph.models.model_catalogue import GGUF
from drag_graph.models.model_server import Server
from drag_graph.models.openai_server import events_of
from drag_graph.ports.model_roles import OnToken, Prompt

CONTEXT_WINDOW = 8192
"""Upper limit in tokens: the context of the training can take more memory than the model."""
LEAST_CONTEXT_WINDOW = 2048
_FORCE = 1e4
_MAGIC = b"GGUF"
_TEMPLATE_KEY = b"tokenizer.chat_template"
_TIMEOUT = 600.0
_log = logging.getLogger(__name__)


class LlamaServer:
    """llama.cpp's server with one model. `LlamaServer.of(path)` returns the one in memory, or loads it."""

    _loaded: ClassVar["LlamaServer | None"] = None
    _lock: ClassVar[threading.RLock] = threading.RLock()

    def __init__(self, path: Path, context_window: int) -> None:
        import httpx

        self.path = path
        self.api_key = secrets.token_hex(16)
        self._server: Any = _load(path, context_window, self.api_key)
        self.address = str(self._server.listening_address)
        headers = {"Authorization": f"Bearer {self.api_key}"}
        # On a busy machine the server closes an idle connection at the moment in which it is used again.
        limits = httpx.Limits(max_keepalive_connections=0)
        self._client = httpx.Client(base_url=self.address, headers=headers, timeout=_TIMEOUT, trust_env=False, limits=limits)
        self.vocabulary = int(self.ask("/v1/models")["data"][0]["meta"]["n_vocab"])
        self.context_window = int(self.ask("/props")["default_generation_settings"]["n_ctx"])

    @classmethod
    def of(cls, path: Path, context_window: int = CONTEXT_WINDOW) -> Self:
        """Return the server of a file. A model of another file is unloaded first. Thread-safe."""
        with cls._lock:
            loaded = cls._loaded
            if loaded is None or loaded.path != path:
                del loaded
                cls.unload()
                cls._loaded = loaded = cls(path, context_window)
            return loaded  # type: ignore[return-value]

    @classmethod
    def unload(cls) -> None:
        """Unload the model that is in memory."""
        with cls._lock:
            loaded, cls._loaded = cls._loaded, None
            if loaded is not None:
                loaded.close()

    def ask(self, path: str, document: Mapping[str, Any] | None = None) -> Any:
        """Return the server's reply to a POST of `document`, or to a GET without one."""
        import httpx

        try:
            reply = self._client.request("GET" if document is None else "POST", path, json=document)
        except httpx.HTTPError as error:  # a timeout, or the server ended
            raise self._silent(error) from error
        if reply.is_error:
            raise ModelUnavailable(f"The llama.cpp server with {self.path.name} answers HTTP {reply.status_code}.")
        return reply.json()

    def stream(self, path: str, document: Mapping[str, Any]) -> Iterator[Any]:
        """Yield the parts of the server's reply as they come. Raises as `ask` does."""
        import httpx

        try:
            with self._client.stream("POST", path, json={**document, "stream": True}) as reply:
                if reply.is_error:
                    raise ModelUnavailable(f"The llama.cpp server with {self.path.name} answers HTTP {reply.status_code}.")
                yield from events_of(reply)
        except httpx.HTTPError as error:
            raise self._silent(error) from error

    def _silent(self, error: Exception) -> ModelUnavailable:
        message = f"The llama.cpp server with {self.path.name} does not answer: {type(error).__name__}."
        return ModelUnavailable(message, hint="Try again when the machine is less busy.")

    def close(self) -> None:
        """Unload the model."""
        self._client.close()
        self._server = None


atexit.register(LlamaServer.unload)


class GgufModel:
    """The language model of a GGUF file as a `CausalModel`, loaded on first use."""

    def __init__(self, name: str, *, seed: int | None = None) -> None:
        """Raise MissingExtra without llama.cpp, UnknownModel if the file is not a GGUF file."""
        self._sampling = {"temperature": 0} if seed is None else {"temperature": 0, "seed": seed}
        self._path: Path = check_file(name).resolve()
        self.name = f"{GGUF}{self._path.name}"
        """The file name without its folder, so that answers do not depend on the folder."""

    @property
    def context_window(self) -> int:
        return self._server.context_window

    @cached_property
    def follows_instructions(self) -> bool:
        return has_chat_template(self._path)

    def chat(self, prompt: Prompt) -> str:
        return str(self._server.ask("/apply-template", {"messages": list(prompt.messages())})["prompt"])

    def tokens(self, text: str, form: Form) -> list[int]:
        document = {"content": text, "add_special": form != "part", "parse_special": form == "chat"}
        return [int(token) for token in self._server.ask("/tokenize", document)["tokens"]]

    def log_probabilities(self, prompt: Sequence[int], continuations: Sequence[Sequence[int]]) -> list[list[float]]:
        # First the prompt alone, so that its cache is the same for all continuations.
        self._server.ask("/completion", {"prompt": list(prompt), "n_predict": 0, "cache_prompt": True})
        return [
            [self._log_probability([*prompt, *ids[:place]], token) for place, token in enumerate(ids)] for ids in continuations
        ]

    def _log_probability(self, before: list[int], token: int) -> float:
        entry = self._force(before, token, probabilities=1)
        if entry is None:  # nothing is reported for the first bytes of a character, except in the list of all alternatives
            entry = self._force(before, self.tokens("a", "part")[-1], probabilities=self._server.vocabulary)
            entry = next((other for other in (entry or {}).get("top_logprobs", ()) if other["id"] == token), None)
        if entry is None or entry["id"] != token:
            raise ModelUnavailable(f"The llama.cpp server with {self._path.name} reports no likelihood of a given token.")
        return float(entry["logprob"])

    def _force(self, before: list[int], token: int, *, probabilities: int) -> Any:
        """Make the model generate `token`. Return its log-probability and those of the likeliest alternatives."""
        document = {
            "prompt": before,
            "n_predict": 1,
            "n_probs": probabilities,
            "logit_bias": [[token, _FORCE]],
            "samplers": ["temperature"],
            "temperature": 0,
            "cache_prompt": True,
        }
        return next(iter(self._server.ask("/completion", document).get("completion_probabilities", ())), None)

    def write(self, prompt: Sequence[int], limit: int, on_token: OnToken | None = None) -> tuple[str, list[float]]:
        document = {"prompt": list(prompt), "n_predict": limit, "n_probs": 1, "cache_prompt": True, **self._sampling}
        texts, log_probabilities = list[str](), list[float]()
        for part in self._server.stream("/completion", document) if on_token else [self._server.ask("/completion", document)]:
            texts.append(str(part["content"]))
            log_probabilities += [float(token["logprob"]) for token in part.get("completion_probabilities", ())]
            if on_token and texts[-1]:
                on_token(texts[-1])
        return "".join(texts), log_probabilities

    @property
    def _server(self) -> LlamaServer:
        return LlamaServer.of(self._path)


def _load(path: Path, context_window: int, api_key: str) -> Any:
    """Load a model. While it does not fit into memory, log a warning and halve the context."""
    xllamacpp = _library()
    while True:
        try:
            return xllamacpp.Server(_parameters(xllamacpp, path, context_window, api_key))
        except (RuntimeError, MemoryError) as error:
            if context_window <= LEAST_CONTEXT_WINDOW:
                message = f"llama.cpp cannot load {path.name}."
                hint = "The file may be damaged, of an unsupported kind, or too large for the memory."
                raise ModelUnavailable(message, hint=hint) from error
        smaller = context_window // 2
        _log.warning("%s does not fit with a context of %d tokens; trying %d", path.name, context_window, smaller)
        context_window = smaller


def chat_server(name: str, timeout: float) -> Server:
    """Load a GGUF file and return its server, which is valid until another file is loaded."""
    loaded = LlamaServer.of(check_file(name).resolve())
    return Server("openai/local", f"{loaded.address}/v1", loaded.api_key, timeout=max(timeout, _TIMEOUT))


def recorded_name(name: str) -> str:
    """Return the name that identifies a GGUF file in records: its file name and the beginning of its SHA-256."""
    path = check_file(name).resolve()
    return f"{GGUF}{path.name}#{sha256_of_file(path)[:12]}"


def check_file(name: str) -> Path:
    """Return the path of a GGUF file. Raises MissingExtra, and UnknownModel if it is not one."""
    if find_spec("xllamacpp") is None:
        raise MissingExtra(f"{GGUF}{name} needs the package xllamacpp.", extra="gguf")
    path = Path(name).expanduser()
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise UnknownModel(
            f"Cannot read {path}: {error.strerror}.", hint="Use gguf:FILE.gguf with an existing file."
        ) from error
    if magic != _MAGIC:
        raise UnknownModel(f"{path} is not a GGUF file.", hint="Use gguf:FILE.gguf, a model in llama.cpp's format.")
    return path


def has_chat_template(path: Path) -> bool:
    """Return whether a GGUF file has a chat template, as models that follow instructions do. llama.cpp adds one to all."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return data.find(_TEMPLATE_KEY, 0, 64 << 20) != -1


def _library() -> Any:
    """Import llama.cpp so that it prefers its own functions.

    The embedded engine exports functions to all libraries that are loaded later. Some have the names of llama.cpp's own; if
    llama.cpp called them, the process would crash.
    """
    flags = sys.getdlopenflags() if hasattr(sys, "getdlopenflags") else None
    if flags is not None and hasattr(os, "RTLD_DEEPBIND"):
        sys.setdlopenflags(os.RTLD_NOW | os.RTLD_DEEPBIND)
    try:
        import xllamacpp
    finally:
        if flags is not None:
            sys.setdlopenflags(flags)
    return xllamacpp


def _processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _parameters(xllamacpp: Any, path: Path, context_window: int, api_key: str) -> Any:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [api_key]
    parameters.n_ctx = context_window
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = _processors()
    parameters.cpuparams.poll = parameters.cpuparams_batch.poll = 0  # spinning threads block each other
    parameters.swa_full = True  # else a model with sliding windows rereads the prompt for each option
    parameters.ui = False
    parameters.verbosity = -1
    return parameters
