"""Fixtures for all tests: a real Neo4j for the session, and an environment without settings of the developer's own.

`neo4j_address` starts 5.26 LTS, and 2026 too where a Java 21 or newer is found; where Java or Maven is missing, the tests
fail with the sentence that says how to get them. DRAG_GRAPH_TEST_NEO4J=bolt://…[,bolt://…] with
DRAG_GRAPH_TEST_NEO4J_PASSWORD uses servers that run already.
"""

import os
import secrets
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from drag_graph.adapters.neo4j_server import running_server
from drag_graph.adapters.neo4j_server.java import find_java
from drag_graph.adapters.neo4j_server.releases import release_of
from drag_graph.errors import ConfigurationError

PASSWORD = "a-password-for-tests"
EXAMPLES = Path(__file__).parents[1] / "examples"
EXISTING = [uri for uri in os.environ.get("DRAG_GRAPH_TEST_NEO4J", "").split(",") if uri]


def _versions():
    if EXISTING:
        return EXISTING
    try:
        find_java(release_of("2026"), dict(os.environ))
    except ConfigurationError:
        return ["5.26"]
    return ["5.26", "2026"]


VERSIONS = _versions()
SERVERS = {"_first_server", "neo4j_address", "neo4j_lts", "neo4j_examples"}
"""The fixtures by which a test has the session's Neo4j."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Say what stays together when several workers share the tests (`pytest -n`, xdist).

    All that use the session's Neo4j are one worker's, which alone starts it; of the rest, what is in one module is, and the
    contract as a whole, whose last module asks which statements its process has executed.
    """
    for item in items:
        module = item.nodeid.split("::")[0]
        uses = not SERVERS.isdisjoint(item.fixturenames) or "neo4j" in item.nodeid.lower()
        group = "neo4j" if uses else "contract" if module.startswith("tests/contract/") else module
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(scope="session")
def _first_server(tmp_path_factory):
    yield from _address(VERSIONS[0], tmp_path_factory)


@pytest.fixture(scope="session", params=VERSIONS)
def neo4j_address(request, tmp_path_factory):
    """(address, user name, password) of a Neo4j; once for each version."""
    if request.param == VERSIONS[0]:
        yield request.getfixturevalue("_first_server")
    else:
        yield from _address(request.param, tmp_path_factory)


@pytest.fixture(scope="session")
def neo4j_lts(_first_server):
    """(address, user name, password) of the long-term-support Neo4j alone."""
    return _first_server


@pytest.fixture(scope="session")
def neo4j_examples(neo4j_lts, tmp_path_factory):
    """The namespace of that Neo4j which holds the example questions, distilled and answered by the command line."""
    uri, user, password = neo4j_lts
    namespace = f"examples-{secrets.token_hex(4)}"
    settings = {"STORE": uri, "NAMESPACE": namespace, "EMBEDDER": "lexical"}
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("DRAG_GRAPH_", "NEO4J_"))},
        **{f"DRAG_GRAPH_{name}": value for name, value in settings.items()},
        "PYTHONPATH": str(EXAMPLES.parent),
        "NEO4J_USERNAME": user,
        "NEO4J_PASSWORD": password,
    }
    questions = str(EXAMPLES / "questions.jsonl")
    curated = f"curated:{EXAMPLES / 'curated.jsonl'}"
    for arguments in (["distill", questions, "--teacher", curated], ["ask", "--file", questions, "--mode", "combined"]):
        subprocess.run(
            [sys.executable, "-m", "drag_graph", *arguments],
            env=environment,
            cwd=tmp_path_factory.mktemp("examples"),
            check=True,
            capture_output=True,
        )
    return namespace


def _address(version, tmp_path_factory):
    if version in EXISTING:
        yield version, "neo4j", os.environ.get("DRAG_GRAPH_TEST_NEO4J_PASSWORD", PASSWORD)
        return
    home = tmp_path_factory.mktemp("neo4j")
    with running_server(version, home, password=PASSWORD, environment=dict(os.environ)) as server:
        yield server.bolt_address, "neo4j", PASSWORD


@pytest.fixture(autouse=True)
def _no_settings_of_the_developer(monkeypatch, tmp_path_factory):
    """Tests see the defaults: no variables, and no drag-graph.toml in the working folder."""
    for name in os.environ:
        if name.startswith(("DRAG_GRAPH_", "NEO4J_", "OPENAI_")) and not name.startswith("DRAG_GRAPH_TEST_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def pytest_unconfigure():
    """Model libraries leave connections to servers of the tests for the end of the process to close; that is not news."""
    warnings.simplefilter("ignore", ResourceWarning)
