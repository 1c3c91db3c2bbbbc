"""A causal language model in this process as a reranker: how likely it calls a text helpful."""

import threading
from collections.abc import Sequence

from drag_graph.models.causal_model import CausalModel, log_likelihoods
from drag_graph.ports.model_roles import Prompt

_REQUEST = "Question: {question}\n\nText: {text}\n\nDoes this text help to answer the question? Answer yes or no."


class LikelihoodReranker:
    """Scores a text by the log-probability of "yes" minus that of "no". The model reads the texts one by one.

    A text is cut to half as many characters as the model can read tokens.
    """

    def __init__(self, model: CausalModel) -> None:
        self.name = model.name
        self._model = model
        self._lock = threading.Lock()

    def scores(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        with self._lock:
            return [self._score(question, text) for text in texts]

    def _score(self, question: str, text: str) -> float:
        model = self._model
        request = _REQUEST.format(question=question, text=text[: model.context_window // 2])
        if model.follows_instructions:
            prompt = model.chat(Prompt(question, (), (), request, 0))
            yes, no = log_likelihoods(model, prompt, ("Yes", "No"), "chat")
        else:
            yes, no = log_likelihoods(model, f"{request}\nAnswer:", (" yes", " no"), "text")
        return yes - no
