"""A GGUF file as a model of this process (extra `gguf`; docs/students.md)."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from drag_graph.models.chat_client import GGUF
from drag_graph.models.gguf_runtime import LlamaServer, check_file, has_chat_template
from drag_graph.models.students.causal_student import Form
from drag_graph.ports.model_roles import Prompt


class GgufModel:
    """The language model of a GGUF file, loaded when it is first used."""

    def __init__(self, name: str) -> None:
        """Raise MissingExtra without llama.cpp, UnknownModel where the file is no GGUF."""
        self._path: Path = check_file(name).resolve()

    @property
    def name(self) -> str:
        """The file's name without its folder: answers tell the same wherever the file lies."""
        return f"{GGUF}{self._path.name}"

    @property
    def context_window(self) -> int:
        return self._server.context_window

    @cached_property
    def follows_instructions(self) -> bool:
        return has_chat_template(self._path)

    def chat(self, prompt: Prompt) -> str:
        return self._server.chat(prompt.messages())

    def tokens(self, text: str, form: Form) -> list[int]:
        return self._server.tokens(text, whole=form != "part", marks=form == "chat")

    def log_probabilities(self, prompt: Sequence[int], continuations: Sequence[Sequence[int]]) -> list[list[float]]:
        return self._server.log_probabilities(prompt, continuations)

    def write(self, prompt: Sequence[int], limit: int) -> tuple[str, list[float]]:
        return self._server.write(prompt, limit)

    @property
    def _server(self) -> LlamaServer:
        return LlamaServer.of(self._path)
