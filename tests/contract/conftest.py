"""The contract suite is code of the package: its asserts are to be shown as those of a test."""

import shutil
from contextlib import contextmanager
from pathlib import Path

import neo4j
import pytest
from tampering import statement
from workers import WHOLE, note_executed, shared_folder

from drag_graph.stores.shared import cypher_files

FOLDER = Path(__file__).parent

pytest.register_assert_rewrite("drag_graph.testing.contract")


def pytest_collection_modifyitems(items):
    """What touches the history of migrations has a shared server to itself: no store can be opened there meanwhile."""
    from drag_graph.testing.stores import HISTORY_FLAWS

    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        if "unmigrated" in item.fixturenames or parameters.get("flaw") in HISTORY_FLAWS:
            item.add_marker(pytest.mark.alone)


_deselected = []
_known = set()
"""The statements that tests of this folder have executed in this process."""


def pytest_deselected(items):
    """Note which tests of this folder are left out."""
    _deselected.extend(item for item in items if FOLDER in item.path.parents and not item.get_closest_marker("neo4j_2026"))


def pytest_collection_finish(session):
    """Mark the run if it has the whole contract: at its end, every statement must have been executed."""
    selected = {item.path for item in session.items}
    is_whole = selected.issuperset(FOLDER.glob("test_*.py")) and not _deselected
    if is_whole and not any("::" in argument for argument in session.config.args):
        (shared_folder(session.config) / WHOLE).touch()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Note which statements a test of this folder and its fixtures execute."""
    if FOLDER not in item.path.parents:
        return (yield)
    cypher_files.executed.clear()
    try:
        return (yield)
    finally:
        note_executed(item.config, _known)


@pytest.fixture(scope="session")
def _empty_ladybug(tmp_path_factory):
    """An embedded file that has the schema: copying it takes a tenth of the time of migrating a new one."""
    from drag_graph.stores.ladybug.ladybug_store import LadybugStore

    path = tmp_path_factory.mktemp("empty") / "graph.lbug"
    with LadybugStore(path, namespace="nobody") as store:
        store.migrate()
    return path


@pytest.fixture(scope="module")
def _shared_ladybug(tmp_path_factory, _empty_ladybug):
    """An embedded file that stays open for the tests of a module, as a server does: the engine keeps its plans."""
    from drag_graph.stores.ladybug.ladybug_store import LadybugStore

    path = Path(shutil.copy(_empty_ladybug, tmp_path_factory.mktemp("shared")))
    with LadybugStore(path, namespace="nobody") as store:
        store.migrate()
        yield path


@pytest.fixture
def open_ladybug(request, tmp_path, _empty_ladybug):
    """Open stores of any namespace on one embedded file: on the shared one, unless the test tampers with it."""
    from drag_graph.stores.ladybug.ladybug_store import LadybugStore

    is_own = "tamper" in request.fixturenames
    path = Path(shutil.copy(_empty_ladybug, tmp_path)) if is_own else request.getfixturevalue("_shared_ladybug")
    with _opening(lambda namespace: LadybugStore(path, namespace=namespace)) as (open_, _):
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
