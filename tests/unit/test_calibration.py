"""Fitting the threshold of agreement to a wanted rate of cloud calls or of wrong local answers."""

import pytest

from drag_graph.sites.calibration import Judged, curve, for_cloud_rate, for_wrong_rate

JUDGED = [
    Judged(0.2, lacks=False, is_correct=False),
    Judged(0.4, lacks=False, is_correct=True),
    Judged(0.6, lacks=False, is_correct=False),
    Judged(0.8, lacks=False, is_correct=True),
    Judged(1.0, lacks=True, is_correct=False),
]


def test_the_curve_counts_what_each_threshold_would_have_done():
    points = curve(JUDGED)
    assert [round(point.threshold, 3) for point in points] == [0.2, 0.4, 0.6, 0.8, 0.8]
    assert [point.local for point in points] == [4, 3, 2, 1, 0]
    assert [round(point.cloud_rate, 2) for point in points] == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert [round(point.wrong_rate, 2) for point in points] == [0.5, 0.33, 0.5, 0.0, 0.0]
    assert all(point.low <= point.wrong_rate <= point.high for point in points)
    assert points[3].high > 0.7, "one right answer proves little"


@pytest.mark.parametrize(("wanted", "threshold"), [(0.0, 0.2), (0.2, 0.2), (0.5, 0.4), (0.6, 0.6), (1.0, 0.8)])
def test_a_wanted_rate_of_cloud_calls(wanted, threshold):
    assert for_cloud_rate(curve(JUDGED), wanted).threshold == pytest.approx(threshold, abs=1e-5)


@pytest.mark.parametrize(("wanted", "local"), [(0.6, 4), (0.5, 4), (0.4, 3), (0.3, 1), (0.0, 1)])
def test_a_wanted_rate_of_wrong_local_answers(wanted, local):
    assert for_wrong_rate(curve(JUDGED), wanted).local == local


def test_where_all_are_wrong_everything_asks_the_cloud():
    points = curve([Judged(0.9, lacks=False, is_correct=False), Judged(1.0, lacks=False, is_correct=False)])
    assert for_wrong_rate(points, 0.1).cloud_rate == 1.0


def test_where_all_lack_information_nothing_is_answered_locally():
    (point,) = curve([Judged(1.0, lacks=True, is_correct=True)])
    assert (point.local, point.cloud_rate) == (0, 1.0)
