"""-o never destroys: the store, the tape and what is there already are refused, and a table goes where it was told to."""

import json
import shutil
from pathlib import Path

import pytest


@pytest.fixture
def filled(distil_examples, tmp_path):
    store = tmp_path / "graph.lbug"
    distil_examples(store)
    return store


def first_query(cli, store):
    return cli("show", "--store", store, "--json").json[0]["id"]


def test_the_store_is_refused_and_stays_whole(cli, filled, tmp_path):
    query = first_query(cli, filled)
    before = cli("export", "--store", filled).out
    link = tmp_path / "link.jsonl"
    link.symlink_to(filled)
    hard = tmp_path / "hard.jsonl"
    hard.hardlink_to(filled)
    for place in (filled, tmp_path / "x" / ".." / filled.name, link, hard, f"{filled}.wal", f"{filled}.ledger"):
        for command in (("export",), ("show", query, "--format", "html")):
            done = cli(*command, "--store", filled, "-o", place, "--force")
            assert (command, place, done.code) == (command, place, 2)
            assert "belongs to the store or its ledger" in done.err
    assert cli("export", "--store", filled).out == before


def test_a_file_that_is_there_wants_force(cli, filled, tmp_path, questions):
    questions = Path(shutil.copy(questions, tmp_path / "questions.jsonl"))
    before = questions.read_bytes()
    for command in (("export",), ("show",)):
        done = cli(*command, "--store", filled, "-o", questions)
        assert (command, done.code) == (command, 2)
        assert "--force" in done.err
    assert questions.read_bytes() == before
    assert cli("export", "--store", filled, "-o", questions, "--force").code == 0
    assert all("kind" in json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines())
    assert questions.stat().st_mode & 0o777 == 0o600
    assert cli("export", "--store", filled, "-o", tmp_path).code == 2


def test_another_store_is_not_replaced_and_the_hint_does_not_offer_it(cli, filled, tmp_path):
    other = Path(shutil.copy(filled, tmp_path / "other.lbug"))
    for flags in ((), ("--force",)):
        done = cli("export", "--store", filled, "-o", other, *flags)
        assert (done.code, "embedded store" in done.err, "--force" in done.err) == (2, True, False)
    assert other.read_bytes() == filled.read_bytes()


def test_tables_go_into_the_file_and_a_dash_is_stdout(cli, filled, tmp_path):
    query = first_query(cli, filled)
    commands = {"show": ("show",), "one": ("show", query)}
    for name, command in commands.items():
        printed = cli(*command, "--store", filled, "-o", "-")
        done = cli(*command, "--store", filled, "-o", tmp_path / name)
        assert (done.code, done.out) == (0, "")
        assert (tmp_path / name).read_text(encoding="utf-8") == printed.out != ""
    assert not (tmp_path / "-").exists()


def test_a_failing_command_leaves_no_file(cli, filled, tmp_path):
    before = set(tmp_path.iterdir())
    assert cli("audit", "abcd", "--store", filled, "-o", tmp_path / "audit.txt").code != 0
    assert set(tmp_path.iterdir()) == before
    assert cli("show", "--store", filled, "-o", "/dev/null").code == 0
