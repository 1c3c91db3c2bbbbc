"""How far long work is said to be (`cli.progress`)."""

import time
from functools import partial

import pytest
from rich.console import Console

from cli.progress import EVERY, Lines, progress


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_a_line_a_minute_where_there_is_no_terminal(clock, capsys):
    lines = Lines(2_000, clock)
    for cost in (0.1, 0.2):
        lines.result(cost)
    assert capsys.readouterr().err == ""
    clock.now += EVERY
    lines.result(0.3)
    lines.result(0.4)
    assert capsys.readouterr().err == "3 of 2000 queries, $0.3000, 1 min\n"


def test_what_costs_nothing_says_no_cost(clock, capsys):
    lines = Lines(None, clock, priced=False)
    clock.now += EVERY
    lines.result(0.0)
    assert capsys.readouterr().err == "1 queries, 1 min\n"


def test_what_is_waited_for_is_said_at_once_and_then_once_a_minute(clock, capsys):
    lines = Lines(None, clock)
    for sentence in ("the batch (validating)", "the batch (in progress): 1", "the batch (in progress): 2"):
        lines.wait(sentence)
    clock.now += EVERY
    lines.wait("the batch (in progress): 3")
    lines.wait("")
    lines.wait("2 batches")
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "0 queries, $0.0000, 0 min; waiting for the batch (validating)",
        "0 queries, $0.0000, 1 min; waiting for the batch (in progress): 3",
        "0 queries, $0.0000, 1 min; waiting for 2 batches",
    ]


def test_nothing_is_said_when_it_is_to_be_quiet(capsys):
    with progress(3, quiet=True) as show:
        show(1.0)
        show.wait("the batch (in progress)")
    assert capsys.readouterr() == ("", "")


def printed_until(condition, capsys):
    """Return what is printed until the condition holds of it: the bar is drawn anew some times a second."""
    text, until = "", time.monotonic() + 60
    while not condition(text):
        assert time.monotonic() < until, text
        time.sleep(0.02)
        text += capsys.readouterr().err
    return text


def test_on_a_terminal_a_bar_tells_what_is_done_and_what_is_waited_for(monkeypatch, capsys):
    console = partial(Console, force_terminal=True, width=150)
    monkeypatch.setattr("cli.progress.Console", console)
    with progress(3, quiet=False) as show:
        show(0.25)
        show.wait("the batch [1] (in progress)")
        waiting = printed_until(lambda text: "waiting for the batch [1] (in progress)" in text, capsys)
        show.wait("")
        rest = printed_until(lambda text: "1/3" in text and "waiting for" not in text.splitlines()[-1], capsys)
    assert "1/3" in waiting
    assert "$0.2500" in waiting
    assert "waiting for the batch [1] (in progress)" in waiting
    assert "waiting for" not in rest.splitlines()[-1]


def test_without_a_terminal_what_is_waited_for_is_said(capsys):
    with progress(3, quiet=False) as show:
        show.wait("2 batches")
    assert capsys.readouterr().err == "0 of 3 queries, $0.0000, 0 min; waiting for 2 batches\n"
