"""Which threshold of agreement fits a wanted rate of cloud calls, or of wrong local answers (`drag-graph edge calibrate`).

Pure functions over questions whose local answers were judged and compared with the right ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from drag_graph.evaluation.intervals import wilson


@dataclass(frozen=True, slots=True)
class Judged:
    """One question: what its candidates agreed by, whether half of them lacked information, and whether the best was right."""

    agreement: float
    lacks: bool
    is_correct: bool


@dataclass(frozen=True, slots=True)
class Point:
    """What a threshold would have done: the share that asks the cloud, and the share of wrong ones among local answers.

    `low` and `high` are the 95 % interval of `wrong_rate` (Wilson), `local` the number of questions that were answered locally.
    """

    threshold: float
    cloud_rate: float
    wrong_rate: float
    low: float
    high: float
    local: int


def curve(judged: Sequence[Judged]) -> list[Point]:
    """Return a point for each threshold that makes a difference, from the lowest to one under which all ask the cloud.

    At least one question is needed.
    """
    values = sorted({one.agreement for one in judged if not one.lacks})
    return [_point(judged, threshold) for threshold in [*values, _above(values[-1] if values else 0.0)]]


def for_cloud_rate(points: Sequence[Point], wanted: float) -> Point:
    """Return the highest threshold that asks the cloud for no more than the wanted share, else the lowest."""
    return next((point for point in reversed(points) if point.cloud_rate <= wanted), points[0])


def for_wrong_rate(points: Sequence[Point], wanted: float) -> Point:
    """Return the lowest threshold whose local answers are wrong no more often than wanted: the last one where none else is."""
    return next(point for point in points if point.wrong_rate <= wanted)


def _point(judged: Sequence[Judged], threshold: float) -> Point:
    local = [one for one in judged if not one.lacks and one.agreement >= threshold]
    wrong = sum(not one.is_correct for one in local)
    low, high = wilson(wrong, len(local))
    rate = wrong / len(local) if local else 0.0
    return Point(threshold, 1 - len(local) / len(judged), rate, low, high, len(local))


def _above(value: float) -> float:
    return value + 1e-6
