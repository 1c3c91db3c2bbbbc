"""The contract suite is code of the package: its asserts are to be shown as those of a test."""

import os

import pytest

pytest.register_assert_rewrite("drag_graph.testing.contract")

SERVERS = os.environ.get("DRAG_GRAPH_TEST_NEO4J", "bolt://127.0.0.1:7687,bolt://127.0.0.1:7688").split(",")


@pytest.fixture(scope="session", params=SERVERS)
def neo4j_address(request):
    """Address, user name and password of a Neo4j server for tests."""
    return request.param, "neo4j", os.environ.get("DRAG_GRAPH_TEST_NEO4J_PASSWORD", "devpassword1")
