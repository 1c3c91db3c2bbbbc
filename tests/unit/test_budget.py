import random
import sqlite3
import threading
import time

import pytest

from drag_graph.errors import BudgetReached, StoreUnfit
from drag_graph.ledger.budget import Account, Budget, dollars, nanos, nanos_of_limit
from drag_graph.ledger.ledger_file import LedgerFile


@pytest.fixture
def ledger_of(tmp_path):
    """A function that opens the ledger, of the job `job` if no other is named."""

    def open_(job="job"):
        return Account(LedgerFile(tmp_path / "runs.db"), job)

    return open_


def until_it_waits(budget):
    """Wait until a thread waits in `budget.reserve`: a settlement before that would be none that it waited for."""
    until = time.monotonic() + 60
    while True:
        with budget._changed:  # who waits for it has let it go
            if budget._changed._waiters:
                return
        assert time.monotonic() < until, "nobody waits"
        time.sleep(0.001)


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
    assert "`budget_usd=LIMIT`" in caught.value.hint
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


def test_settling_twice_does_not_hide_what_other_runs_spent():
    file = LedgerFile()
    ours, others = (Budget(1.0, Account(file, "job")) for _ in range(2))
    others.settle(others.reserve(0.3), 0.3)
    reservation = ours.reserve(0.5)
    ours.settle(reservation, 0.2)
    ours.settle(reservation, 0.2)
    with pytest.raises(BudgetReached, match=r"\$0\.50 of the budget of \$1\.00 is spent, \$0\.30 of it by other runs"):
        ours.reserve(0.9)


def test_a_reservation_waits_for_calls_in_flight_that_may_cost_less():
    budget = Budget(1.0)
    first = budget.reserve(0.9)
    got = threading.Event()

    def second():
        budget.settle(budget.reserve(0.9), 0.1)
        got.set()

    thread = threading.Thread(target=second, daemon=True)
    thread.start()
    until_it_waits(budget)
    assert not got.is_set()
    budget.settle(first, 0.05)
    assert got.wait(60)
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

    thread = threading.Thread(target=second, daemon=True)
    thread.start()
    until_it_waits(budget)
    budget.settle(first, 0.9)
    thread.join(60)
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


