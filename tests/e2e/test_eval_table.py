"""`drag-graph eval table`: the tables of the paper as files."""

import json
import math
from pathlib import Path

import pytest

from drag_graph.app.evaluation_group import combinations, read_table
from drag_graph.ask.context_lines import Candidate, select_lines
from drag_graph.distill.plans import chosen
from drag_graph.evaluation.hub import TASKS
from drag_graph.settings import load_settings

TABLES = {path.stem: path for path in (Path(__file__).parents[2] / "examples" / "paper").glob("*.toml")}
LONG = " ".join(["word"] * 25)
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
    assert len(TABLES) == 15
    for path in TABLES.values():
        given = read_table(path)
        runs = [load_settings(values) for values in combinations(given, path.stem, {})]
        assert len(runs) == math.prod(len(values) for values in given["vary"].values())
        assert all(settings.teacher and settings.plan == "paper" for settings in runs)
        assert set(given["tasks"]) <= set(TASKS)
    apart = {settings.namespace for settings in map(load_settings, combinations(read_table(TABLES["table-03"]), "three", {}))}
    assert len(apart) == 5, "each teacher distills for itself"


@pytest.mark.parametrize("path", TABLES.values(), ids=lambda path: path.stem)
def test_the_lines_of_a_table_are_as_many_as_it_says_even_if_they_are_long(path):
    for values in combinations(read_table(path), path.stem, {}):
        settings = load_settings(values)
        (kept, number) = (chosen(settings, name) for name in ("top_k", "number_of_evidence"))
        k = settings.max_lines or kept
        assert k <= kept <= number
        lines = [Candidate(kind, str(n), "", f"{LONG} {n}.", "", n) for kind in ("evidence", "edge") for n in range(kept)]
        selection = select_lines(
            lines,
            count_tokens=lambda text: 2 * len(text.split()),  # a generous estimate for English
            token_budget=settings.token_budget,
            max_lines=settings.max_lines,
        )
        assert [line.kind for line in selection.lines] == ["evidence"] * k + ["edge"] * k


def test_table_17_compares_as_many_edges_as_evidence():
    runs = [load_settings(values) for values in combinations(read_table(TABLES["table-17"]), "seventeen", {})]
    assert {(run.number_of_evidence, run.top_k) for run in runs} == {(30, 30), (40, 40), (50, 50)}
    flagged = combinations(read_table(TABLES["table-17"]), "seventeen", {"top_k": 5})
    assert all("number_of_evidence" not in values for values in flagged), "a flag takes the place of what varies with it"


def test_a_table_says_what_it_takes_without_a_key(cli, data, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = cli("eval", "table", TABLES["table-02"], "--data", data, "--dry-run", "--store", tmp_path / "graph.lbug", "--json")
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
    flags = ("--teacher", facts, "--student", "nearest", "--store", tmp_path / "graph.lbug", "--threshold", "0", "--seed", 7)
    done = cli("eval", "table", path, "--data", data, *flags)
    assert done.code == 0, done.err
    assert fields(done.out)["evaluations"] == "2"
    folders = sorted((tmp_path / ".drag-graph" / "evaluations").iterdir())
    settings = [json.loads((folder / "about.json").read_text())["settings"] for folder in folders]
    shown = {
        given["max_lines"]: max(len(json.loads(line)["lines"]) for line in (folder / "items.jsonl").read_text().splitlines())
        for folder, given in zip(folders, settings, strict=True)
    }
    assert shown == {1: 1, 2: 2}
    assert [given["seed"] for given in settings] == [7, 7]


@pytest.mark.parametrize("text", ["title = 1\nstudents = []\n", "nonsense"])
def test_what_is_no_table_is_said(cli, tmp_path, text):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    done = cli("eval", "table", path, "--dry-run")
    assert done.code == 2
    assert "bad.toml" in done.err
