"""`drag-graph eval table`: the tables of the paper as files."""

import json
import math
from pathlib import Path

import pytest

from drag_graph.app.evaluation_table import combinations, read_table
from drag_graph.evaluation.hub import TASKS
from drag_graph.settings import load_settings

TABLES = sorted((Path(__file__).parents[2] / "examples" / "paper").glob("*.toml"))
ROWS = [
    {
        "id": str(number),
        "question": f"What does a dorvel of kind {number} eat?",
        "options": ["iron", "moss"],
        "answer": number % 2,
    }
    for number in range(3)
]


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "sets"
    folder.mkdir()
    for task in ("arc_challenge", "qasc"):
        (folder / f"{task}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return folder


@pytest.fixture
def facts(tmp_path):
    """A curated teacher that knows all rows."""
    path = tmp_path / "facts.jsonl"
    facts = [["Dorvels sleep at noon.", f"A dorvel of kind {row['id']} eats {row['options'][row['answer']]}."] for row in ROWS]
    path.write_text("".join(json.dumps({**row, "evidence": fact}) + "\n" for row, fact in zip(ROWS, facts, strict=True)))
    return f"curated:{path}"


def fields(said):
    pairs = (line.split(None, 1) for line in said.splitlines())
    return {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}


def test_each_table_is_made_of_settings_that_there_are():
    assert len(TABLES) == 13
    for path in TABLES:
        given = read_table(path)
        runs = [load_settings(values) for values in combinations(given, path.stem, {})]
        assert len(runs) == math.prod(len(values) for values in given["vary"].values())
        assert all(settings.teacher and settings.plan == "paper" for settings in runs)
        assert set(given["tasks"]) <= set(TASKS)
    apart = {settings.namespace for settings in map(load_settings, combinations(read_table(TABLES[1]), "three", {}))}
    assert len(apart) == 5, "each teacher distills for itself"


def test_a_table_says_what_it_takes_without_a_key(cli, data, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = cli("eval", "table", TABLES[0], "--data", data, "--dry-run", "--store", tmp_path / "graph.lbug", "--json")
    assert done.code == 0, done.err
    found = {name: str(value) for name, value in done.json.items()}
    assert (found["evaluations"], found["student_asked"]) == (str(7 * 4), str(7 * 4 * 4 * len(ROWS)))
    assert float(found["price_usd"]) > 0
    assert int(found["calls"]) == len(ROWS) * (4 + 20)


def test_flags_win_over_the_file_and_the_runs_are_made(cli, data, facts, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'title = "Mine"\ntasks = ["qasc"]\nmodes = ["none", "evidence"]\n\n[settings]\nteacher = "gpt-4o"\n\n'
        '[vary]\nstudent = ["gpt-4o", "gpt-4o-mini"]\nmax_lines = [1, 2]\n'
    )
    flags = ("--teacher", facts, "--student", "nearest", "--store", tmp_path / "graph.lbug", "--threshold", "0")
    done = cli("eval", "table", path, "--data", data, *flags)
    assert done.code == 0, done.err
    assert fields(done.out)["evaluations"] == "2"
    folders = sorted((tmp_path / ".drag-graph" / "evaluations").iterdir())
    shown = {
        json.loads((folder / "about.json").read_text())["settings"]["max_lines"]: max(
            len(json.loads(line)["lines"]) for line in (folder / "items.jsonl").read_text().splitlines()
        )
        for folder in folders
    }
    assert shown == {1: 1, 2: 2}


@pytest.mark.parametrize("text", ["title = 1\nstudents = []\n", "nonsense"])
def test_what_is_no_table_is_said(cli, tmp_path, text):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    done = cli("eval", "table", path, "--dry-run")
    assert done.code == 2
    assert "bad.toml" in done.err
