"""The forward pass of a BERT sentence encoder in numpy: MiniLM and its relatives, without torch.

The texts of a call are packed into a single matrix, and only attention handles each text separately. A text's vector must not
depend on the other texts in the matrix. With some libraries and processors it would, because the last rows are
treated differently. So each text begins at a multiple of a number of rows that is determined on loading.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from drag_graph.ports.vectors import Vectors

TOKENS_A_PASS = 1024
"""Tokens in a matrix. More are not faster and need 12 MB per thousand."""
LEAST_ROWS = 16
"""Rows of the smallest matrix: smaller ones may be multiplied differently."""
ROW_STEPS = (1, 12, 16, 48)
"""Candidates: the heights of the blocks of matrix libraries, and a common multiple."""
_MORE = (0, 1, 2, 3, 5, 7, 11, 14)
NEEDED = ("config.json", "tokenizer.json", "model.safetensors")
GELU_ROWS = 16
"""Rows whose activation is computed together, so that they stay in the processor's cache."""

# erf(x) for x >= 0 is 1 - exp(-x*x) * polynomial(t) * t with t = 1 / (1 + _ERF_SCALE * x), highest power first; good to 1.5e-7
# (Abramowitz and Stegun, 7.1.26).
_ERF_SCALE = np.float32(0.3275911)
_ERF_FACTORS = np.array([1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592], dtype=np.float32)


@dataclass(frozen=True, slots=True)
class _Layer:
    """A layer's matrices, transposed so that rows of tokens are multiplied from the left, and the biases and scales."""

    attend: tuple[Vectors, Vectors]
    attended: tuple[Vectors, Vectors]
    attended_norm: tuple[Vectors, Vectors]
    widen: tuple[Vectors, Vectors]
    narrow: tuple[Vectors, Vectors]
    narrow_norm: tuple[Vectors, Vectors]


class OtherKind(ValueError):  # noqa: N818 - reads as what happened
    """The model is of a kind that needs sentence-transformers."""


class Encoder:
    """A sentence encoder of the BERT family with mean or first-token pooling and without prompts, read from a model's folder.

    Raises OtherKind for another kind of model, and OSError, ValueError, KeyError or SafetensorError if there is no model.
    """

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load_file
        from threadpoolctl import threadpool_limits

        # Permanently: the threads of a matrix library spin while they wait for each other, which made it 20 times slower
        # on a busy machine. Parallel work comes from the workers of a run.
        threadpool_limits(1, user_api="blas")
        if (folder / "modules.json").is_file() and not all((folder / file).is_file() for file in NEEDED):
            raise OtherKind("the files are not those of a BERT model")
        config = _json(folder / "config.json")
        if config.get("model_type") != "bert" or config.get("hidden_act", "gelu") != "gelu":
            raise OtherKind(f"the model type {config.get('model_type')!r} is not supported, only BERT with GELU")
        _check_parts(folder)
        arrays = load_file(folder / "model.safetensors")
        weights = {name.removeprefix("bert."): array.astype(np.float32, copy=False) for name, array in arrays.items()}
        self.dimension = int(config["hidden_size"])
        self.longest = _longest(folder, int(config["max_position_embeddings"]))
        self._heads = int(config["num_attention_heads"])
        self._epsilon = np.float32(config.get("layer_norm_eps", 1e-12))
        self._first_token = _pools_first_token(folder)
        self._words = weights["embeddings.word_embeddings.weight"]
        self._places = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
        self._norm = _norm(weights, "embeddings")
        self._layers = [_layer(weights, f"encoder.layer.{number}") for number in range(int(config["num_hidden_layers"]))]
        self._row_step = row_step([self._layers[0].attend[0], self._layers[0].narrow[0]])

    def encode(self, texts: list[list[int]]) -> Vectors:
        """Return a row for each text, given as token ids."""
        parts: list[Vectors] = []
        waiting: list[list[int]] = []
        size = 0
        for text in texts:
            if waiting and (size + len(text) > TOKENS_A_PASS or not self._row_step):
                parts.append(self._pass(waiting))
                waiting, size = [], 0
            waiting.append(text)
            size += len(text)
        return np.concatenate([*parts, self._pass(waiting)])

    def _pass(self, texts: list[list[int]]) -> Vectors:
        spans, end = [], 0
        for text in texts:
            spans.append(slice(end, end + len(text)))
            end += _raised(len(text), self._row_step or 1)
        rows = np.zeros((max(_raised(LEAST_ROWS, self._row_step or 1), end), self.dimension), dtype=np.float32)
        for text, span in zip(texts, spans, strict=True):
            rows[span] = self._words[text] + self._places[: len(text)]
        rows = self._normal(rows, self._norm)
        for layer in self._layers:
            rows = self._normal(_times(self._attention(rows, layer, spans), layer.attended) + rows, layer.attended_norm)
            rows = self._normal(_times(_gelu(_times(rows, layer.widen)), layer.narrow) + rows, layer.narrow_norm)
        return np.stack([rows[span.start] if self._first_token else rows[span].mean(axis=0) for span in spans])

    def _attention(self, rows: Vectors, layer: _Layer, spans: list[slice]) -> Vectors:
        attended = np.zeros_like(rows)
        attending = _times(rows, layer.attend)
        size = self.dimension // self._heads
        for span in spans:
            queries, keys, values = attending[span].reshape(-1, 3, self._heads, size).transpose(1, 2, 0, 3)
            scores = queries @ keys.transpose(0, 2, 1)
            scores *= np.float32(size**-0.5)
            scores -= scores.max(axis=-1, keepdims=True)
            np.exp(scores, out=scores)
            scores /= scores.sum(axis=-1, keepdims=True)
            attended[span] = (scores @ values).transpose(1, 0, 2).reshape(-1, self.dimension)
        return attended

    def _normal(self, rows: Vectors, norm: tuple[Vectors, Vectors]) -> Vectors:
        rows = rows - rows.mean(axis=-1, keepdims=True)
        rows /= np.sqrt((rows * rows).mean(axis=-1, keepdims=True) + self._epsilon)
        rows *= norm[0]
        rows += norm[1]
        return rows


