"""Commands next to `drag-graph serve` in a process of its own: equal output through it and without it, and refused flags."""

import io
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import command_line

from cli.service_client import ServiceClient
from drag_graph import DragGraph
from drag_graph.errors import NotStored
from drag_graph.service.discovery import running_service
from drag_graph.settings import Settings

QUESTION = "What drives the turbine of the harbour crane?"
TEXTS = {
    "steam.txt": "Steam drives the turbine of the harbour crane.",
    "wood.txt": "Wood drives the turbine of the old mill.",
}
CONFIGURATION = """embedder = "lexical"
student = "nearest"
teacher = "curated:facts.jsonl"
privacy = "off"
store_timeout = 0.1
"""
RUST = {"question": "What makes iron rust?", "options": ["Salt", "Water"], "answer": "B", "id": "rust", "set": "chemistry"}
STORE = ("--store", "graph.lbug")
PASSING = {"answer_id", "latency_ms", "created_at", "not_kept", "Trace it back", "Not kept"}
"""Keys and beginnings of lines that differ between two answers."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A working directory with a filled store, which a service holds."""
    folder = tmp_path_factory.mktemp("served")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("drag-graph.toml").write_text(CONFIGURATION)
        Path("facts.jsonl").write_text(json.dumps({**RUST, "evidence": ["Water makes iron rust."]}) + "\n")
        Path("questions.jsonl").write_text(json.dumps(RUST) + "\nnonsense\n" + json.dumps({"question": "Who?"}) + "\n")
        Path("papers/old").mkdir(parents=True)
        Path("papers/old/tides.md").write_text("The Moon causes tides.")
        Path("papers/bad.pdf").write_text("no PDF")
        with DragGraph(settings=Settings(store="graph.lbug")) as graph:
            for name, text in TEXTS.items():
                graph.ingest(text=text, name=name).result()
        command = [sys.executable, "-m", "drag_graph", "serve", *STORE, "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as service:
            assert service.stdout.readline().startswith("Serving")
            yield folder
            service.send_signal(signal.SIGTERM)
            service.wait(60)


@pytest.fixture
def run(folder, monkeypatch):
    """Run a command in the folder."""
    assert Path.cwd() == folder
    one = command_line(monkeypatch)
    return lambda *args: one(*args, *STORE)


def without_passing(text):
    """Return a document, or lines, without what differs between two answers."""
    if not text.startswith("{"):
        return [line for line in text.splitlines() if line.split(":")[0] not in PASSING]
    return {name: value for name, value in json.loads(text).items() if name not in PASSING}


@pytest.mark.parametrize(
    "command",
    [
        ("ask", QUESTION),
        ("ask", QUESTION, "--json"),
        ("ask", QUESTION, "--explain", "--mode", "graph", "--max-lines", "1"),
        ("ask", QUESTION, "--explain", "--json", "--source", "wood*"),
        ("ask", QUESTION, "--option", "Steam", "--option", "Wood", "--no-keep", "--explain"),
        ("ask", "Quarks?", "--relevance", "1"),
        ("search", "turbine"),
        ("search", "turbine", "--json", "--limit", "1", "--token-budget", "100"),
        ("search", "turbine", "--source", "nothing"),
        ("ask", QUESTION, "--since", "soon"),
        ("ask",),
    ],
    ids=" ".join,
)
def test_the_output_is_that_of_the_command_alone(run, command):
    through, alone = run(*command), run(*command, "--no-service")
    assert without_passing(through.out) == without_passing(alone.out)
    assert (through.code, through.err) == (alone.code, alone.err)


def test_an_answer_is_kept_by_the_service_and_audited_in_all_formats(run):
    answer_id = run("ask", QUESTION, "--json").json["answer_id"]
    assert answer_id
    for form in ("table", "json", "prov", "html"):
        through, alone = (run("audit", answer_id[:12], "--format", form, *how) for how in ((), ("--no-service",)))
        assert through == alone
        assert "Steam drives the turbine" in through.out
    unknown = [run("audit", "abcd", "--json", *how) for how in ((), ("--no-service",))]
    assert unknown[0] == unknown[1]
    assert unknown[0].code == 3


def test_what_was_asked_without_the_service_is_not_kept(run):
    alone = run("ask", QUESTION, "--no-service").out
    assert "Not kept" in alone
    assert "Trace it back" not in alone


def test_an_answer_is_streamed_by_the_service(folder):
    settings = Settings(store="graph.lbug")
    client = ServiceClient(running_service(settings.service_path), settings, {"mode": "evidence", "max_lines": 1})
    parts = []
    given = client.ask(QUESTION, [], explain=False, on_token=parts.append, keep=False)
    assert "".join(parts) == given["answer"] == TEXTS["steam.txt"]
    assert len(given["lines"]) == 1
    with pytest.raises(NotStored, match="no query"):
        client.ask(None, [], query_id="abcd", explain=False, on_token=parts.append)


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (("ask", QUESTION, "--student", "nearest", "--reidentify"), "--student, --reidentify"),
        (("ask", QUESTION, "--distill-missing", "--teacher", "ollama/x"), "--teacher, --distill-missing"),
        (("ask", "--file", "questions.jsonl"), "--file"),
        (("ask", QUESTION, "--verbose"), "--verbose"),
        (("search", "turbine", "--privacy", "off"), "--privacy"),
        (("audit", "abcd", "--local"), "--local"),
        (("distill", "questions.jsonl", "--teacher", "ollama/x", "--batch"), "--teacher, --batch"),
        (("ingest", "papers", "--extractor", "ollama/x", "--workers", "2"), "--extractor, --workers"),
    ],
)
def test_a_flag_that_the_service_cannot_honour_is_refused_by_name(run, command, named):
    refused = run(*command)
    assert (refused.code, refused.out) == (2, "")
    assert f"The running service does not support {named}." in refused.err
    assert "--no-service" in refused.err


