import random
import threading
import time

import pytest

from drag_graph.adapters.budget import Budget
from drag_graph.errors import BudgetReached


def test_without_a_limit_everything_fits_and_is_summed():
    budget = Budget()
    assert not budget.limited
    for _ in range(3):
        budget.settle(budget.reserve(1e9), 2.5)
    assert budget.spent_usd == 7.5


def test_a_call_that_could_pass_the_limit_is_refused():
    budget = Budget(1.0)
    budget.settle(budget.reserve(1.0), 0.6)
    with pytest.raises(BudgetReached) as caught:
        budget.reserve(0.41)
    assert caught.value.exit_code == 5
    assert "--budget-usd" in caught.value.hint
    budget.settle(budget.reserve(0.4), 0.4)
    assert budget.spent_usd == pytest.approx(1.0)
    budget.settle(budget.reserve(0.0))


def test_a_budget_of_nothing_lets_only_free_calls_through():
    budget = Budget(0.0)
    budget.settle(budget.reserve(0.0), 0.0)
    with pytest.raises(BudgetReached):
        budget.reserve(0.000001)


def test_settling_twice_counts_once():
    budget = Budget(1.0)
    reservation = budget.reserve(0.5)
    budget.settle(reservation, 0.2)
    budget.settle(reservation, 0.2)
    assert budget.spent_usd == 0.2


def test_a_reservation_waits_for_calls_in_flight_that_may_cost_less():
    budget = Budget(1.0)
    first = budget.reserve(0.9)
    got = threading.Event()

    def second():
        budget.settle(budget.reserve(0.9), 0.1)
        got.set()

    thread = threading.Thread(target=second)
    thread.start()
    assert not got.wait(0.1)
    budget.settle(first, 0.05)
    assert got.wait(5)
    thread.join()
    assert budget.spent_usd == pytest.approx(0.15)


def test_a_waiting_reservation_is_refused_when_the_money_is_gone():
    budget = Budget(1.0)
    first = budget.reserve(0.9)
    refused = []

    def second():
        try:
            budget.reserve(0.9)
        except BudgetReached as error:
            refused.append(error)

    thread = threading.Thread(target=second)
    thread.start()
    time.sleep(0.02)
    budget.settle(first, 0.9)
    thread.join(5)
    assert refused


def test_many_threads_never_pass_the_limit_together():
    budget, highest, lock = Budget(1.0), [0.0], threading.Lock()
    in_flight = [0.0]

    def work(seed):
        dice = random.Random(seed)
        while True:
            estimate = dice.uniform(0.01, 0.2)
            try:
                reservation = budget.reserve(estimate)
            except BudgetReached:
                return
            with lock:
                in_flight[0] += estimate
                highest[0] = max(highest[0], in_flight[0])
            time.sleep(0.0005)
            with lock:
                in_flight[0] -= estimate
            budget.settle(reservation, estimate * dice.random())

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert 0.7 < budget.spent_usd <= 1.0
    assert highest[0] <= 1.0
