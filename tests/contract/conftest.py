"""The contract suite is code of the package: its asserts are to be shown as those of a test."""

import pytest

pytest.register_assert_rewrite("drag_graph.testing.contract")


@pytest.fixture
def open_ladybug(tmp_path):
    """Open stores of any namespace on one embedded file."""
    from drag_graph.adapters.ladybug_store import LadybugStore

    stores = []

    def open_(namespace):
        store = LadybugStore(tmp_path / "graph.lbug", namespace=namespace)
        stores.append(store)
        store.migrate()
        return store

    yield open_
    for store in stores:
        store.close()
