"""Decide whether a local answer is sure or the cloud must be asked (DGRAG, arXiv 2505.19847, section 3.3, step 5).

A student that knows the answer repeats it when it is shown other lines; a student that guesses does not. So each question is
answered several times. The answer is sure if the candidates agree and few of them say that information is missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import Self

import numpy as np

from drag_graph.ask.context_lines import content_words
from drag_graph.graph.contradictions import statements_differ
from drag_graph.ports.vectors import Vectors

LACKING = 0.5
"""Fraction of candidates without information from which on an answer is not sure."""


@dataclass(frozen=True, slots=True)
class LocalAnswer:
    """One of several answers of a student to the same question. `text` is "" if the student says that information is missing.

    `label` is the letter of the chosen option, `probabilities` are those of all options if the student reports them.
    """

    text: str
    label: str | None = None
    probabilities: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the local answer is sure. `best` is the index of the best candidate: the one that agrees most with the others.

    `agreement` (how far the candidates agree) and `lacking` (the fraction that lacks information) lie in [0, 1]. `why` is the
    reason why the answer is not sure, or ''.
    """

    is_sure: bool
    best: int
    agreement: float
    lacking: float
    why: str = ""

    @classmethod
    def of(cls, best: int, agreement: float, lacking: float, threshold: float) -> Self:
        """Return the verdict that results from these figures."""
        why = ""
        if lacking >= LACKING:
            why = "the student says that it lacks information"
        elif agreement < threshold:
            why = f"the agreement of its answers is {agreement:.2f}, below {threshold:.2f}"
        return cls(not why, best, agreement, lacking, why)


def judge(candidates: Sequence[LocalAnswer], vectors: Vectors, threshold: float) -> Verdict:
    """Judge at least one candidate; `vectors` has the unit vector of each text as a row.

    With options, the agreement of two candidates is the probability that both choose the same option if the student reports
    probabilities, else 1 for the same label. Without options it is the mean of the cosine, the Jaccard index of the content
    words, and whether the claims are consistent (numbers, negations, opposites).
    """
    agreements = _agreements(candidates, vectors)
    best = int(agreements.mean(axis=1).argmax())
    pairs = [agreements[one, other] for one, other in combinations(range(len(candidates)), 2)]
    agreement = round(float(np.mean(pairs or agreements)), 6)
    lacking = round(sum(not candidate.text.strip() for candidate in candidates) / len(candidates), 6)
    return Verdict.of(best, agreement, lacking, threshold)


def _agreements(candidates: Sequence[LocalAnswer], vectors: Vectors) -> Vectors:
    """Return the agreement of each pair of candidates as a symmetric matrix."""
    agreements = np.empty((len(candidates), len(candidates)), dtype=np.float32)
    for one, other in combinations_with_replacement(range(len(candidates)), 2):
        value = _agreement(candidates[one], candidates[other], float(vectors[one] @ vectors[other]))
        agreements[one, other] = agreements[other, one] = value
    return agreements


def _agreement(one: LocalAnswer, other: LocalAnswer, cosine: float) -> float:
    if one.probabilities and other.probabilities:
        return sum(p * q for p, q in zip(one.probabilities, other.probabilities, strict=True))
    if one.label or other.label:
        return float(one.label == other.label)
    words, other_words = content_words(one.text), content_words(other.text)
    jaccard = len(words & other_words) / len(words | other_words) if words | other_words else 1.0
    return (max(0.0, cosine) + jaccard + (not statements_differ(one.text, other.text))) / 3
