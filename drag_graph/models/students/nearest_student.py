"""The built-in student: no language model, only the embedder (docs/explanation/pipeline.md).

It cannot read, reason or negate; it only measures which option is similar to the context. That shows whether a context contains
the answer, and runs anywhere. docs/measurements/students.md compares its scoring.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from drag_graph.model import LABELS, Line
from drag_graph.models.students.option_scoring import softmax
from drag_graph.models.students.quotation import Quotation, best_quotation, texts_of
from drag_graph.ports.model_roles import Embedder, Layout, OnToken, Prompt, StudentReply

Scores = NDArray[np.float64]

PASSAGE_TOKENS = 200
"""Maximum number of tokens of a passage of joined lines: an embedder ignores what exceeds about 256."""
TEMPERATURES = {"minilm": (0.15, 0.13), "lexical": (0.25, 1.4)}
"""Divisors of the scores before the softmax, with and without lines, by embedder family (others count as `minilm`).
`bench/nearest_variants.py` calibrated them on its tuning halves."""
ANSWERS = {"minilm": (-14.28, 13.42, 10.61, 6.36, 2.28), "lexical": (-8.99, 11.21, 9.84, 2.62, 2.06)}
"""Weights of `Quotation.features`: the sentence answers the question if their sum is above 0. Fitted by `bench/quoting.py`."""
ABSTENTION = "The sources do not answer this."
CLEAR = 0.3
"""Lead over the runner-up from which the confidence is not reduced."""
CONTEXT_WINDOW = 1 << 20
DECIMALS = 6
"""Scores are rounded, because further digits depend on the order of sums and ties must be equal on any machine."""


class NearestStudent:
    """Chooses the option that is most similar to the context. Deterministic; ties go to the first option.

    The score of an option has three parts. Each uses the cosines of two texts: the option alone, and question plus option.

    - the best single line: how much more similar it is to this option than to the average option;
    - all lines together, joined into passages;
    - minus the similarity of question and option, so that an option does not win by repeating the question.

    Without lines, the score is the cosine of option and question.

    The answer to an open question is a quotation: the sentence of the lines that fits best (`best_quotation`). The student
    abstains if that sentence does not fit well enough. Without lines, the answer is empty.

    Confidence, in [0, 1]: the probability of the chosen option, a softmax of the scores at a temperature calibrated on other
    questions; for a quotation the estimated probability that it answers, reduced by up to a half if a sentence that says
    something else fits nearly as well; 0 for an abstention.
    """

    name = "nearest"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        family = next((family for family in TEMPERATURES if embedder.name.startswith(family)), "minilm")
        self._aided, self._unaided = TEMPERATURES[family]
        self._answers = np.array(ANSWERS[family])

    def layout(self, *, is_open: bool) -> Layout:  # noqa: ARG002 - the same for both
        return Layout()

    @property
    def context_window(self) -> int:
        """Practically unlimited: lines are embedded one by one, and only the beginning of a long question counts."""
        return CONTEXT_WINDOW

    def count_tokens(self, text: str) -> int:
        return self._embedder.count_tokens(text)

    def answer(self, prompt: Prompt, on_token: OnToken | None = None) -> StudentReply:
        if not prompt.options:
            reply = self._quotation(prompt)
            if on_token is not None:
                on_token(reply.text)
            return reply
        lines = [text for line in prompt.lines for text in texts_of(line)]
        scores = self._scores(prompt.question, prompt.options, lines).round(DECIMALS)
        probabilities = softmax(scores, self._aided if lines else self._unaided)
        best = int(np.argmax(probabilities))
        return StudentReply(
            text=prompt.options[best],
            label=LABELS[best],
            confidence=float(probabilities[best]),
            probabilities=tuple(float(value) for value in probabilities),
        )

    def best_quotation(self, question: str, lines: Sequence[Line]) -> Quotation | None:
        """Return the sentence that fits a question best; None if there is none to quote."""

        def similarities(texts: Sequence[str]) -> Scores:
            asked, vectors = self._embedder.embed_queries([question]), self._embedder.embed(texts)
            return np.asarray((vectors.astype(np.float64) @ asked[0].astype(np.float64)).round(DECIMALS))

        return best_quotation(question, lines, similarities)

    def _quotation(self, prompt: Prompt) -> StudentReply:
        if not prompt.lines:
            return StudentReply(text="", label=None, confidence=0.0)
        best = self.best_quotation(prompt.question, prompt.lines)
        value = float(self._answers @ best.features) if best else -1.0
        if best is None or value < 0:
            return StudentReply(text=ABSTENTION, label=None, confidence=0.0, abstained=True)
        clarity = (1 + min(best.lead / CLEAR, 1.0)) / 2
        return StudentReply(text=best.text, label=None, confidence=clarity / (1 + math.exp(-value)), quoted=True)

    def _scores(self, question: str, options: Sequence[str], lines: Sequence[str]) -> Scores:
        """Return a score for each option. All texts are embedded in one call."""
        if not lines:
            vectors = self._embedder.embed([question, *options]).astype(np.float64)
            return np.asarray(vectors[1:] @ vectors[0])
        passages = self._passages(lines)
        count = len(options)
        texts = [question, *options, *(f"{question} {option}" for option in options), *lines, *passages]
        vectors = self._embedder.embed(texts).astype(np.float64)
        asked, bare, paired, context = np.split(vectors, [1, 1 + count, 1 + 2 * count])
        return support(
            question=asked @ bare.T + asked @ paired.T,
            lines=context[: len(lines)] @ bare.T + context[: len(lines)] @ paired.T,
            passages=context[len(lines) :] @ bare.T + context[len(lines) :] @ paired.T,
        )

    def _passages(self, lines: Sequence[str]) -> list[str]:
        """Join the lines, in their order, into as few passages as possible."""
        passages: list[str] = []
        room = 0
        for line in lines:
            tokens = self.count_tokens(line)
            if passages and tokens <= room:
                passages[-1] = f"{passages[-1]} {line}"
            else:
                passages.append(line)
                room = PASSAGE_TOKENS
            room -= tokens
        return passages


def support(question: Scores, lines: Scores, passages: Scores) -> Scores:
    """Return the score of each option from three arrays of similarities with one column per option (see `NearestStudent`).

    `question` has one row; `lines` and `passages` have one row per text, at least one.
    """
    best_line = (lines - lines.mean(axis=1, keepdims=True)).max(axis=0)
    return np.asarray(best_line + passages.mean(axis=0) - question[0])
