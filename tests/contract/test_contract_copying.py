"""The embedded store passes what the contract says of saving when even one subgraph goes in by COPY."""

import pytest

from drag_graph.adapters import ladybug_store
from drag_graph.adapters.ladybug_store import LadybugStore
from drag_graph.testing.contract.saving import SavingContract


class TestCopying(SavingContract):
    examples = 2

    @pytest.fixture(autouse=True)
    def copied_from(self, monkeypatch):
        monkeypatch.setattr(ladybug_store, "COPIED_FROM", 1)

    @pytest.fixture
    def open_store(self, tmp_path):
        stores = []

        def open_(namespace):
            store = LadybugStore(tmp_path / "graph.lbug", namespace=namespace)
            stores.append(store)
            store.migrate()
            return store

        yield open_
        for store in stores:
            store.close()
