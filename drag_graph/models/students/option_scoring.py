"""Scores of options from a language model's likelihoods (pure).

An option is represented by its letter or its text. The likelihood of a text is the sum of its tokens' log-probabilities, so
longer options are less likely and common words more likely, whatever the question. EleutherAI's lm-evaluation-harness has two
remedies. Its names are `acc` (the sum), `acc_norm` (the sum divided by the length in characters) and `acc_mutual_info` (the sum
minus the sum of the option after only the words that ask for an answer).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from drag_graph.errors import MalformedReply
from drag_graph.model import Scoring

UNMEASURED = 0.5
"""Confidence of an answer without likelihoods, such as a choice that was read from a reply."""
TEXT_SCORINGS = ("option-text", "option-text-norm", "option-text-mutual-info")


def option_scores(
    scoring: Scoring, options: Sequence[str], sums: Sequence[float], unaided: Sequence[float] = ()
) -> NDArray[np.float64]:
    """Return a score for each option; the highest wins.

    `sums` has the log-probability of each option, `unaided` the one without question and lines (for
    `option-text-mutual-info` only). Raises MalformedReply if all options are equally likely or a score is not a number, which
    indicates a broken model or prompt.
    """
    scores = np.asarray(sums, dtype=np.float64)
    if scoring == "option-text-norm":
        scores = scores / [max(1, len(option)) for option in options]
    elif scoring == "option-text-mutual-info":
        scores = scores - np.asarray(unaided, dtype=np.float64)
    if not np.isfinite(scores).all():
        raise MalformedReply("The student's likelihood of an option is not a number.")
    if len(scores) > 1 and np.ptp(np.asarray(sums, dtype=np.float64)) == 0.0:
        raise MalformedReply("The student finds all options equally likely.")
    return scores


def softmax(scores: NDArray[np.float64], temperature: float = 1.0) -> NDArray[np.float64]:
    """Return probabilities that sum to 1. A lower `temperature` (> 0) increases the differences."""
    weights = np.exp((scores - scores.max()) / temperature)
    return np.asarray(weights / weights.sum())
