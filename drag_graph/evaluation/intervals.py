"""What a figure of an evaluation is worth: intervals, and tests of two outcomes on the same items (pure)."""

import math
import random
from collections.abc import Sequence
from statistics import NormalDist

RESAMPLES = 4000
SEED = 0
"""Of the bootstrap, so that the same outcome has the same interval."""
_Z = NormalDist().inv_cdf(0.975)


def wilson(correct: int, n: int) -> tuple[float, float]:
    """Return the ends of the 95 % interval of a share of `n` (Wilson's score interval), in [0, 1]; (0, 1) for n = 0."""
    if not n:
        return 0.0, 1.0
    share, square = correct / n, _Z * _Z
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = _Z / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    # Its end is the share itself where none or all are correct, and never beyond it by an error of rounding.
    return (max(0.0, centre - half) if correct else 0.0), (min(1.0, centre + half) if correct < n else 1.0)


def paired_difference(ones: Sequence[float], others: Sequence[float], seed: int = SEED) -> tuple[float, float, float]:
    """Return the mean of `ones` less `others`, item by item, with the ends of its 95 % interval: (low, mean, high).

    The interval is the percentile bootstrap's over 4,000 samples of the items. Raises ValueError for none or unequal numbers.
    """
    differences = [one - other for one, other in zip(ones, others, strict=True)]
    if not differences:
        raise ValueError("there is no item to compare")
    drawn, n = random.Random(seed), len(differences)  # noqa: S311 - no secret
    means = sorted(math.fsum(drawn.choices(differences, k=n)) / n for _ in range(RESAMPLES))
    return means[int(0.025 * RESAMPLES)], math.fsum(differences) / n, means[int(0.975 * RESAMPLES)]


def mcnemar(ones: Sequence[bool], others: Sequence[bool]) -> float:
    """Return McNemar's exact two-sided p: how likely at least so uneven a split of the flipped items is by chance alone."""
    gained = sum(one and not other for one, other in zip(ones, others, strict=True))
    lost = sum(other and not one for one, other in zip(ones, others, strict=True))
    flipped = gained + lost
    tail = sum(math.comb(flipped, k) for k in range(min(gained, lost) + 1))
    return min(1.0, 2 * tail / (1 << flipped))  # of whole numbers: floats end at a thousand flips