class TestAccount:
    def test_what_an_earlier_run_spent_counts(self, ledger_of):
        first = Budget(20, ledger_of())
        first.settle(first.reserve(16), 15.2)
        second = Budget(20, ledger_of())
        assert second.spent_usd == 15.2
        second.settle(second.reserve(2.5), 2.5)
        with pytest.raises(BudgetReached) as caught:
            second.reserve(2.5)
        assert str(caught.value) == (
            "The next call may cost $2.50, but $17.70 of the budget of $20.00 is spent, $15.20 of it by other runs of this job."
        )
        assert "`budget_usd=LIMIT`" in caught.value.hint
        assert second.spent_usd == 17.7
        larger = Budget(30, ledger_of())
        larger.settle(larger.reserve(12.3), 12.3)
        assert larger.spent_usd == 30

    def test_a_first_run_speaks_of_no_other(self, ledger_of):
        budget = Budget(1, ledger_of())
        budget.settle(budget.reserve(0.9), 0.9)
        with pytest.raises(BudgetReached) as caught:
            budget.reserve(0.2)
        assert str(caught.value) == "The next call may cost $0.20, but $0.90 of the budget of $1.00 is spent."

    @pytest.mark.parametrize(
        ("limit", "spent", "estimate", "amounts"),
        [
            (1.2349, 1.2345, 0.001, ["$0.001", "$1.2345", "$1.2349"]),
            (0.00000004, 0.00000003, 0.00000002, ["$0.00000002", "$0.00000003", "$0.00000004"]),
            (1, 1, 1, ["$1.00", "$1.00", "$1.00"]),
        ],
    )
    def test_different_amounts_look_different(self, ledger_of, limit, spent, estimate, amounts):
        """Two decimal places made "$1.23 of the budget of $1.23" of a budget that was not used up."""
        budget = Budget(limit, ledger_of())
        budget.settle(budget.reserve(spent), spent)
        with pytest.raises(BudgetReached) as caught:
            budget.reserve(estimate)
        assert [word.rstrip(".,") for word in str(caught.value).split() if word.startswith("$")] == amounts

    def test_what_a_killed_run_had_in_flight_counts_as_spent(self, ledger_of):
        killed = Budget(20, ledger_of())
        killed.settle(killed.reserve(5), 3)
        killed.reserve(5)
        killed.reserve(6)
        resumed = Budget(20, ledger_of())
        assert resumed.spent_usd == 3
        with pytest.raises(BudgetReached, match=r"\$14\.00 of it by other runs"):
            resumed.reserve(6.01)
        resumed.settle(resumed.reserve(6), 6)

    def test_what_runs_beside_counts_and_is_named(self, ledger_of):
        one, other = Budget(10, ledger_of()), Budget(10, ledger_of())
        reservation = other.reserve(8)
        with pytest.raises(BudgetReached, match=r"\$8\.00 of it by other runs"):
            one.reserve(3)
        other.settle(reservation, 1)
        one.settle(one.reserve(9), 9)
        with pytest.raises(BudgetReached):
            other.reserve(0.000001)

    def test_without_a_limit_what_is_spent_is_still_recorded(self, ledger_of, tmp_path):
        free = Budget(None, ledger_of())
        for cost in (0.1, 0.2, 0.0):
            reservation = free.reserve(5)
            with sqlite3.connect(tmp_path / "runs.db") as file:
                assert file.execute("SELECT count(*) FROM reservations").fetchone() == (0,)
            file.close()
            free.settle(reservation, cost)
        assert free.spent_usd == 0.3
        limited = Budget(0.5, ledger_of())
        limited.settle(limited.reserve(0.2), 0.2)
        with pytest.raises(BudgetReached, match="other runs"):
            limited.reserve(0.000001)
        limited.settle(limited.reserve(0.0))

    def test_jobs_do_not_share_a_budget(self, ledger_of):
        one, other = Budget(1, ledger_of("one")), Budget(1, ledger_of("other"))
        kept = one.reserve(1)
        other.settle(other.reserve(1), 1)
        one.settle(kept, 0.5)
        assert (one.spent_usd, other.spent_usd) == (0.5, 1)

    def test_a_job_that_has_spent_more_than_a_new_limit_gets_nothing(self, ledger_of):
        budget = Budget(5, ledger_of())
        budget.settle(budget.reserve(4), 4)
        with pytest.raises(BudgetReached, match=r"\$4\.00 of the budget of \$1\.00 is spent"):
            Budget(1, ledger_of()).reserve(0.01)

    def test_a_call_that_cost_more_than_its_estimate_is_counted_as_it_is(self, ledger_of):
        budget = Budget(5, ledger_of())
        budget.settle(budget.reserve(1), 1.5)
        assert budget.spent_usd == Budget(None, ledger_of()).spent_usd == 1.5

    def test_a_file_that_cannot_be_written_refuses_in_words_and_strands_nobody(self, ledger_of, tmp_path):
        budget = Budget(1, ledger_of())
        first = budget.reserve(0.6)
        errors = []

        def wait():
            try:
                budget.reserve(0.6)
            except StoreUnfit as error:
                errors.append(error)

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        until_it_waits(budget)
        with sqlite3.connect(tmp_path / "runs.db") as file:
            file.execute("ALTER TABLE reservations RENAME TO gone")
        with pytest.raises(StoreUnfit, match="Cannot use the ledger"):
            budget.settle(first, 0.6)
        thread.join(60)
        assert errors
        with pytest.raises(StoreUnfit):
            budget.reserve(0.1)
        with sqlite3.connect(tmp_path / "runs.db") as file:
            file.execute("ALTER TABLE gone RENAME TO reservations")
        file.close()
        # What could not be settled still counts, in full.
        with pytest.raises(BudgetReached):
            budget.reserve(0.41)
        budget.settle(budget.reserve(0.4), 0.1)
        assert budget.spent_usd == 0.1


class TestMoney:
    @pytest.mark.parametrize(
        ("usd", "expected"),
        [
            (0.0, 0),
            (-3.0, 0),
            (0.41, 410_000_000),
            (0.1 + 0.2, 300_000_000),
            (1.5e-7, 150),
            (3.75e-8, 38),
            (1e-13, 0),
            (2e-12, 1),
        ],
    )
    def test_estimates_and_costs_are_rounded_up(self, usd, expected):
        assert nanos(usd) == expected

    @pytest.mark.parametrize("usd", [float("nan"), float("inf"), 1e300])
    def test_what_is_no_number_fits_no_budget(self, usd):
        with pytest.raises(BudgetReached):
            Budget(1e6).reserve(usd)

    def test_a_limit_is_rounded_down(self):
        assert nanos_of_limit(0.3) == 300_000_000
        assert nanos_of_limit(1.9e-9) == 1
        assert nanos_of_limit(-1) == 0

    def test_infinity_is_no_limit(self):
        assert not Budget(float("inf")).limited

    def test_tenths_fill_a_budget_to_the_last(self, ledger_of):
        budget = Budget(0.3, ledger_of())
        for _ in range(3):
            budget.settle(budget.reserve(0.1), 0.1)
        assert budget.spent_usd == 0.3
        with pytest.raises(BudgetReached):
            budget.reserve(1e-9)

    def test_thousands_of_small_sums_do_not_drift(self, ledger_of):
        ledger = ledger_of()
        for _ in range(3000):
            ledger.spend(nanos(1.7e-7))
        assert dollars(ledger.standing().settled) == 3000 * 170 / 1e9
