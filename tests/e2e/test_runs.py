"""`drag-graph runs`: what became of each run and each of its queries, and asking again what was quarantined."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from drag_graph.ledger import Ledger
from drag_graph.ledger.journal import start_run
from drag_graph.models.litellm_library import load_litellm
from drag_graph.testing.server import Say, ScriptedServer

QUESTIONS = [{"id": name, "question": f"Why does {name} happen?"} for name in ("rain", "snow", "wind")]


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "questions.jsonl"
    lines = [*(json.dumps(line) for line in QUESTIONS), json.dumps(QUESTIONS[0]), "no JSON"]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def server():
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def distill(cli, questions, server):
    """Distill the questions, of which the one about snow gets prose instead of JSON while `server.broken`."""
    server.broken = True
    plain = server.take

    def take(request):
        broken = server.broken and request.schema == "evidence" and "snow" in request.prompt
        return Say("I would rather talk about something else.") if broken else plain(request)

    server.take = take
    flags = ("--teacher", "scripted", "--teacher-base-url", server.url, "--json")
    return lambda *more: cli("distill", questions, *flags, *more)


def test_a_run_is_listed_and_shown_with_what_became_of_each_query_and_why(cli, distill):
    done = distill()
    assert done.code == 1
    (listed,) = cli("runs", "--json").json
    assert listed["id"] == done.json["run_id"]
    assert listed["counts"] == {"complete": 2, "quarantined": 1, "skipped": 1, "pending": 0}
    assert (listed["kind"], listed["exit_code"], listed["source"].endswith("questions.jsonl")) == ("distill", 1, True)
    shown = cli("runs", "show", listed["id"][:8], "--json").json
    assert [(entry["input_id"], entry["status"]) for entry in shown["queries"]] == [
        ("rain", "complete"),
        ("snow", "quarantined"),
        ("wind", "complete"),
        ("rain", "skipped"),
    ]
    assert "unusable, even after 2 more requests" in shown["queries"][1]["error"]
    assert [entry["line"] for entry in shown["queries"]] == [1, 2, 3, 4]
    only = cli("runs", "show", listed["id"], "--status", "quarantined", "--json").json["queries"]
    assert [entry["input_id"] for entry in only] == ["snow"]
    text = cli("runs", "show", listed["id"])
    assert "--retry-quarantined" in text.out
    assert "snow" in text.out
    assert listed["id"][:12] in cli("runs").out


def test_a_seed_is_sent_with_every_request_and_replies_without_one_stay_valid(cli, server):
    flags = ("-q", "Why is the sky blue?", "--teacher", "scripted", "--teacher-base-url", server.url)
    for more in ((), ("--seed", 7), (), ("--seed", 7)):
        done = cli("distill", *flags, *more)
        assert done.code == 0, done.err
    seeds = [request.body.get("seed") for request in server.requests]
    assert seeds == [None] * 3 + [7] * 3, "each seed has its own replies, which are replayed"


def test_what_was_quarantined_is_asked_again_on_demand_only(cli, distill, server):
    distill()
    server.broken = False
    asked = server.count()
    again = distill()
    assert (again.code, server.count()) == (1, asked)
    assert again.json["queries"][1]["status"] == "quarantined"
    assert again.json["totals"]["calls"] == 0
    last = distill("--retry-quarantined")
    assert last.json["queries"][1]["status"] == "complete"
    assert server.count() == asked + 3


@pytest.mark.parametrize("stage", ["evidence", "scores"])
def test_the_calls_of_a_quarantined_question_do_not_change_the_export(cli, server, tmp_path, stage):
    refusal = Say("I'm sorry, but I can't help with that.")
    plain = server.take
    server.take = lambda request: refusal if request.schema == stage and "snow" in request.prompt else plain(request)
    exports = []
    for name, lines, code in (("alone", QUESTIONS[:1], 0), ("beside", QUESTIONS[:2], 1)):
        store, asked = tmp_path / f"{name}.lbug", tmp_path / f"{name}.jsonl"
        asked.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
        flags = ("--teacher", "scripted", "--teacher-base-url", server.url, "--store", store, "--json")
        done = cli("distill", asked, *flags)
        assert done.code == code, done.err
        assert [query["status"] for query in done.json["queries"]] == ["complete", "quarantined"][: len(lines)]
        assert all(query["calls"] > 1 for query in done.json["queries"])
        exports.append(cli("export", "--format", "jsonl", "--store", store).out.encode())
    assert exports[0].count(b"\n") > 10
    assert exports[0] == exports[1]


def test_a_budget_is_that_of_all_runs_of_one_command_together(distill, server, monkeypatch):
    price = {"input_cost_per_token": 1e-5, "output_cost_per_token": 1e-5, "litellm_provider": "openai", "mode": "chat"}
    monkeypatch.setitem(load_litellm().model_cost, "scripted", price)
    server.broken = False
    first = distill("--budget-usd", "0.06", "--workers", "1")
    assert first.code == 5
    paid = first.json["totals"]["cost_usd"]
    assert 0 < paid <= 0.06
    asked = server.count()
    second = distill("--budget-usd", "0.06", "--workers", "1")
    assert (second.code, server.count()) == (5, asked), "what is spent is spent"
    assert "by other runs" in second.err
    enough = distill("--budget-usd", "2")
    assert enough.json["totals"]["complete"] == 3


def test_without_a_journal_and_without_such_a_run_it_says_so(cli, distill):
    nothing = cli("runs")
    assert nothing.code == 3
    assert "There is no ledger" in nothing.err
    distill()
    assert cli("runs", "show", "zzz").code == 3
    assert cli("runs", "show").code == 2


AS_NOBODY = """
import io, json, os, sys
from contextlib import redirect_stdout
from drag_graph.__main__ import main

