"""A GGUF file, run in this process by llama.cpp's own server (extra `gguf`; no torch).

The server listens on the loopback alone, on a port that the system chooses, and answers only who has the key, which is made
anew each time and never leaves this process. A process has one model in memory: another file takes its place.

llama.cpp gives the log-probabilities of tokens that it generates, not those of a given text. So each token of a continuation is
forced, one request a token, by a bias on it alone; the log-probability told is the model's own, before the bias. Forcing by a
grammar goes wrong: the sampler then picks other tokens than the tokenizer's.
"""

import atexit
import logging
import mmap
import os
import secrets
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Self

from drag_graph.errors import MissingExtra, ModelUnavailable, UnknownModel
from drag_graph.files import sha256_of_file
from drag_graph.models.chat_client import GGUF, Server

CONTEXT_WINDOW = 8192
"""Tokens, at most: what a model was trained for can take more memory than the model itself."""
LEAST_CONTEXT_WINDOW = 2048
_FORCE = 1e4
_MAGIC = b"GGUF"
_TEMPLATE_KEY = b"tokenizer.chat_template"
_TIMEOUT = 600.0
_log = logging.getLogger(__name__)


class LlamaServer:
    """llama.cpp's server with one model. `LlamaServer.of(path)` gives the one that is in memory, or loads it."""

    _loaded: ClassVar["LlamaServer | None"] = None
    _lock: ClassVar[threading.RLock] = threading.RLock()

    def __init__(self, path: Path, context_window: int) -> None:
        import httpx

        self.path = path
        self.api_key = secrets.token_hex(16)
        self._server: Any = _load(path, context_window, self.api_key)
        self.address = str(self._server.listening_address)
        headers = {"Authorization": f"Bearer {self.api_key}"}
        self._client = httpx.Client(base_url=self.address, headers=headers, timeout=_TIMEOUT, trust_env=False)
        self.vocabulary = int(self.get("/v1/models")["data"][0]["meta"]["n_vocab"])
        self.context_window = int(self.get("/props")["default_generation_settings"]["n_ctx"])

    @classmethod
    def of(cls, path: Path, context_window: int = CONTEXT_WINDOW) -> Self:
        """Return the server of a file; a model of another file leaves the memory first. Thread-safe."""
        with cls._lock:
            loaded = cls._loaded
            if loaded is None or loaded.path != path:
                del loaded
                cls.unload()
                cls._loaded = loaded = cls(path, context_window)
            return loaded  # type: ignore[return-value]

    @classmethod
    def unload(cls) -> None:
        """Take the model that is in memory out of it."""
        with cls._lock:
            loaded, cls._loaded = cls._loaded, None
            if loaded is not None:
                loaded.close()

    def get(self, place: str) -> Any:
        """Return what the server has at `place`."""
        return self._replied("GET", place)

    def post(self, place: str, document: Mapping[str, Any]) -> Any:
        """Return the server's reply to a document."""
        return self._replied("POST", place, document)

    def _replied(self, method: str, place: str, document: Mapping[str, Any] | None = None) -> Any:
        import httpx

        try:
            reply = self._client.request(method, place, json=document)
        except httpx.HTTPError as error:  # too slow, or it ended
            message = f"llama.cpp with {self.path.name} does not answer: {type(error).__name__}"
            raise ModelUnavailable(message, hint="Ask again; other work may keep the machine busy.") from error
        if reply.is_error:
            raise ModelUnavailable(f"llama.cpp with {self.path.name} answers {reply.status_code}")
        return reply.json()

    def tokens(self, text: str, *, whole: bool, marks: bool) -> list[int]:
        """Return the token ids of `text`: as a `whole` text begins, and with the `marks` of chats read as such."""
        document = {"content": text, "add_special": whole, "parse_special": marks}
        return [int(token) for token in self.post("/tokenize", document)["tokens"]]

    def log_probabilities(self, prompt: Sequence[int], continuations: Sequence[Sequence[int]]) -> list[list[float]]:
        """Return the natural log-probability of each token of each continuation of `prompt`."""
        # First the prompt alone: so all continuations find it worked out in the same way, the first one, too.
        self.post("/completion", {"prompt": list(prompt), "n_predict": 0, "cache_prompt": True})
        return [
            [self._log_probability([*prompt, *ids[:place]], token) for place, token in enumerate(ids)] for ids in continuations
        ]

    def _log_probability(self, before: list[int], token: int) -> float:
        found = self._forced(before, token, probabilities=1)
        if found is None:  # of the first bytes of a character nothing is told: then the list of all that could have come has it
            found = self._forced(before, self.tokens("a", whole=False, marks=False)[-1], probabilities=self.vocabulary)
            found = next((other for other in (found or {}).get("top_logprobs", ()) if other["id"] == token), None)
        if found is None or found["id"] != token:
            raise ModelUnavailable(f"llama.cpp with {self.path.name} does not tell the likelihood of a token that it is given")
        return float(found["logprob"])

    def _forced(self, before: list[int], token: int, *, probabilities: int) -> Any:
        """Let the model take `token`; return what it says of it and of the likeliest others."""
        document = {
            "prompt": before,
            "n_predict": 1,
            "n_probs": probabilities,
            "logit_bias": [[token, _FORCE]],
            "samplers": ["temperature"],
            "temperature": 0,
            "cache_prompt": True,
        }
        return next(iter(self.post("/completion", document).get("completion_probabilities", ())), None)

    def write(self, prompt: Sequence[int], limit: int) -> tuple[str, list[float]]:
        """Continue `prompt` greedily by at most `limit` tokens; return the text and the log-probabilities of its tokens."""
        document = {"prompt": list(prompt), "n_predict": limit, "n_probs": 1, "temperature": 0, "cache_prompt": True}
        reply = self.post("/completion", document)
        return str(reply["content"]), [float(token["logprob"]) for token in reply.get("completion_probabilities", ())]

    def chat(self, messages: Sequence[Mapping[str, str]]) -> str:
        """Return the messages as the model's chat template has them, ready for the model's turn."""
        return str(self.post("/apply-template", {"messages": [dict(message) for message in messages]})["prompt"])

    def close(self) -> None:
        """Take the model out of memory."""
        self._client.close()
        self._server = None


