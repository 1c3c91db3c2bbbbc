"""How a language model's likelihoods choose an option (pure).

An option stands for itself by its letter or by its text. By its text, the log-probabilities of its tokens are summed; longer
options are then less likely, and common words likelier, whatever is asked. Two remedies are known from EleutherAI's
lm-evaluation-harness, and so are their names there: `acc` (the sum), `acc_norm` (the sum divided by the option's length in
characters) and `acc_mutual_info` (the sum less the option's sum after the mere word that calls for an answer).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from drag_graph.errors import MalformedReply
from drag_graph.model import Scoring

TEXT_SCORINGS = ("option-text", "option-text-norm", "option-text-mutual-info")


def option_scores(
    scoring: Scoring, options: Sequence[str], sums: Sequence[float], unaided: Sequence[float] = ()
) -> NDArray[np.float64]:
    """Return a score an option, the highest being the choice.

    `sums` has an option's log-probability, `unaided` the one without question and lines (for `option-text-mutual-info`
    alone). Raises MalformedReply where the model makes no difference between the options, or gives none that is a number:
    that is a broken model or a broken prompt, and no choice.
    """
    scores = np.asarray(sums, dtype=np.float64)
    if scoring == "option-text-norm":
        scores = scores / [max(1, len(option)) for option in options]
    elif scoring == "option-text-mutual-info":
        scores = scores - np.asarray(unaided, dtype=np.float64)
    if not np.isfinite(scores).all():
        raise MalformedReply("the student's likelihood of an option is no number")
    if len(scores) > 1 and np.ptp(np.asarray(sums, dtype=np.float64)) == 0.0:
        raise MalformedReply("the student gives all options the same likelihood")
    return scores


def softmax(scores: NDArray[np.float64], temperature: float = 1.0) -> NDArray[np.float64]:
    """Return probabilities that sum to 1; equal scores get equal ones. `temperature` > 0: the lower, the more decided."""
    weights = np.exp((scores - scores.max()) / temperature)
    return np.asarray(weights / weights.sum())
