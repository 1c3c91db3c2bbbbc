"""Texts of several threads embedded in one call of the model or server."""

from collections.abc import Callable

import numpy as np

from drag_graph.concurrency.coalesce import RequestCoalescer
from drag_graph.ports.vectors import Vectors
from drag_graph.providers.errors import RequestRejected


class SharedCalls:
    """Makes the calls of many threads with few calls of `work`: texts to a row each; see `Together`.

    A call takes up to `most` texts (a thread's own are not divided here), each of them once. When a server refuses a request
    for its size or a text in it, fewer go together from then on.
    """

    def __init__(self, work: Callable[[list[str]], Vectors], *, most: int, slots: int = 1) -> None:
        self._work = work
        self._together: RequestCoalescer[list[str], Vectors] = RequestCoalescer(
            self._embed, most=most, slots=slots, size=len, divides=lambda error: isinstance(error, RequestRejected)
        )

    def __call__(self, texts: list[str]) -> Vectors:
        """Return a row a text, in their order. Raises what `work` raises."""
        return self._together(texts)

    def _embed(self, wanted: list[list[str]]) -> list[Vectors]:
        texts = list(dict.fromkeys(text for some in wanted for text in some))
        rows = self._work(texts)
        place = {text: row for row, text in enumerate(texts)}
        return [np.stack([rows[place[text]] for text in some]) for some in wanted]
