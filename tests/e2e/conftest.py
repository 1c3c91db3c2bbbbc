"""Running the command line as a user does: real arguments, real output, real exit codes, in this process."""

import contextlib
import io
import json
import shutil
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

from drag_graph.__main__ import main

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Done:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        """The one JSON document on stdout."""
        return json.loads(self.out)


@pytest.fixture
def cli(monkeypatch, tmp_path):
    """Run `drag-graph ARGS` in an empty folder with the lexical embedder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DRAG_GRAPH_EMBEDDER", "lexical")
    monkeypatch.setenv(
        "DRAG_GRAPH_PRIVACY", "off"
    )  # a cloud model's name is there for its price; loading detectors takes seconds
    return command_line(monkeypatch)


@pytest.fixture(scope="module")
def module_cli():
    """Run `drag-graph ARGS` in the folder where one is, for what all tests of a module share."""
    with pytest.MonkeyPatch.context() as patch:
        yield command_line(patch)


def command_line(monkeypatch):
    """Return what runs `drag-graph ARGS` in this process."""
    hook = sys.excepthook

    def run(*args):
        monkeypatch.setattr(sys, "argv", ["drag-graph", *(str(arg) for arg in args)])
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stopped:
            main()
        sys.excepthook = hook
        code = stopped.value.code
        return Done(0 if code is None else code, out.getvalue(), err.getvalue())

    return run


ON_BOTH = pytest.mark.parametrize("store", ["embedded", "neo4j"], indirect=True)
"""Marks the one test of a command that `make test` runs on Neo4j, too."""


@pytest.fixture(params=["embedded", pytest.param("neo4j", marks=pytest.mark.long)])
def store(request, tmp_path, monkeypatch):
    """The address of an empty store: an embedded one, or a namespace of its own in the real Neo4j.

    The contract holds that the engines agree, so only tests `ON_BOTH` use Neo4j in `make test`.
    """
    if request.param == "embedded":
        return tmp_path / "graph.lbug"
    uri, user, password = request.getfixturevalue("neo4j_lts")
    monkeypatch.setenv("NEO4J_USERNAME", user)
    monkeypatch.setenv("NEO4J_PASSWORD", password)
    monkeypatch.setenv("DRAG_GRAPH_NAMESPACE", f"test-{uuid.uuid4().hex}")
    return uri


@pytest.fixture
def questions():
    """The example questions."""
    return EXAMPLES / "questions.jsonl"


@pytest.fixture
def curated():
    """The teacher that reads the examples."""
    return f"curated:{EXAMPLES / 'curated.jsonl'}"


@pytest.fixture(scope="session")
def _first(tmp_path_factory):
    """The folder of the embedded store that `distil_examples` copies."""
    return tmp_path_factory.mktemp("examples")


@pytest.fixture
def distil_examples(cli, questions, curated, _first):
    """Distil the examples into a store, and return the `--json` report. The first embedded store is copied to all others."""

    def distil(store):
        done = cli("distill", questions, "--teacher", curated, "--store", store, "--json")
        assert done.code == 0, done.err
        return done.out

    def run(store):
        if not isinstance(store, Path):
            return json.loads(distil(store))
        report = _first / "report.json"
        if not report.exists():
            report.write_text(distil(_first / "graph.lbug"), encoding="utf-8")
        for file in _first.glob("graph.lbug*"):
            shutil.copy(file, store.parent)
        return json.loads(report.read_text(encoding="utf-8"))

    return run
