"""A served embedding model."""

from typing import Any

import numpy as np

from drag_graph.errors import ModelUnavailable, UnknownModel
from drag_graph.models.chat_client import embed
from drag_graph.models.embedders.embedding_cache import CachingEmbedder
from drag_graph.models.model_catalogue import count_text
from drag_graph.models.model_server import Server
from drag_graph.models.provider_errors import RequestRejected
from drag_graph.ports.vectors import Vectors


class ServedEmbedder(CachingEmbedder):
    """A served embedding model. Calls are repeated as in `chat_client.complete`.

    The server decides whether a text's vector depends on the other texts of a request.
    """

    batch = 128

    def __init__(self, server: Server) -> None:
        super().__init__()
        self.name = server.model
        self._server = server
        self._dimension = 0

    @property
    def dimension(self) -> int:
        """The length of a vector. The first access embeds a word to find out."""
        if not self._dimension:
            self.encode_texts(["dimension"])
        return self._dimension

    def encode_texts(self, texts: list[str]) -> Vectors:
        return np.concatenate([self._request(texts[start : start + self.batch]) for start in range(0, len(texts), self.batch)])

    def _request(self, texts: list[str]) -> Vectors:
        try:
            entries = embed(self._server, texts)
        except RequestRejected as error:
            # Our texts are ordinary, so this is not an embedding model.
            hint = "Use auto, lexical, minilm, a folder, or an embedding model that LiteLLM knows."
            raise UnknownModel(f"The server does not accept the embedding model {self.name!r}. {error}", hint=hint) from error
        vectors = self._vectors_of(entries, len(texts))
        self._dimension = self._dimension or int(vectors.shape[1])
        if vectors.shape[1] != self._dimension:
            raise ModelUnavailable(f"The embedding model {self.name!r} sent vectors of different lengths.")
        return vectors

    def _vectors_of(self, entries: list[Any], expected: int) -> Vectors:
        try:
            rows = sorted(entries, key=lambda entry: int(entry["index"]))
            vectors = np.array([entry["embedding"] for entry in rows], dtype=np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelUnavailable(f"The embedding model {self.name!r} sent unusable vectors.") from error
        if vectors.shape[0] != expected or vectors.ndim != 2:  # noqa: PLR2004
            raise ModelUnavailable(f"The embedding model {self.name!r} sent {len(entries)} vectors for {expected} texts.")
        return vectors

    def count_tokens(self, text: str) -> int:
        return count_text(self.name, text)
