"""The built-in student: no language model, only the embedder (docs/design.md, section 5).

It cannot read, reason or negate; it only measures which option is similar to the context. That shows whether a context contains
the answer, and runs anywhere. docs/students.md explains its scoring.
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from drag_graph.graph.edge_text import plain_words
from drag_graph.graph.search_terms import search_terms
from drag_graph.model import LABELS, Line
from drag_graph.models.students.option_scoring import softmax
from drag_graph.ports.model_roles import Embedder, Layout, OnToken, Prompt, StudentReply

Scores = NDArray[np.float64]

_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")  # noqa: RUF001 - Chinese marks

COMPARED = 8
"""Number of sentences whose vectors are compared with an open question: to embed all would take longer than the search."""
PASSAGE_TOKENS = 200
"""Maximum number of tokens of a passage of joined lines: an embedder ignores what exceeds about 256."""
TEMPERATURES = {"minilm": (0.15, 0.13), "lexical": (0.25, 1.4)}
"""Divisors of the scores before the softmax, with and without lines, by embedder family (others count as `minilm`).
`bench/nearest_variants.py` calibrated them on its tuning halves."""
CONTEXT_WINDOW = 1 << 20
DECIMALS = 6
"""Scores are rounded, because further digits depend on the order of sums and ties must be equal on any machine."""


class NearestStudent:
    """Chooses the option that is most similar to the context. Deterministic; ties go to the first option.

    The score of an option has three parts. Each uses the cosines of two texts: the option alone, and question plus option.

    - the best single line: how much more similar it is to this option than to the average option;
    - all lines together, joined into passages;
    - minus the similarity of question and option, so that an option does not win by repeating the question.

    Without lines, the score is the cosine of option and question. The answer to an open question is the text of the line that
    is most similar to it, or empty without lines; of a span, one sentence.

    Confidence, in [0, 1]: the probability of the chosen option, a softmax of the scores at a temperature calibrated on other
    questions; for an open question the cosine of question and line, at least 0.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        family = next((family for family in TEMPERATURES if embedder.name.startswith(family)), "minilm")
        self._aided, self._unaided = TEMPERATURES[family]

    @property
    def name(self) -> str:
        return "nearest"

    def layout(self, *, is_open: bool) -> Layout:  # noqa: ARG002 - the same for both
        return Layout()

    @property
    def context_window(self) -> int:
        """Practically unlimited: lines are embedded one by one, and only the beginning of a long question counts."""
        return CONTEXT_WINDOW

    def count_tokens(self, text: str) -> int:
        return self._embedder.count_tokens(text)

    def answer(self, prompt: Prompt, on_token: OnToken | None = None) -> StudentReply:
        lines = [text for line in prompt.lines for text in _texts(line)]
        if not prompt.options:
            reply = self._open_answer(prompt.question, lines)
            if on_token is not None:
                on_token(reply.text)
            return reply
        scores = self._scores(prompt.question, prompt.options, lines).round(DECIMALS)
        probabilities = softmax(scores, self._aided if lines else self._unaided)
        best = int(np.argmax(probabilities))
        return StudentReply(
            text=prompt.options[best],
            label=LABELS[best],
            confidence=float(probabilities[best]),
            probabilities=tuple(float(value) for value in probabilities),
        )

    def _open_answer(self, question: str, lines: Sequence[str]) -> StudentReply:
        if not lines:
            return StudentReply(text="", label=None, confidence=0.0)
        lines = _closest_by_words(question, lines)
        asked, vectors = self._embedder.embed_queries([question]), self._embedder.embed(lines)
        cosines = (vectors.astype(np.float64) @ asked[0].astype(np.float64)).round(DECIMALS)
        best = int(np.argmax(cosines))
        return StudentReply(text=lines[best], label=None, confidence=float(np.clip(cosines[best], 0.0, 1.0)))

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


def _closest_by_words(question: str, texts: Sequence[str]) -> list[str]:
    """Return the texts that share most of the question's terms, rare ones first, in their order."""
    terms, of_texts = set(search_terms(question)), [set(search_terms(text)) for text in texts]
    number = {term: sum(term in one for one in of_texts) for term in terms}
    shares = [sum(1 / number[term] for term in sorted(terms & one)) for one in of_texts]
    best = sorted(range(len(texts)), key=lambda place: (-shares[place], place))[:COMPARED]
    return [texts[place] for place in sorted(best)]


def _texts(line: Line) -> list[str]:
    """Return the sentences of a span without what it opens with, or the words of another line."""
    if line.kind != "span":
        return [plain_words(line.text)]
    text = line.text.removeprefix(line.opening)
    return [sentence for sentence in _SENTENCE_END.split(text) if any(map(str.isalnum, sentence))] or [text]


def support(question: Scores, lines: Scores, passages: Scores) -> Scores:
    """Return the score of each option from three arrays of similarities with one column per option (see `NearestStudent`).

    `question` has one row; `lines` and `passages` have one row per text, at least one.
    """
    best_line = (lines - lines.mean(axis=1, keepdims=True)).max(axis=0)
    return np.asarray(best_line + passages.mean(axis=0) - question[0])
