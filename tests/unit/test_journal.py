"""The journal of runs: what is kept, by whom it can be read, and what it refuses."""

import subprocess
import sys
from pathlib import Path

import pytest

from drag_graph.errors import ConfigurationError, NotStored
from drag_graph.inputs import make_query
from drag_graph.ledger import Ledger
from drag_graph.ledger.journal import start_run
from drag_graph.ports.run_journal import Entry, QueryResult


def a_run(source="questions.jsonl"):
    return start_run(kind="distill", namespace="default", store="graph", source=source, teacher="model", plan="lean")


def entries(*texts, settings_hash="h"):
    return [Entry(n, make_query(text, input_id=f"s{n}"), settings_hash) for n, text in enumerate(texts, start=1)]


@pytest.fixture
def journal(tmp_path):
    with Ledger(tmp_path / "folder" / "x.ledger") as ledger:
        yield ledger.journal


def test_runs_of_one_source_are_of_one_job():
    assert a_run().job == a_run().job
    assert a_run().id != a_run().id
    assert a_run().job != a_run("others.jsonl").job


def test_lines_are_pending_until_they_are_recorded_and_come_in_order(journal):
    run = a_run()
    journal.begin(run)
    lines = entries(*[f"question {n}" for n in range(1200)])
    assert journal.enter(run.id, lines) == {}
    done = [QueryResult(entry.query.id, entry.query.input_id, "complete", line=entry.line) for entry in lines[::-2]]
    journal.record(run.id, done)
    results = list(journal.results(run.id))
    assert [result.line for result in results] == list(range(1, 1201))
    assert {result.status for result in results[1::2]} == {"complete"}
    assert {result.status for result in results[::2]} == {"pending"}
    assert journal.summary(run.id)[0] == {"complete": 600, "quarantined": 0, "skipped": 0, "pending": 600}
    assert len(list(journal.results(run.id, ["pending"]))) == 600


def test_a_repeated_question_names_the_first_across_windows(journal):
    run = a_run()
    journal.begin(run)
    first, second = entries("Why?", "why? ")
    assert journal.enter(run.id, [first]) == {}
    assert journal.enter(run.id, [second]) == {2: "s1"}
    assert journal.enter(run.id, [first, second]) == {2: "s1"}, "entered again after an interruption"


def test_notes_and_costs_survive_the_process(journal, tmp_path):
    run = a_run()
    journal.begin(run)
    (entry,) = entries("Why?")
    journal.enter(run.id, [entry])
    result = QueryResult(
        entry.query.id, "s1", "quarantined", calls=3, cost_usd=0.25, error="prose", notes=["a", "b"], line=1, tokens_in=5
    )
    journal.record(run.id, [result])
    with Ledger(tmp_path / "folder" / "x.ledger") as opened:
        other = opened.journal
        assert list(other.results(run.id)) == [result]
        assert other.settled([entry]) == {entry.query.id: result}
        assert other.settled(entries("Why?", settings_hash="other")) == {}
        assert other.summary(run.id)[1] == 0.25


def test_a_run_is_found_by_the_beginning_of_its_id(journal):
    first, second = a_run(), a_run()
    for run in (first, second):
        journal.begin(run)
    assert journal.run(first.id[:12], "default") == first
    for prefix in ("no such run", "%"):
        with pytest.raises(NotStored):
            journal.run(prefix, "default")
    with pytest.raises(ConfigurationError, match="Several"):
        journal.run("", "default")
    journal.finish(first.id, "interrupted", 130)
    assert (journal.run(first.id, "default").stopped, journal.run(first.id, "default").exit_code) == ("interrupted", 130)
    assert [run.id for run, _, _ in journal.runs("default")] == [second.id, first.id]


def test_a_run_is_at_work_dead_or_ended(journal, tmp_path):
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_journal import *
run = a_run()
ledger = Ledger(Path(sys.argv[1]))
ledger.journal.begin(run)
print(run.id, flush=True)
sys.stdin.read()
"""
    mine = a_run()
    journal.begin(mine)
    command = [sys.executable, "-c", program, str(tmp_path / "folder" / "x.ledger")]
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        theirs = journal.run(other.stdout.readline().strip(), "default")
        assert [journal.state(run) for run in (mine, theirs)] == ["running", "running"]
    finally:
        other.kill()
        other.communicate()
    assert [journal.state(run) for run in (mine, theirs)] == ["running", "died"]
    journal.finish(mine.id, "", 0)
    assert [journal.state(journal.run(run.id, "default")) for run in (mine, theirs)] == ["ended", "died"]
    assert not list((tmp_path / "folder").glob("*.lock")), "nothing is left lying about"
