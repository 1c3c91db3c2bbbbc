"""A model of the library sentence-transformers, on torch."""

import threading
from typing import Any

import numpy as np

from drag_graph.ports.vectors import Vectors
from drag_graph.process_environment import prepare_libraries

GPU_BATCH = 32
QUERY_PROMPTS, DOCUMENT_PROMPTS = ("query",), ("document", "passage", "corpus")


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
