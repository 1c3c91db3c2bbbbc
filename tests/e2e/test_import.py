"""`drag-graph export --format subgraphs` and `drag-graph import`: from one store to another, again, and through a kill."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from drag_graph.files import write_lines
from drag_graph.manage.subgraph_import import BATCH
from drag_graph.model import Aggregation
from drag_graph.testing.builders import as_distilled, random_subgraphs
from drag_graph.testing.dict_store import DictStore
from drag_graph.testing.finding import stored_lines
from tests.e2e.conftest import ON_BOTH

ROOT = Path(__file__).parents[2]
KILLED_AFTER = (0.1,)
"""Seconds to the kill from when the first batch is there and the second is being written."""
QUERIES = 12 * BATCH


@pytest.fixture
def source(cli, store, questions, curated, tmp_path):  # `store` sets the namespace
    """An embedded store with the example questions."""
    path = tmp_path / "source.lbug"
    assert cli("distill", questions, "--teacher", curated, "--store", path).code == 0
    return path


def exports(cli, store, *flags):
    done = cli("export", "--store", store, *flags)
    assert done.code == 0, done.err
    return done.out


@pytest.fixture
def erased(cli, store):
    """Erase what a test leaves in a shared server."""
    yield
    if isinstance(store, Path):
        return
    for entry in cli("show", "--store", store, "--json").json:
        assert cli("db", "erase", "--query-id", entry["id"], "--store", store, "--yes").code == 0


@ON_BOTH
def test_there_and_back_gives_the_same_bytes(cli, source, store, erased, tmp_path):
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    flags = ("--store", source)
    assert cli("export", "--format", "subgraphs", "-o", first, *flags).code == 0
    done = cli("import", first, "--store", store, "--json")
    assert done.code == 0, done.err
    assert done.json["totals"] == {
        "sources": 7,
        "new": 7,
        "unchanged": 0,
        "replaced": 0,
        "conflict": 0,
        "rejected": 0,
    }
    assert cli("db", "verify", "--store", store).code == 0
    again = cli("import", first, "--store", store)
    assert again.code == 0
    assert "7 unchanged" in again.out
    assert "Nothing was changed" in again.out

    assert cli("export", "--format", "subgraphs", "-o", second, "--store", store).code == 0
    back = ("--store", tmp_path / "back.lbug")
    assert cli("import", second, *back).code == 0
    assert exports(cli, back[1], "--full") == exports(cli, source, "--full")
    assert cli("export", "--format", "subgraphs", *back).out == first.read_text()


def test_what_was_imported_is_asked_linked_and_not_distilled_again(cli, source, store, erased, questions, curated, monkeypatch):
    text = exports(cli, source, "--format", "subgraphs")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    monkeypatch.setenv("DRAG_GRAPH_STORE", str(store))
    assert cli("import", "-").code == 0
    asked = cli("ask", "What mainly causes the tides of the oceans on Earth?", "--json")
    assert asked.code == 0, asked.err
    assert asked.json["lines"]
    assert cli("audit", asked.json["answer_id"], "--json").code == 0
    assert cli("link").code == 0
    distilled = cli("distill", questions, "--teacher", curated, "--json")
    assert {query["calls"] for query in distilled.json["queries"]} == {0}
    assert cli("db", "verify").code == 0


def test_conflicts_are_named_and_replaced_only_when_asked(cli, source, store, erased, tmp_path):
    flags = ("--store", source)
    lines = exports(cli, source, "--format", "subgraphs").splitlines()
    changed = {**json.loads(lines[2]), "settings_hash": "another"}
    path = tmp_path / "f.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert cli("import", path, "--store", store).code == 0
    before = exports(cli, store)
    path.write_text("\n".join([*lines[:2], json.dumps(changed), *lines[3:]]), encoding="utf-8")
    done = cli("import", path, "--store", store)
    assert done.code == 1
    assert "6 unchanged, 1 conflict" in done.out
    assert f"{path}:3: source " in done.err
    assert "--replace" in done.err
    assert exports(cli, store) == before
    listed = cli("import", path, "--store", store, "--json").json["conflicts"]
    assert [item["line"] for item in listed] == [3]
    assert cli("import", path, "--store", store, "--replace", "--json").json["totals"]["replaced"] == 1
    assert exports(cli, store) != before
    assert cli("import", path, *flags, "--replace").code == 0


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (None, 2, "Cannot read"),
        (b"", 2, "is empty"),
        (b"not json\n", 2, ":1: This is not a file of subgraphs"),
    ],
)
def test_what_is_no_file_of_subgraphs_makes_no_traceback(cli, tmp_path, content, code, said):
    path = tmp_path / "f"
    if content is not None:
        path.write_bytes(content)
    done = cli("import", path, "--store", tmp_path / "new.lbug")
    assert done.code == code
    assert said in done.err
    assert "Hint: " in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "new.lbug").exists()


@pytest.mark.parametrize("format_", ["jsonl", "subgraphs"])
def test_an_export_of_nothing_says_so(cli, source, format_):
    done = cli("export", "--format", format_, "--store", source, "--namespace", "elsewhere")
    assert (done.code, done.out.count("\n")) == (0, 2 * (format_ == "subgraphs")), done.err
    assert done.err == f"Nothing is stored in namespace 'elsewhere' of {source}.\n"


def test_another_namespace_is_refused_by_name(cli, source, tmp_path):
    file = tmp_path / "f.jsonl"
    assert cli("export", "--format", "subgraphs", "-o", file, "--store", source).code == 0
    done = cli("import", file, "--store", tmp_path / "other.lbug", "--namespace", "elsewhere")
    assert (done.code, "`--namespace default`" in done.err) == (2, True)


def test_an_export_for_comparing_is_refused_with_the_command_that_makes_the_other(cli, source, tmp_path):
    path = tmp_path / "canonical.jsonl"
    assert cli("export", "-o", path, "--store", source).code == 0
    done = cli("import", path, "--store", source)
    assert done.code == 2
    assert "not a file of subgraphs" in done.err
    assert "--format subgraphs" in done.err


def test_another_embedder_is_refused(cli, source, tmp_path):
    lines = exports(cli, source, "--format", "subgraphs").splitlines()
    head = {**json.loads(lines[0]), "embedder": {"name": "another", "dimension": 1024}}
    path = tmp_path / "f.jsonl"
    path.write_text("\n".join([json.dumps(head), *lines[1:]]), encoding="utf-8")
    done = cli("import", path, "--store", source)
    assert done.code == 3
    assert "was filled by the embedder lexical" in done.err


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A file of several batches."""
    store = DictStore()
    store.migrate()
    store.save([as_distilled(graph) for graph in random_subgraphs(QUERIES, seed=3)], Aggregation())
    path = tmp_path_factory.mktemp("many") / "many.jsonl"
    write_lines(path, stored_lines(store))
    return path


def written(folder):
    """Return the bytes of a store's files."""
    sizes = 0
    for path in folder.glob("graph.lbug*"):
        with contextlib.suppress(FileNotFoundError):
            sizes += path.stat().st_size
    return sizes


@pytest.mark.long
@pytest.mark.parametrize("seconds", KILLED_AFTER)
def test_killed_in_the_middle_and_run_again_ends_in_the_same_store(cli, many, tmp_path, seconds):
    path = tmp_path / "graph.lbug"
    command = [sys.executable, "-m", "drag_graph", "import", str(many), "--store", str(path), "--json"]
    environment = {**os.environ, "DRAG_GRAPH_NAMESPACE": "default"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 200
        while written(tmp_path) < 2_000_000 and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, "it was not killed in the middle"
    done = cli("import", many, "--store", path, "--json")
    assert done.code == 0, done.err
    totals = done.json["totals"]
    assert totals["unchanged"] % BATCH == 0, "a transaction is there whole or not at all"
    assert totals["new"] == QUERIES - totals["unchanged"] > 0
    assert exports(cli, path, "--format", "subgraphs") == many.read_text()
    assert cli("db", "verify", "--store", path).code == 0
