"""Calls of several threads made as one."""

import threading
import time

import pytest

from drag_graph.concurrency.threads import RequestCoalescer
from drag_graph.errors import StoreError, SubgraphRefused


def refused(error):
    return isinstance(error, SubgraphRefused)


def all_at_once(coalescer, items, hold):
    """Call with all items from a thread each; the first call is held until the others wait. Return results and errors."""
    outcomes = {}

    def call(item):
        try:
            outcomes[item] = coalescer(item)
        except (StoreError, ZeroDivisionError) as error:
            outcomes[item] = error

    threads = [threading.Thread(target=call, args=(item,)) for item in items]
    threads[0].start()
    assert hold.started.wait(60)
    for thread in threads[1:]:
        thread.start()
    until = time.monotonic() + 60
    while len(coalescer._waiting) < len(items):  # with the one that is held
        assert time.monotonic() < until
        time.sleep(0.001)
    hold.go_on.set()
    for thread in threads:
        thread.join(60)
    return outcomes


class Hold:
    """What is called: holds up its first call, refuses what contains a bad item, and keeps how many came together."""

    def __init__(self, bad=(), error=SubgraphRefused):
        self.started, self.go_on, self.sizes = threading.Event(), threading.Event(), []
        self.bad, self.error = set(bad), error

    def __call__(self, items):
        self.sizes.append(len(items))
        if not self.started.is_set():
            self.started.set()
            assert self.go_on.wait(60)
        if self.bad.intersection(items):
            raise self.error("no")
        return [item * 10 for item in items]


def test_one_refused_item_is_found_by_halves_and_later_calls_are_as_large_as_before():
    hold = Hold(bad=[5])
    coalescer = RequestCoalescer(hold, most=32, divides=refused)
    outcomes = all_at_once(coalescer, range(17), hold)
    assert isinstance(outcomes.pop(5), SubgraphRefused)
    assert outcomes == {item: item * 10 for item in range(17) if item != 5}
    hold.started.clear()
    hold.go_on.clear()
    hold.sizes.clear()
    assert len(all_at_once(coalescer, range(100, 117), hold)) == 17
    assert hold.sizes == [1, 16]


def test_an_error_about_none_of_them_goes_to_all():
    hold = Hold(bad=[5], error=StoreError)
    outcomes = all_at_once(RequestCoalescer(hold, most=32, divides=refused), range(9), hold)
    assert hold.sizes == [1, 8]
    assert [type(outcomes[item]) for item in range(1, 9)] == [StoreError] * 8
    assert len({id(outcomes[item]) for item in range(1, 9)}) == 8, "each thread raises its own"


def test_an_error_that_is_none_of_ours_goes_to_who_made_the_call():
    def work(items):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        RequestCoalescer(work, most=2)(1)


def test_who_waited_for_a_call_that_failed_otherwise_tries_again():
    class Fails(Hold):
        def __call__(self, items):
            if len(self.sizes) == 1:
                self.sizes.append(len(items))
                raise ZeroDivisionError
            return super().__call__(items)

    hold = Fails()
    outcomes = all_at_once(RequestCoalescer(hold, most=32), range(4), hold)
    assert hold.sizes == [1, 3, 2]
    assert [type(outcomes[item]) for item in range(4)].count(ZeroDivisionError) == 1
    assert all(outcomes[item] == item * 10 for item in range(4) if isinstance(outcomes[item], int))


def test_no_thread_passes_those_that_wait():
    sizes = []

    def work(items):
        sizes.append(len(items))
        time.sleep(0.005)
        return items

    coalescer = RequestCoalescer(work, most=32)
    threads = [threading.Thread(target=lambda: [coalescer(n) for n in range(20)]) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sum(sizes) == 16 * 20
    assert len(sizes) <= 16 * 20 / 4
