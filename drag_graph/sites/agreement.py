"""Whether a local answer is sure, or the cloud has to be asked (DGRAG, arXiv 2505.19847, section 3.3, step 5).

A student that knows the answer gives it again when it is shown another selection of the lines; one that guesses does not. So a
question is answered several times, and the answer is sure where few candidates say that information is lacking and all agree.
Pure functions: the candidates and their vectors come in.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement

import numpy as np

from drag_graph.ask.context_lines import content_words
from drag_graph.graph.contradictions import statements_differ
from drag_graph.ports.vectors import Vectors

LACKING = 0.5
"""The share of candidates that say they lack information from which on an answer is not sure."""
_THINGS = r"(?:information|context|evidence|details?|data)"
_LACK = re.compile(
    rf"\b(?:insufficient|not enough|not sufficient|(?:needs?|requires?) (?:more|further|additional)) (?:\w+ )?{_THINGS}\b|"
    r"\b(?:no|lacks?|lack of|lacking) (?:\w+ )?(?:information|context)\b|"
    r"\bnot (?:\w+ )?(?:mentioned|specified|stated|provided|given|covered) (?:in|by|here)\b|"
    r"\b(?:context|passages?|text|lines?|documents?|information) (?:does|do|did)(?: not|n't) \w+|"
    r"\bi (?:do not|don't|cannot|can't|could not|am not|'m not) (?:know|say|tell|answer|determine|find|sure|certain)\b|"
    r"\bi'm (?:not sure|not certain|unsure|uncertain|sorry)\b|\bi am (?:unsure|uncertain|sorry)\b|"
    r"\bcannot be (?:determined|answered|known|inferred)\b|\bnothing relevant is stored\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class LocalAnswer:
    """One of the answers that a student gave to one question.

    Where it has options, `label` is the letter of one, and `probabilities` are those of all, if the student tells them.
    """

    text: str
    label: str | None = None
    probabilities: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the local answer is sure. `best` is the place of the candidate that agrees best with the others.

    `agreement` and `lacking` lie in [0, 1]: how far the candidates agree, and the share that says it lacks information. `why`
    says in words why it is not sure, '' where it is.
    """

    is_sure: bool
    best: int
    agreement: float
    lacking: float
    why: str = ""


def judge(candidates: Sequence[LocalAnswer], vectors: Vectors, threshold: float) -> Verdict:
    """Return whether the candidates, whose texts have these unit vectors (a row each), make a sure answer.

    At least one candidate is needed. With options, a pair agrees by the probability that both choose the same one, where the
    student tells probabilities; else, whether they do. Without options it is the mean of the cosine, the Jaccard index of the
    words that mean something, and whether the claims are consistent (numbers, denials, opposites).
    """
    agreements = _agreements(candidates, vectors)
    best = int(agreements.mean(axis=1).argmax())
    pairs = [agreements[one, other] for one, other in combinations(range(len(candidates)), 2)]
    agreement = round(float(np.mean(pairs or agreements)), 6)
    lacking = round(sum(lacks(one.text) for one in candidates) / len(candidates), 6)
    why = ""
    if lacking >= LACKING:
        why = "the student says that it lacks information"
    elif agreement < threshold:
        why = f"its answers agree by {agreement:.2f}, less than {threshold:.2f}"
    return Verdict(not why, best, agreement, lacking, why)


def lacks(text: str) -> bool:
    """Whether a reply says that it lacks information; an empty one says nothing else."""
    return not text.strip() or _LACK.search(text) is not None


def _agreements(candidates: Sequence[LocalAnswer], vectors: Vectors) -> Vectors:
    """Return how far each candidate agrees with each, as a symmetric matrix."""
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
    words, others = content_words(one.text), content_words(other.text)
    jaccard = len(words & others) / len(words | others) if words | others else 1.0
    return (max(0.0, cosine) + jaccard + (not statements_differ(one.text, other.text))) / 3