def without_times(text):
    """Return output without the ids of runs, times, and the line about a new store."""
    text = re.sub(r'"(run_id|seconds|seconds_in_store)": [^,}]+', r'"\1": 0', text)
    text = re.sub(r"[\d.]+ s\n|runs show \w+", "", text)
    return [line for line in text.splitlines() if "uses the embedder" not in line]


@pytest.mark.parametrize(
    "command",
    [
        ("distill", "-q", "What makes iron rust?", "--option", "Salt", "--option", "Water"),
        ("distill", "questions.jsonl", "--top-k", "4"),
        ("distill", "questions.jsonl", "--json", "--replace", "--retry-quarantined"),
        ("distill", "nothing.jsonl"),
        ("distill", "questions.jsonl", "--dry-run"),
        ("ingest", "papers", "--tag", "sea", "--chunk-size", "200"),
        ("ingest", "papers", "--sync", "--json", "--chunk-size", "300"),
        ("ingest", "papers", "nothing"),
    ],
    ids=" ".join,
)
def test_a_job_of_the_service_prints_what_the_command_alone_prints(run, monkeypatch, command):
    through, alone = run(*command), command_line(monkeypatch)(*command, "--store", "alone.lbug")
    assert without_times(through.out) == without_times(alone.out)
    assert (through.code, without_times(through.err)) == (alone.code, without_times(alone.err))


def test_questions_come_through_standard_input(run, monkeypatch):
    content = json.dumps({**RUST, "question": "What makes copper green?"}) + "\nnonsense\n"
    printed = []
    for one in (run, lambda *args: command_line(monkeypatch)(*args, "--store", "alone.lbug")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
        printed.append(one("distill", "-", "--json"))
    through, alone = printed
    assert (through.code, without_times(through.out)) == (alone.code, without_times(alone.out))
    assert '"line": 2' in through.out


def test_jobs_store_what_the_commands_alone_store(run, monkeypatch):
    stored = run("export").out.splitlines()
    alone = command_line(monkeypatch)("export", "--store", "alone.lbug").out.splitlines()
    assert set(alone) < set(stored)
    assert "tides.md" in str(alone)
    assert "chemistry" in str(alone)


def test_other_commands_say_that_the_service_holds_the_store(run):
    refused = run("aggregate")
    assert refused.code == 3
    assert "`drag-graph serve` holds the store" in refused.err


def test_another_namespace_is_asked_through_the_service_too(run):
    assert "Nothing is stored" in run("search", "turbine", "--namespace", "Überblick").out


def test_the_file_of_a_killed_service_is_passed_over(folder, run):
    file = folder / "graph.lbug.service"
    content = file.read_text()
    try:
        file.write_text(json.dumps({"address": "http://127.0.0.1:9", "token": "x"}))
        assert "Not kept" in run("ask", QUESTION).out
    finally:
        file.write_text(content)


def test_the_client_imports_neither_the_application_nor_a_client_library(folder):
    code = (
        "import sys; from drag_graph.__main__ import main\n"
        f"sys.argv = ['drag-graph', 'ask', {QUESTION!r}, *{STORE}]\n"
        "try: main()\n"
        "finally: print([name for name in ('drag_graph.app', 'httpx', 'numpy', 'fastapi') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "Trace it back" in done.stdout