def row_step(matrices: list[Vectors]) -> int:
    """Return the number of rows to align texts to, so that their products do not depend on other rows; 0 if none works."""
    random = np.random.default_rng(0)
    for step in ROW_STEPS:
        least = _raised(LEAST_ROWS, step)
        probes = [
            (start, count) for start in (0, step, 5 * step) for count in (*(least + more * step for more in _MORE), 9 * least)
        ]
        if all(
            _alike(matrix, probes, random.standard_normal((15 * least, len(matrix)), dtype=np.float32)) for matrix in matrices
        ):
            return step
    return 0


def _alike(matrix: Vectors, probes: list[tuple[int, int]], rows: Vectors) -> bool:
    whole = rows @ matrix
    return all(np.array_equal(rows[start : start + count] @ matrix, whole[start : start + count]) for start, count in probes)


def _raised(number: int, step: int) -> int:
    return -(-number // step) * step


def _times(rows: Vectors, dense: tuple[Vectors, Vectors]) -> Vectors:
    product = rows @ dense[0]
    product += dense[1]
    return product


def _gelu(rows: Vectors) -> Vectors:
    for start in range(0, len(rows), GELU_ROWS):
        part = rows[start : start + GELU_ROWS]
        place = part * np.float32(0.5**0.5)
        inverse = 1 / (1 + _ERF_SCALE * np.abs(place))
        erf = 1 - np.exp(-place * place) * np.polyval(_ERF_FACTORS, inverse) * inverse
        part *= np.float32(0.5) * (1 + np.copysign(erf, place))
    return rows


def _layer(weights: dict[str, Vectors], prefix: str) -> _Layer:
    three = [_dense(weights, f"{prefix}.attention.self.{name}") for name in ("query", "key", "value")]
    attend = np.concatenate([matrix for matrix, _ in three], axis=1), np.concatenate([bias for _, bias in three])
    return _Layer(
        attend,
        _dense(weights, f"{prefix}.attention.output.dense"),
        _norm(weights, f"{prefix}.attention.output"),
        _dense(weights, f"{prefix}.intermediate.dense"),
        _dense(weights, f"{prefix}.output.dense"),
        _norm(weights, f"{prefix}.output"),
    )


def _dense(weights: dict[str, Vectors], name: str) -> tuple[Vectors, Vectors]:
    return np.ascontiguousarray(weights[f"{name}.weight"].T), weights[f"{name}.bias"]


def _norm(weights: dict[str, Vectors], name: str) -> tuple[Vectors, Vectors]:
    return weights[f"{name}.LayerNorm.weight"], weights[f"{name}.LayerNorm.bias"]


def _longest(folder: Path, positions: int) -> int:
    """Return the maximum number of tokens of a text."""
    return min(positions, int(_json(folder / "sentence_bert_config.json", {}).get("max_seq_length") or positions))


def _check_parts(folder: Path) -> None:
    """Raise OtherKind for a model with prompts, or with other steps than encoding, pooling and normalising."""
    parts = [str(part.get("type", "")).rpartition(".")[2] for part in _json(folder / "modules.json", [])]
    if other := set(parts) - {"Transformer", "Pooling", "Normalize"}:
        raise OtherKind(f"the model part {min(other)} is not supported")
    settings = _json(folder / "config_sentence_transformers.json", {})
    if settings.get("default_prompt_name") or any((settings.get("prompts") or {}).values()):
        raise OtherKind("models with their own prompts are not supported")


def _pools_first_token(folder: Path) -> bool:
    pooling = _json(folder / "1_Pooling" / "config.json", {"pooling_mode_mean_tokens": True})
    chosen = {name for name, value in pooling.items() if name.startswith("pooling_mode_") and value is True}
    if chosen not in ({"pooling_mode_mean_tokens"}, {"pooling_mode_cls_token"}):
        raise OtherKind(f"pooling by {', '.join(sorted(chosen)) or 'nothing'} is not supported")
    return chosen == {"pooling_mode_cls_token"}


def _json(path: Path, default: Any = None) -> Any:
    if default is not None and not path.is_file():
        return default
    document: Any = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(document, list if path.name == "modules.json" else dict):
        raise ValueError(f"{path.name} has an unexpected form")  # noqa: TRY004 - one exception for all faults of a model
    return document
