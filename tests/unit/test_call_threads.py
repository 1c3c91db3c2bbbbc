import multiprocessing
import threading
import time

import pytest

from drag_graph.providers import call_threads


@pytest.fixture(autouse=True)
def no_threads_of_others():
    """Start without idle threads: each test counts its own."""
    call_threads._idle.clear()


def settled(threads=1):
    """Wait until the threads of the last calls can be used again."""
    until = time.monotonic() + 60
    while len(call_threads._idle) < threads:
        assert time.monotonic() < until, "the thread of the last call is not idle again"
        time.sleep(0.001)


def test_calls_one_after_the_other_use_the_same_thread():
    used = set()
    for _ in range(5):
        used.add(call_threads.run(threading.get_ident, 60.0))
        settled()
    assert len(used) == 1
    assert threading.get_ident() not in used


def test_what_a_call_raises_is_raised_and_its_thread_goes_on():
    def fail():
        raise KeyError("x")

    with pytest.raises(KeyError):
        call_threads.run(fail, 60.0)
    settled()
    assert call_threads.run(lambda: 7, 60.0) == 7


def test_a_call_that_takes_too_long_is_left_to_itself():
    go_on = threading.Event()
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        call_threads.run(lambda: go_on.wait(600), 0.1)
    assert call_threads.run(lambda: "another", 60.0) == "another"
    assert time.monotonic() - began < 100
    settled()
    go_on.set()
    settled(threads=2)


def test_many_calls_at_once_each_get_a_thread():
    together = threading.Barrier(20, timeout=60)
    results = []
    threads = [
        threading.Thread(target=lambda n=n: results.append(call_threads.run(lambda: (together.wait(), n)[1], 90)))
        for n in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == list(range(20))
    settled(threads=20)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_makes_threads_of_its_own():
    assert call_threads.run(lambda: 1, 60.0) == 1
    settled()
    child = multiprocessing.get_context("fork").Process(target=call_threads.run, args=(time.monotonic, 60.0))
    child.start()
    child.join(60)
    assert child.exitcode == 0
