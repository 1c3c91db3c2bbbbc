"""From an embedded store of an earlier version, which lost vectors, to one in which everything is found again."""

import json
import re

import pytest

from drag_graph import migrate
from drag_graph.adapters import ladybug_files

VERSION = 3


@pytest.fixture
def path(cli, questions, curated, tmp_path, monkeypatch):
    """A store of before schema version 4, which was distilled and linked a few questions at a time."""
    known, path = migrate.known, tmp_path / "old.lbug"
    with monkeypatch.context() as patch:
        patch.setattr(migrate, "known", lambda dialect, root=None: known(dialect, root)[:VERSION])
        patch.setattr(ladybug_files, "COMPRESSION", True)
        lines = questions.read_text(encoding="utf-8").splitlines(keepends=True)
        for part in (lines[:3], lines[3:4], lines[4:5], lines[5:6], lines[6:]):
            some = tmp_path / "some.jsonl"
            some.write_text("".join(part), encoding="utf-8")
            assert cli("distill", some, "--teacher", curated, "--store", path).code == 0
            assert cli("link", "--store", path).code == 0
    return path


def checked(cli, path):
    """Return the exit code of `db verify`, and of what kind of thing each lost vector is."""
    done = cli("db", "verify", "--store", path, "--json")
    assert {item["check"] for item in done.json["problems"]} <= {"vector"}
    return done.code, sorted({re.search(r"the vector of the (\w+) is", item["message"])[1] for item in done.json["problems"]})


def test_all_that_was_lost_is_found_again(cli, path, questions):
    pending = cli("db", "migrate", "--dry-run", "--store", path, "--json")
    assert (pending.code, pending.json["pending"][0]) == (0, "V0004__uncompressed")
    refused = cli("db", "verify", "--store", path)
    assert (refused.code, "drag-graph db migrate" in refused.err) == (3, True)

    done = cli("db", "migrate", "--store", path)
    assert done.code == 0
    assert "upgrading a store of an earlier version" in done.err
    assert "`drag-graph db repair`" in done.err
    assert "namespaces=default" in done.err
    (lost,) = map(int, re.findall(r"questions=(\d+)", done.err))
    assert lost
    assert checked(cli, path) == (1, ["concept", "evidence", "question"])

    other = cli("db", "repair", "--embedder", "minilm", "--store", path, "--json")
    assert other.code == 1
    assert [item["mended"] for item in other.json["repairs"]] == [True, False]
    assert "--embedder lexical" in other.json["repairs"][1]["what"]
    assert checked(cli, path) == (1, ["question"])

    done = cli("db", "repair", "--store", path, "--json")
    repaired = [(item["check"], item["number"], item["mended"]) for item in done.json["repairs"]]
    assert (done.code, repaired) == (0, [("vector", lost, True)])
    assert checked(cli, path) == (0, [])
    linked = cli("link", "--store", path, "--json").json
    assert linked["vectors"]["evidence"] > 0
    assert linked["vectors"]["concepts"] > 0
    assert checked(cli, path) == (0, [])
    assert cli("db", "repair", "--store", path, "--json").json == {"repairs": []}
    last = json.loads(questions.read_text(encoding="utf-8").splitlines()[-1])["question"]
    assert cli("ask", f"Tell me: {last}", "--store", path, "--json").json["lines"]
