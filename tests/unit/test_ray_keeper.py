"""The keeper of a cluster run, here without a cluster (docs/decisions/0006-threads-and-ray.md)."""

import threading

import pytest

from drag_graph.errors import Interrupted, Withheld
from drag_graph.inputs import make_query
from drag_graph.jobs.ray.keeper import Keeper
from drag_graph.ledger.budget import Reservation
from drag_graph.privacy import privacy_gate as opening
from drag_graph.testing.rewriting import ToldRewriter


@pytest.fixture
def keeper(tmp_path):
    keeper = Keeper(tmp_path / "x.ledger", "job", 1.0)
    yield keeper
    keeper._ledger.close()


def test_after_an_interruption_nothing_is_reserved_and_new_processes_are_told(keeper):
    assert keeper.announce(0, "first life") is False
    token = keeper.reserve(0, "first life", 0.25)
    assert isinstance(token, Reservation)
    keeper.interrupt()
    assert isinstance(keeper.reserve(0, "first life", 0.25), Interrupted)
    keeper.settle(token, 0.125)  # what is in flight is finished
    assert keeper._budget._account.standing().reserved == 0
    assert keeper._budget.spent_usd == 0.125
    assert keeper.announce(0, "second life") is True
    assert isinstance(keeper.reserve(0, "second life", 0.25), Interrupted)


def test_a_reservation_that_waited_is_given_back_when_the_run_was_interrupted(keeper, monkeypatch):
    waits, wait = threading.Event(), keeper._budget._changed.wait

    def seen():
        waits.set()
        wait()

    monkeypatch.setattr(keeper._budget._changed, "wait", seen)
    keeper.announce(0, "a life")
    first = keeper.reserve(0, "a life", 0.75)
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.append(keeper.reserve(0, "a life", 0.75)), daemon=True)
    thread.start()
    assert waits.wait(60)
    keeper.interrupt()
    keeper.settle(first, 0.125)
    thread.join(60)
    assert [type(outcome) for outcome in outcomes] == [Interrupted]
    assert keeper._budget._account.standing().reserved == 0
    assert keeper._budget.spent_usd == 0.125


def test_what_leaves_a_worker_is_looked_at_for_what_the_driver_has_put_into_the_vault_since(tmp_path, monkeypatch):
    told = ToldRewriter({"Zorblax Quenneville": ("PERSON", "Person A")})
    monkeypatch.setattr(opening, "local_rewriter", lambda _level: told)
    keeper = Keeper(tmp_path / "x.ledger", "job", None, privacy="standard", vault=tmp_path / "x.vault")
    driver = opening.open_gate("standard", tmp_path / "x.vault")
    try:
        assert keeper.outgoing(["Why does Zorblax Quenneville cough?"]) is None
        driver.rewrite_query(make_query("Why does Zorblax Quenneville cough?"))
        assert isinstance(keeper.outgoing(["It is Zorblax Quenneville who coughs."]), Withheld)
        assert isinstance(keeper.outgoing(["Write to zq@ooze.example."]), Withheld)
        assert keeper.outgoing(["Why does Person A cough?"]) is None
    finally:
        driver.close()
        keeper._gate.close()
        keeper._ledger.close()
