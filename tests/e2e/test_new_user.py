"""What somebody who has just installed it meets: formats, ids, hints, narrow terminals."""

import json
import os
import re
import subprocess
import sys

import pytest

from drag_graph.privacy import local_rewriter
from drag_graph.settings import Settings
from tests.e2e.conftest import EXAMPLES

TEACHER = f"curated:{EXAMPLES / 'curated.jsonl'}"


@pytest.fixture
def filled(distil_examples, tmp_path):
    """An embedded store with the examples, and the flags that name it."""
    flags = ["--store", tmp_path / "graph.lbug"]
    distil_examples(flags[1])
    return flags


def test_no_teacher_is_asked_that_was_not_chosen(cli, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-to-be-used")
    for command in (["distill", "-q", "hi"], ["refresh", "--expired"]):
        done = cli(*command)
        assert done.code == 2
        assert "No teacher is set" in done.err
        assert "--teacher" in done.err


def test_a_dry_run_needs_neither_a_teacher_nor_the_privacy_extra(cli, monkeypatch):
    estimated = cli("distill", "-q", "hi", "--dry-run", "--json").json
    assert (estimated["queries"], estimated["teacher"], estimated["price_known"]) == (1, "", False)
    assert (estimated["number_of_evidence"], estimated["top_k"]) == (15, 10)
    monkeypatch.setattr(local_rewriter, "find_spec", lambda _name: None)
    done = cli("distill", "-q", "hi", "--dry-run", "--teacher", "gpt-4o-mini", "--privacy", "standard", "--json")
    assert (done.code, done.json["price_known"]) == (0, True)
    assert "Questions are counted as written" in done.json["caution"]


def test_the_id_of_the_input_is_an_id(cli, filled):
    shown = cli("show", "kidney", "--json", *filled)
    assert shown.json["source"]["input_id"] == "kidney"
    asked = cli("ask", "--query-id", "kidney", "--json", *filled).json
    assert asked["source_ids"] == [shown.json["source"]["id"]]
    assert cli("audit", "kidney", "--json", *filled).json["answer_id"] == asked["answer_id"]
    missing = cli("show", "Kidney", *filled)
    assert (missing.code, "There is no query or document 'kidney'" in missing.err) == (3, True)


def test_answers_are_listed_the_newest_first(cli, filled):
    assert "There are no answers" in cli("answers", *filled).out
    first = cli("ask", "--query-id", "kidney", "--json", *filled).json
    second = cli("ask", "--query-id", "rust", "--mode", "graph", "--json", *filled).json
    found = cli("answers", "--json", *filled)
    assert {one["id"] for one in found.json} == {first["answer_id"], second["answer_id"]}
    assert [one["created_at"] for one in found.json] == sorted((one["created_at"] for one in found.json), reverse=True)
    assert [one["id"] for one in cli("answers", "--query-id", "rust", "--json", *filled).json] == [second["answer_id"]]
    limited = cli("answers", "--limit", 1, *filled)
    assert "--limit shows more" in limited.err


def test_a_list_says_what_it_leaves_out(cli, filled):
    part = cli("show", "--limit", 3, "--json", *filled)
    assert len(part.json) == 3
    assert "3 of 7 queries" in part.err
    rest = cli("show", "--limit", 10, "--offset", 3, "--json", *filled).json
    assert len({row["id"] for row in [*part.json, *rest]}) == 7
    assert cli("show", *filled).err == ""


def test_an_answer_that_is_not_kept_has_no_id(cli, filled, tmp_path):
    file = tmp_path / "q.jsonl"
    file.write_text('{"id": "far", "question": "Qwxyz zzkkj vvbbnn?"}\n')
    done = cli("ask", "--file", file, *filled)
    assert " far " in done.out
    assert done.out.count("Nothing relevant") == 1
    assert not [line for line in done.out.splitlines() if "far" in line and line.split()[0] != "-"]


def test_an_answer_without_lines_says_why(cli, filled):
    done = cli("ask", "--query-id", "rust", "--token-budget", 1, *filled)
    assert "No line was shown to the student" in done.out
    document = cli("ask", "--query-id", "rust", "--token-budget", 1, "--json", *filled).json
    assert document["reason"] == "no line was shown to the student (too long)"


CSV = """id,question,A,B,answer,note
one,"What causes
tides?",the Moon,wind,A,first
two,Is ice lighter than water?,,,,
"""


def test_a_csv_file_with_a_header_is_read(cli, tmp_path):
    file = tmp_path / "questions.csv"
    file.write_text(CSV)
    done = cli("distill", file, "--teacher", TEACHER, "--dry-run", "--json").json
    assert (done["queries"], done["rejected"]) == (2, 0)
    file.write_text(CSV.replace(",A,first", ",Z,first"))
    bad = cli("distill", file, "--teacher", TEACHER, "--dry-run")
    assert "line 2 rejected: The answer 'Z' is not an index" in bad.err


@pytest.mark.parametrize("cell", ['"[""the Moon"", ""the wind""]"', "the Moon | the wind"])
def test_options_may_share_a_column(cli, tmp_path, cell):
    file = tmp_path / "questions.csv"
    file.write_text(f"question;options;answer\nWhat causes tides?;{cell};the wind\n")
    assert cli("distill", file, "--teacher", TEACHER, "--store", tmp_path / "s.lbug").code == 1
    run = cli("distill", file, "--teacher", TEACHER, "--store", tmp_path / "s.lbug", "--dry-run", "--json").json
    assert (run["rejected"], run["queries"]) == (0, 1)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.json", '[\n {"question": "a"},\n {"question": "b"}\n]\n', "is a JSON array"),
        ("a.json", '{\n "question": "a"\n}\n', "JSON objects over several lines"),
        ("a.csv", "text,answer\na,b\n", "no column `question`"),
        ("a.csv", "question\n\udcff", "not a CSV file in UTF-8"),
    ],
)
def test_another_format_is_said_once(cli, tmp_path, name, text, problem):
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    done = cli("distill", tmp_path / name, "--teacher", TEACHER, "--dry-run")
    assert done.code == 2
    assert problem in done.err
    assert len(done.err.splitlines()) == 2


