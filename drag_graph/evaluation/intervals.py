"""Confidence intervals, and tests of two outcomes on the same items."""

import math
import random
from collections.abc import Sequence
from statistics import NormalDist

RESAMPLES = 4000
SEED = 0
"""Seed of the bootstrap, so that the same outcome has the same interval."""
_Z = NormalDist().inv_cdf(0.975)


def wilson(correct: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a proportion (Wilson score interval), in [0, 1]; (0, 1) for n = 0."""
    if not n:
        return 0.0, 1.0
    share, square = correct / n, _Z * _Z
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = _Z / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    # The end is the proportion itself if none or all are correct, whatever the rounding error.
    return (max(0.0, centre - half) if correct else 0.0), (min(1.0, centre + half) if correct < n else 1.0)


def paired_difference(first: Sequence[float], second: Sequence[float], seed: int = SEED) -> tuple[float, float, float]:
    """Return (low, mean, high): the mean of `first` less `second`, item by item, in its 95 % interval.

    The interval is a percentile bootstrap over 4,000 samples of the items. Raises ValueError for empty sequences or different
    lengths.
    """
    differences = [one - two for one, two in zip(first, second, strict=True)]
    if not differences:
        raise ValueError("There is no item to compare.")
    generator, n = random.Random(seed), len(differences)  # noqa: S311 - no secret
    means = sorted(math.fsum(generator.choices(differences, k=n)) / n for _ in range(RESAMPLES))
    return means[int(0.025 * RESAMPLES)], math.fsum(differences) / n, means[int(0.975 * RESAMPLES)]


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Return the two-sided p of McNemar's exact test: the probability of at least so uneven a split by chance."""
    gained = sum(one and not two for one, two in zip(first, second, strict=True))
    lost = sum(two and not one for one, two in zip(first, second, strict=True))
    flipped = gained + lost
    tail = sum(math.comb(flipped, k) for k in range(min(gained, lost) + 1))
    return min(1.0, 2 * tail / (1 << flipped))  # integers, because floats overflow at a thousand flips
