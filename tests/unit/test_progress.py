"""How the progress of long work is shown (`cli.progress`)."""

import time
from functools import partial

import pytest
from rich.console import Console

from cli.progress import progress
from drag_graph.jobs.runner import RunProgress


@pytest.mark.parametrize("quiet", [True, False])
def test_nothing_is_printed_without_a_terminal(quiet, capsys):
    with progress(quiet=quiet) as shown:
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
