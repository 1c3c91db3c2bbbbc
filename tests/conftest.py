"""Fixtures for all tests: a real Neo4j for the session, and an environment without settings of the developer's own.

`neo4j_address` starts 5.26 LTS, and 2026 too where a Java 21 or newer is found; where Java or Maven is missing, the tests
fail with the sentence that says how to get them. DRAG_GRAPH_TEST_NEO4J=bolt://…[,bolt://…] with DRAG_GRAPH_TEST_NEO4J_PASSWORD uses
servers that run already.
"""

import os

import pytest

from drag_graph.adapters.neo4j_server import running_server
from drag_graph.adapters.neo4j_server.java import find_java
from drag_graph.adapters.neo4j_server.releases import release_of
from drag_graph.errors import ConfigurationError

PASSWORD = "a-password-for-tests"
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


@pytest.fixture
def neo4j_lts(_first_server):
    """(address, user name, password) of the long-term-support Neo4j alone."""
    return _first_server


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
