"""A served rerank model: one that LiteLLM knows, or a server with the path /rerank (vLLM, llama.cpp, Infinity, Jina)."""

import math
from collections.abc import Sequence
from typing import Any

from drag_graph.errors import ModelUnavailable
from drag_graph.models.chat_client import rerank
from drag_graph.models.model_server import Server


class ServedReranker:
    """A served rerank model. All texts of a question are in one call, which is repeated as in `chat_client.complete`."""

    def __init__(self, server: Server) -> None:
        self.name = server.model
        self._server = server

    def scores(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        entries = rerank(self._server, question, texts) if texts else []
        scores = _scores_by_index(entries)
        if scores is None or scores.keys() != set(range(len(texts))):
            message = f"The reranker {self.name!r} sent unusable scores: {len(entries)} for {len(texts)} texts."
            raise ModelUnavailable(message, hint="Use a rerank model, not a chat or an embedding model.")
        return [scores[place] for place in range(len(texts))]


def _scores_by_index(entries: Sequence[Any]) -> dict[int, float] | None:
    """Return the score of each text by its index, or None if an entry has no finite score."""
    try:
        scores = {int(entry["index"]): float(entry["relevance_score"]) for entry in entries}
    except (KeyError, TypeError, ValueError):
        return None
    return scores if all(map(math.isfinite, scores.values())) else None
