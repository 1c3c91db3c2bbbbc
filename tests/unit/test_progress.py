"""How the progress of long work is shown (`cli.progress`)."""

import time
from functools import partial

import pytest
from rich.console import Console

from cli.progress import EVERY, Lines, State, progress
from drag_graph.jobs.runner import RunProgress


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_without_a_terminal_a_line_is_printed_a_minute(clock, capsys):
    lines = Lines(clock)
    for done in (1, 2):
        lines.show(State("queries", done, 2_000, 0.1 * done))
    assert capsys.readouterr().err == ""
    clock.now += EVERY
    lines.show(State("queries", 3, 2_000, 0.3))
    lines.show(State("queries", 4, 2_000, 0.4))
    assert capsys.readouterr().err == "3 of 2000 queries, $0.3000, 1 min\n"


def test_work_without_a_price_shows_no_cost(clock, capsys):
    lines = Lines(clock, priced=False)
    clock.now += EVERY
    lines.show(State("documents", 1))
    assert capsys.readouterr().err == "1 documents, 1 min\n"


def test_a_wait_is_printed_when_it_begins_and_then_once_a_minute(clock, capsys):
    lines = Lines(clock)
    for reason in ("the batch (validating)", "the batch (in progress): 1", "the batch (in progress): 2"):
        lines.show(State("queries", waiting_for=reason))
    clock.now += EVERY
    for reason in ("the batch (in progress): 3", "", "2 batches"):
        lines.show(State("queries", waiting_for=reason))
    assert capsys.readouterr().err.splitlines() == [
        "0 queries, $0.0000, 0 min; waiting for the batch (validating)",
        "0 queries, $0.0000, 1 min; waiting for the batch (in progress): 3",
        "0 queries, $0.0000, 1 min; waiting for 2 batches",
    ]


def test_quiet_work_prints_nothing(capsys):
    with progress(quiet=True) as shown:
        shown.count(1)
        shown.run(RunProgress(1, 3, 1.0, "the batch (in progress)"))
        shown.stage("answers", 1, 3)
    assert capsys.readouterr() == ("", "")


def printed_until(condition, capsys):
    """Return what is printed until the condition holds: the bar is drawn several times a second."""
    text, until = "", time.monotonic() + 60
    while not condition(text):
        assert time.monotonic() < until, text
        time.sleep(0.02)
        text += capsys.readouterr().err
    return text


def test_on_a_terminal_a_bar_shows_what_is_done_and_what_the_work_waits_for(monkeypatch, capsys):
    monkeypatch.setattr("cli.progress.Console", partial(Console, force_terminal=True, width=150))
    with progress(quiet=False) as shown:
        shown.run(RunProgress(1, 3, 0.25, "the batch [1] (in progress)"))
        waiting = printed_until(lambda text: "waiting for the batch [1] (in progress)" in text, capsys)
        shown.run(RunProgress(1, 3, 0.25))
        rest = printed_until(lambda text: "1/3" in text and "waiting for" not in text.splitlines()[-1], capsys)
        shown.stage("answers", 2, 8)
        printed_until(lambda text: "Answers" in text and "2/8" in text, capsys)
    assert "1/3" in waiting
    assert "$0.2500" in waiting
    assert "waiting for" not in rest.splitlines()[-1]


def test_without_a_terminal_the_beginning_of_a_wait_is_printed(capsys):
    with progress(quiet=False) as shown:
        shown.run(RunProgress(0, 3, 0.0, "2 batches"))
    assert capsys.readouterr().err == "0 of 3 queries, $0.0000, 0 min; waiting for 2 batches\n"
