"""A cross-encoder in this process as a reranker (extra `local`): it reads question and text together.

Code from a model's repository is never executed (`trust_remote_code` is off). With HF_HUB_OFFLINE=1 nothing is downloaded.
"""

import threading
from collections.abc import Sequence
from typing import Any

from drag_graph.errors import UnknownModel
from drag_graph.log import slow
from drag_graph.models.transformers_runtime import model_source

LONGEST = 512
"""Tokens that a question and a text may have together. A longer text is cut."""
_LABELS = {1, 2}
"""Numbers of outputs: a score, or a score against and one in favour."""


class CrossEncoderReranker:
    """A cross-encoder by its hub name or folder. It is loaded on first use and reads all texts of a question in one batch."""

    def __init__(self, name_or_path: str) -> None:
        """Raise MissingExtra without torch or transformers. A missing model raises UnknownModel on first use."""
        self._source = model_source("reranker", name_or_path)
        self._name = name_or_path
        self.name = f"transformers:{name_or_path}"
        self._loaded: tuple[Any, Any] | None = None
        self._lock = threading.Lock()

    def scores(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        import torch

        if not texts:
            return []
        with self._lock:
            tokenizer, model = self._loaded = self._loaded or self._load()
            limit = min(LONGEST, tokenizer.model_max_length)
            cut = {"truncation": "longest_first", "max_length": limit, "padding": True}
            pairs = tokenizer([question] * len(texts), list(texts), return_tensors="pt", **cut).to(model.device)
            with torch.inference_mode():
                logits = model(**pairs).logits.cpu().double()
        column = logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
        return [float(score) for score in column]

    def _load(self) -> tuple[Any, Any]:
        """Return tokenizer and model. Raises UnknownModel if there is none, or if the model is not a cross-encoder."""
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        hint = "Use the hub name or the folder of a cross-encoder such as cross-encoder/ms-marco-MiniLM-L6-v2."
        try:
            with slow(f"loading the reranker {self._name}"):
                tokenizer = AutoTokenizer.from_pretrained(self._source, trust_remote_code=False)
                model, loading = AutoModelForSequenceClassification.from_pretrained(
                    self._source, trust_remote_code=False, output_loading_info=True
                )
        except (OSError, ValueError, KeyError) as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
            raise UnknownModel(f"Cannot load the reranker {self._name!r}: {reason}.", hint=hint) from error
        if loading["missing_keys"] or model.config.num_labels not in _LABELS:  # missing weights would be random
            raise UnknownModel(f"The model {self._name!r} is not a cross-encoder.", hint=hint)
        return tokenizer, model.eval().to("cuda" if torch.cuda.is_available() else "cpu")