atexit.register(LlamaServer.unload)


def _load(path: Path, context_window: int, api_key: str) -> Any:
    """Load a model; where it does not fit into the memory, again with half the context, aloud."""
    xllamacpp = _library()
    while True:
        try:
            return xllamacpp.Server(_parameters(xllamacpp, path, context_window, api_key))
        except (RuntimeError, MemoryError) as error:
            if context_window <= LEAST_CONTEXT_WINDOW:
                message = f"llama.cpp cannot load {path.name}"
                hint = "It may be damaged, of a kind that this llama.cpp does not know, or too large for the memory."
                raise ModelUnavailable(message, hint=hint) from error
        smaller = context_window // 2
        _log.warning("%s cannot be loaded with room for %d tokens: going on with %d", path.name, context_window, smaller)
        context_window = smaller


def chat_server(name: str, timeout: float) -> Server:
    """Return how LiteLLM reaches the model of a GGUF file, which is loaded; only until another one is."""
    loaded = LlamaServer.of(check_file(name).resolve())
    return Server("openai/local", f"{loaded.address}/v1", loaded.api_key, timeout=max(timeout, _TIMEOUT))


def recorded_name(name: str) -> str:
    """Return what the calls of a GGUF file are recorded under: its name and the beginning of its SHA-256.

    Another file of that name is another model.
    """
    path = check_file(name).resolve()
    return f"{GGUF}{path.name}#{sha256_of_file(path)[:12]}"


def check_file(name: str) -> Path:
    """Return the path of a GGUF file. Raises MissingExtra, and UnknownModel where it is none."""
    if find_spec("xllamacpp") is None:
        raise MissingExtra(f"{GGUF}{name} needs the package xllamacpp.", extra="gguf")
    path = Path(name).expanduser()
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise UnknownModel(f"{path} cannot be read: {error.strerror}", hint="Give gguf:FILE.gguf.") from error
    if magic != _MAGIC:
        raise UnknownModel(f"{path} is no GGUF file", hint="Give gguf:FILE.gguf, a model in llama.cpp's format.")
    return path


def has_chat_template(path: Path) -> bool:
    """Whether a GGUF file brings a chat template, as models that follow instructions do (llama.cpp gives one to all)."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return data.find(_TEMPLATE_KEY, 0, 64 << 20) != -1


def _library() -> Any:
    """Import llama.cpp so that it finds its own functions first.

    The embedded engine makes its functions known to all libraries that are loaded later, and some have the names of
    llama.cpp's, which would call them, and end the process.
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
    """Return how many processors this process may use: fewer than the machine has where it is held to some."""
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
    parameters.cpuparams.poll = parameters.cpuparams_batch.poll = 0  # spinning threads keep each other from the processor
    parameters.swa_full = True  # else a model with sliding windows reads the whole prompt again for each option
    parameters.ui = False
    parameters.verbosity = -1
    return parameters
