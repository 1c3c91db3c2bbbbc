"""An embedding model behind LiteLLM."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from drag_graph.errors import ModelUnavailable, UnknownModel
from drag_graph.models.chat_client import Server, embed, load_litellm
from drag_graph.models.embedders.embedding_cache import Remembering
from drag_graph.models.locality import Check
from drag_graph.models.provider_errors import RequestRejected
from drag_graph.ports.vectors import Vectors


class LiteLLMEmbedder(Remembering):
    """An embedding model behind LiteLLM, or any OpenAI-compatible server by `base_url`.

    A server that is busy or away is waited for as in `litellm_client.complete`; `timeout` is that of one attempt in seconds.
    What is embedded leaves this machine, unless the server is on it, so `privacy` stands before it. How far a text's vector
    depends on its neighbours in a request is up to the server.
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
        privacy: Check | None = None,
    ) -> None:
        super().__init__()
        self._model = model
        self._server = Server(model, base_url, api_key, "DRAG_GRAPH_EMBEDDER_API_KEY", timeout, sleep, privacy)
        self._dimension = 0

    @property
    def name(self) -> str:
        return self._model

    @property
    def dimension(self) -> int:
        """The length of a vector; the first question about it asks the server for one."""
        if not self._dimension:
            self.encode_texts(["dimension"])
        return self._dimension

    def encode_texts(self, texts: list[str]) -> Vectors:
        return np.concatenate([self._request(texts[start : start + self.batch]) for start in range(0, len(texts), self.batch)])

    def _request(self, texts: list[str]) -> Vectors:
        try:
            entries = embed(self._server, texts)
        except RequestRejected as error:
            # No text of ours is odd enough for this: the model is none for embeddings.
            hint = "Use auto, lexical, minilm, a folder, or an embedding model that LiteLLM knows."
            raise UnknownModel(f"the embedding model {self._model!r} was not accepted: {error}", hint=hint) from error
        vectors = self._vectors_of(entries, len(texts))
        self._dimension = self._dimension or int(vectors.shape[1])
        if vectors.shape[1] != self._dimension:
            raise ModelUnavailable(f"the embedding model {self._model!r} sent vectors of another length than before")
        return vectors

    def _vectors_of(self, entries: list[Any], expected: int) -> Vectors:
        try:
            rows = sorted(entries, key=lambda entry: int(entry["index"]))
            vectors = np.array([entry["embedding"] for entry in rows], dtype=np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelUnavailable(f"the embedding model {self._model!r} sent no vectors of equal lengths") from error
        if vectors.shape[0] != expected or vectors.ndim != 2:  # noqa: PLR2004
            raise ModelUnavailable(f"the embedding model {self._model!r} sent {len(entries)} vectors for {expected} texts")
        return vectors

    def count_of(self, text: str) -> int:
        return int(load_litellm().token_counter(model=self._model, text=text))
