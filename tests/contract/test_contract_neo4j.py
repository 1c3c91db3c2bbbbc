"""The store in Neo4j passes the contract, on every server that the tests are given."""

from contextlib import contextmanager

import neo4j
import pytest
from tampering import statement

from drag_graph.stores.neo4j.neo4j_store import Neo4jStore
from drag_graph.testing.stores import HISTORY_FLAWS, GraphStoreContract

pytestmark = pytest.mark.neo4j


@pytest.fixture(scope="module")
def driver(neo4j_address):
    uri, username, password = neo4j_address
    with neo4j.GraphDatabase.driver(uri, auth=(username, password)) as driver:
        for name in HISTORY_FLAWS:  # that a run which was killed may have left
            _execute(driver, f"{name}_undone")
        yield driver


class TestNeo4jStore(GraphStoreContract):
    examples = 8

    @pytest.fixture
    def open_store(self, driver, open_neo4j):  # the driver undoes what a killed run may have left
        return open_neo4j

    @pytest.fixture
    def unmigrated(self, neo4j_address, driver, namespace):
        """A server has one database, so its history is forgotten; the migrations find what they make there already."""
        uri, username, password = neo4j_address
        _execute(driver, "history_gone")
        with Neo4jStore(uri, username=username, password=password, namespace=namespace) as store:
            yield store
            store.migrate()
        _execute(driver, "namespace_gone", namespace)

    @pytest.fixture
    def tamper(self, driver):
        @contextmanager
        def do(flaw, namespace):
            _execute(driver, flaw, namespace)
            try:
                yield
            finally:
                if flaw in HISTORY_FLAWS:
                    _execute(driver, f"{flaw}_undone")

        return do


def _execute(driver, name, namespace=""):
    text, parameters = statement(name, "neo4j", namespace)
    driver.execute_query(text, parameters)
