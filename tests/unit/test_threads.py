"""Calls that run at the same time, with results in order."""

import threading
import time

import pytest

from drag_graph.concurrency.threads import in_order


@pytest.mark.parametrize("workers", [1, 4])
def test_results_come_in_the_order_of_the_items(workers):
    assert list(in_order(lambda item: item * 2, range(50), workers)) == [item * 2 for item in range(50)]


def test_calls_run_at_the_same_time():
    together = threading.Barrier(3)
    assert list(in_order(lambda _item: together.wait(30) >= 0, range(6), 3)) == [True] * 6


def test_one_worker_begins_a_call_when_its_result_is_requested():
    begun = []
    results = in_order(begun.append, range(3), 1)
    next(results)
    assert begun == [0]


def test_no_call_begins_after_an_early_end():
    begun, release = [], threading.Event()

    def call(item):
        begun.append(item)
        if item:
            release.wait(30)

    results = in_order(call, range(100), 2)
    next(results)
    release.set()
    results.close()
    assert len(begun) < 100


def test_an_error_arrives_at_its_place_and_ends_the_calls():
    begun = []

    def call(item):
        begun.append(item)
        if item == 1:
            raise ValueError(item)
        time.sleep(0.001)
        return item

    results = in_order(call, range(1000), 2)
    assert next(results) == 0
    with pytest.raises(ValueError, match="1"):
        next(results)
    assert len(begun) < 1000
