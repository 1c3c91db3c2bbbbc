"""The contract suite is code of the package: its asserts are to be shown as those of a test."""

import shutil
from contextlib import contextmanager

import neo4j
import pytest
from tampering import statement

pytest.register_assert_rewrite("drag_graph.testing.contract")


def pytest_collection_modifyitems(items):
    """What touches the history of migrations has a shared server to itself: no store can be opened there meanwhile."""
    from drag_graph.testing.stores import HISTORY_FLAWS

    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        if "unmigrated" in item.fixturenames or parameters.get("flaw") in HISTORY_FLAWS:
            item.add_marker(pytest.mark.alone)


@pytest.fixture(scope="session")
def _empty_ladybug(tmp_path_factory):
    """An embedded file that has the schema: copying it takes a tenth of the time of migrating a new one."""
    from drag_graph.stores.ladybug.ladybug_store import LadybugStore

    path = tmp_path_factory.mktemp("empty") / "graph.lbug"
    with LadybugStore(path, namespace="nobody") as store:
        store.migrate()
    return path


@pytest.fixture
def open_ladybug(tmp_path, _empty_ladybug):
    """Open stores of any namespace on one embedded file."""
    from drag_graph.stores.ladybug.ladybug_store import LadybugStore

    shutil.copy(_empty_ladybug, tmp_path / "graph.lbug")
    with _opening(lambda namespace: LadybugStore(tmp_path / "graph.lbug", namespace=namespace)) as (open_, _):
        yield open_


@pytest.fixture
def open_neo4j(neo4j_address):
    """Open stores of any namespace on the server; what is in these namespaces is gone afterwards."""
    from drag_graph.stores.neo4j.neo4j_store import Neo4jStore

    uri, username, password = neo4j_address
    login = {"username": username, "password": password}
    with _opening(lambda namespace: Neo4jStore(uri, **login, namespace=namespace)) as (open_, namespaces):
        yield open_
    with neo4j.GraphDatabase.driver(uri, auth=(username, password)) as driver:
        for namespace in namespaces:
            driver.execute_query(*statement("namespace_gone", "neo4j", namespace))


@contextmanager
def _opening(make):
    """Give what opens and migrates the store that `make` makes of a namespace, and the set of namespaces; close all."""
    stores, namespaces = [], set()

    def open_(namespace):
        store = make(namespace)
        stores.append(store)
        namespaces.add(namespace)
        store.migrate()
        return store

    yield open_, namespaces
    for store in stores:
        store.close()