def test_a_dry_run_says_which_lines_are_rejected(cli, tmp_path):
    file = tmp_path / "q.jsonl"
    file.write_text('{"question": "Is it?"}\n{"question": ""}\nno json\n')
    done = cli("distill", file, "--teacher", TEACHER, "--dry-run")
    assert "line 2 rejected: The question is empty" in done.err
    assert "line 3 rejected: Not JSON" in done.err
    rejected = cli("distill", file, "--teacher", TEACHER, "--dry-run", "--json").json["rejected_lines"]
    assert [line["line"] for line in rejected] == [2, 3]


def test_a_mistyped_variable_is_not_passed_over(cli, monkeypatch):
    monkeypatch.setenv("DRAG_GRAPH_TECHER", "x")
    done = cli("config")
    assert done.code == 2
    assert "Did you mean DRAG_GRAPH_TEACHER?" in done.err


def test_an_unknown_key_of_the_file_is_named_as_it_is(cli, tmp_path):
    (tmp_path / "drag-graph.toml").write_text("[drag-graph]\nworkers = 3\n")
    done = cli("config")
    assert "Unknown setting in drag-graph.toml" in done.err
    assert "DRAG_GRAPH_DRAG" not in done.err


def test_duplicate_options_get_a_hint_that_fits(cli, filled):
    done = cli("ask", "What is it?", "--option", "a", "--option", "A", *filled)
    assert "Options 1 and 2 are the same" in done.err
    assert "Fix the question or its options" in done.err


def run_narrow(arguments, columns, **environment):
    env = {
        **os.environ,
        "COLUMNS": str(columns),
        "DRAG_GRAPH_EMBEDDER": "lexical",
        "FORCE_COLOR": "1",
        "TERM": "xterm",
        **environment,
    }
    command = [sys.executable, "-m", "drag_graph", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, env=env, check=False)


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_no_number_is_cut_on_a_narrow_terminal(cli, filled, columns):
    shown = run_narrow(["show", *filled], columns)
    rows = {row["id"][:12]: row for row in cli("show", "--json", *filled).json}
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown.stdout.decode()).splitlines()
    assert max(map(len, lines)) <= columns
    assert "…" not in "".join(lines)
    for id_, row in rows.items():
        (line,) = [line for line in lines if line.startswith(id_)]
        numbers = [str(row[name]) for name in ("evidence", "triples", "edges") if name in lines[0]]
        assert line.split()[-len(numbers) :] == numbers or not numbers


def test_a_terminal_of_few_characters_gets_escapes(tmp_path, cli):
    store = tmp_path / "g.lbug"
    file = tmp_path / "c.jsonl"
    question = "What is \U0001f600 \u202eolleh?"
    file.write_text(json.dumps({"question": question, "evidence": ["Joy is a feeling \U0001f600."]}) + "\n")
    assert cli("distill", "-q", question, "--teacher", f"curated:{file}", "--store", store).code == 0
    done = run_narrow(["show", "--store", store], 100, PYTHONIOENCODING="latin-1")
    assert (done.returncode, b"\\U0001f600" in done.stdout, done.stderr) == (0, True, b"")
    plain = run_narrow(["show", "--store", store], 100, PYTHONIOENCODING="utf-8")
    assert "\\u202e" in plain.stdout.decode()
    assert "\u202e" not in plain.stdout.decode()


def test_help_is_grouped_and_tells_the_defaults():
    done = run_narrow(["distill", "-h"], 120, FORCE_COLOR="", NO_COLOR="1", TERM="dumb")
    text = done.stdout.decode()
    for panel in ("Teacher", "Graph", "Store", "Output"):
        assert f"\n{panel}:\n" in text
    for name, flag in (("plan", "--plan"), ("workers", "--workers"), ("merge", "--merge")):
        told = text.partition(f" {flag} ")[2].partition(" --")[0]
        assert f"Default: {Settings.model_fields[name].default}." in " ".join(told.split())


def test_who_waits_for_a_server_is_told(cli):
    done = run_narrow(["show", "--store", "bolt://127.0.0.1:1"], 100, DRAG_GRAPH_STORE_TIMEOUT="4")
    assert done.returncode == 3
    assert b"Waiting for Neo4j at bolt://127.0.0.1:1, up to 4 s ..." in done.stderr