def said(ledger):
    out = []
    for command in (["runs", "--json"], ["runs", "show", run, "--json"], ["tape", "export"], ["tape", "quarantined"]):
        sys.argv = ["drag-graph", *command, "--ledger", ledger]
        with redirect_stdout(io.StringIO()) as printed:
            try:
                main()
            except SystemExit as end:
                assert not end.code, command
        out.append(printed.getvalue())
    return out

run, warm, *others = sys.argv[1:]
documents = [said(warm)]  # loads everything before the rights are gone
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
documents += [said(other) for other in others]
print(json.dumps(documents))
"""


def test_reading_a_ledger_needs_no_right_to_write(cli, distill, tmp_path):
    """As another user. What a killed process has left in the log counts."""
    run = distill().json["run_id"]
    (ledger,) = tmp_path.rglob("*.ledger")
    with tempfile.TemporaryDirectory() as name:
        places = [Path(name) / kind / "x.ledger" for kind in ("warm", "closed", "killed")]
        for place in places:
            place.parent.mkdir()
            shutil.copy(ledger, place)
        pid = os.fork()
        if not pid:
            more = start_run(kind="distill", namespace="default", store="s", source="f", teacher="t", plan="lean")
            Ledger(places[-1]).journal.begin(more)
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(pid, 0)
        assert places[-1].with_name("x.ledger-wal").stat().st_size
        for folder in places[1:]:
            for file in folder.parent.iterdir():
                file.chmod(0o444)
            folder.parent.chmod(0o555)
        Path(name).chmod(0o755)
        command = [sys.executable, "-c", AS_NOBODY, run, *map(str, places)]
        done = subprocess.run(command, cwd=name, capture_output=True, text=True, timeout=120)
        for folder in places[1:]:
            folder.parent.chmod(0o755)
    assert done.returncode == 0, done.stderr
    warm, closed, killed = json.loads(done.stdout)
    assert closed == warm
    assert killed[1:] == warm[1:]
    assert [len(json.loads(documents[0])) for documents in (warm, killed)] == [1, 2]
    assert json.loads(warm[1])["counts"]["quarantined"] == 1
    assert all(warm)


def test_notes_and_long_questions_are_shown_later(cli, tmp_path):
    question = "What is it that pulls the water of all the seas up and down twice a day?"
    line = {"question": question, "evidence": ["The Moon causes tides.", "The Moon causes tides!"]}
    (tmp_path / "facts.jsonl").write_text(json.dumps(line) + "\n")
    done = cli("distill", "-q", question, "--teacher", f"curated:{tmp_path / 'facts.jsonl'}")
    assert done.code == 0
    assert "What became of each query (1 with notes): drag-graph runs show " in done.out
    run_id = done.out.split("runs show ")[1].split()[0]
    shown = cli("runs", "show", run_id)
    assert 'line 1: left out, with triples that rest only on it: "The Moon causes tides!"' in " ".join(shown.out.split())
    assert "water…" in shown.out
    assert "left out" in cli("runs", "show", run_id, "--json").json["queries"][0]["notes"][0]
