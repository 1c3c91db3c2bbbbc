"""A sentence-transformers model run in few fixed shapes, so that a text's vector does not depend on the texts beside it.

The last bits of a vector depend on the shape of the matrices that are multiplied: how far the text is padded and, on some
machines, how many rows there are (docs/adr/0009). Here a text's padded length follows from the text alone, and of each length
one number of rows is the reference; a smaller one, which is quicker for few texts, is used once its rows have been seen to be
those of the reference, bit for bit.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from drag_graph.ports import Vectors

LENGTHS = (8, 12, 16, 20, 24, 28, 32, 40, 48, 64, 80, 96, 128, 192, 256)
ROWS = (1, 2, 4, 6, 8, 12, 16)
TOKENS = 512
"""About as many tokens go through the model at once: more gain nothing on a processor."""

_PROBES = (
    "  A Short text, with blanks and Capitals.\n",
    "short",
    "A somewhat longer sentence about the weather of the last weeks.",
)
_CLOSE = 5e-3  # of the largest number: wide enough for half precision, far below what a lost prompt changes

Features = dict[str, Any]
Shape = tuple[int, bool]
"""Padded length in tokens, and whether the texts fill it."""


class FixedShapes:
    """Encodes texts with a loaded SentenceTransformer; one thread at a time.

    A model that is no tokenizer, transformer and pooling, or that gives other vectors in this way than by its own `encode` (it
    has a prompt of its own, say), gets its texts one by one through `encode`: slower, and as independent of each other.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        model.eval()
        self._tokenize: Callable[..., Features] = getattr(model, "preprocess", None) or model.tokenize
        self._same: dict[tuple[Shape, int], bool] = {}
        self._references: dict[Shape, tuple[Features, Vectors]] = {}
        self._shaped = self._can_be_shaped() and self._agrees()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 row a text, as long as the model makes them."""
        if not self._shaped:
            return np.concatenate([self._plain([text]) for text in texts])
        return self._in_shapes(texts)

    def _plain(self, texts: Sequence[str]) -> Vectors:
        encoded = self._model.encode(list(texts), batch_size=len(texts), show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(encoded, dtype=np.float32)

    def _can_be_shaped(self) -> bool:
        model = self._model
        if getattr(model, "default_prompt_name", None) or getattr(model, "truncate_dim", None):
            return False
        features = self._tokenize(["a", "a few words more"])
        names = {"input_ids", "attention_mask"}
        return names <= set(features) and all(features[name].shape == features["input_ids"].shape for name in names)

    def _agrees(self) -> bool:
        expected = self._plain(_PROBES)
        found = self._in_shapes(_PROBES)
        return found.shape == expected.shape and bool(np.allclose(found, expected, atol=_CLOSE * np.abs(expected).max()))

    def _in_shapes(self, texts: Sequence[str]) -> Vectors:
        features = self._tokenize(list(texts))
        lengths = features["attention_mask"].sum(dim=1).tolist()
        groups = defaultdict(list)
        for place, length in enumerate(lengths):
            padded = self._padded(length)
            # Where no row is padded, attention goes other ways than with a mask: such texts keep to themselves.
            groups[padded, length == padded].append(place)
        rows: dict[int, Vectors] = {}
        for shape, places in groups.items():
            rows |= zip(places, self._group(features, shape, places), strict=True)
        return np.stack([rows[place] for place in range(len(texts))])

    def _padded(self, length: int) -> int:
        """Return the length that a text of `length` tokens is padded to: more than its own, but for what the model can read."""
        step = LENGTHS[-1] // 2
        padded = next((longest for longest in LENGTHS if length < longest), (length // step + 1) * step)
        most = getattr(self._model, "max_seq_length", None) or length
        return max(length, min(padded, most))

    def _group(self, features: Features, shape: Shape, places: list[int]) -> list[Vectors]:
        full = max(rows for rows in ROWS if rows == 1 or rows * shape[0] <= TOKENS)
        found: list[Vectors] = []
        while len(found) < len(places):
            found += self._rows(features, shape, places[len(found) : len(found) + full], full)
        return found

    def _rows(self, features: Features, shape: Shape, places: list[int], full: int) -> list[Vectors]:
        """Return the vectors of at most `full` texts."""
        for rows in (rows for rows in ROWS if len(places) <= rows <= full):
            if (shape, rows) not in self._same:
                self._same[shape, rows] = full == 1 or self._check(features, shape, places, rows, full)
            if self._same[shape, rows]:
                return list(self._forward(features, shape, _filled(places, rows))[: len(places)])
        # Not even the reference gives a text the same bits in each of its rows: then only a text alone is by itself.
        return [self._forward(features, shape, [place])[0] for place in places]

    def _check(self, features: Features, shape: Shape, places: list[int], rows: int, full: int) -> bool:
        """Return whether `rows` rows give the bits of the reference, and the reference the same bits wherever a text stands."""
        if shape not in self._references:
            probe = {
                name: self._cut(name, value, features, places[: max(1, full // 2)], shape[0])
                for name, value in features.items()
            }
            self._references[shape] = probe, self._forward(probe, shape, _filled(range(len(probe["input_ids"])), full))
        probe, reference = self._references[shape]
        few = len(probe["input_ids"])
        steady = all((reference[row] == reference[row % few]).all() for row in range(full))
        if not steady or rows == full:
            return steady
        tried = self._forward(probe, shape, _filled(range(few), rows))
        return all((tried[row] == reference[row % few]).all() for row in range(rows))

    def _forward(self, features: Features, shape: Shape, places: list[int]) -> Vectors:
        import torch

        device = self._model.device
        shaped = {name: self._cut(name, value, features, places, shape[0]) for name, value in features.items()}
        moved = {name: value.to(device) if isinstance(value, torch.Tensor) else value for name, value in shaped.items()}
        with torch.inference_mode():
            vectors = self._model.forward(moved)["sentence_embedding"]
        return np.asarray(vectors.float().cpu().numpy(), dtype=np.float32)

    def _cut(self, name: str, value: Any, features: Features, places: list[int], length: int) -> Any:
        """Return the rows of `places` padded to `length`, where `value` has a number for each token."""
        import torch

        mask = features["attention_mask"]
        if not isinstance(value, torch.Tensor) or value.shape != mask.shape:
            return value
        at_the_left = not bool(mask[:, 0].all())
        value = value[places]
        wide = value.shape[1]
        if wide >= length:
            return value[:, wide - length :] if at_the_left else value[:, :length]
        tokenizer = self._model.tokenizer
        fill = {"input_ids": tokenizer.pad_token_id, "token_type_ids": getattr(tokenizer, "pad_token_type_id", 0)}.get(name, 0)
        at_the_left = at_the_left or getattr(tokenizer, "padding_side", "right") == "left"
        more = (length - wide, 0) if at_the_left else (0, length - wide)
        return torch.nn.functional.pad(value, more, value=fill or 0)


def _filled(places: Sequence[int], rows: int) -> list[int]:
    """Return `rows` places: those given, over and over."""
    return [places[row % len(places)] for row in range(rows)]
