"""The embedded store passes what the contract says of saving when even one subgraph goes in by COPY."""

import pytest

from drag_graph.adapters import ladybug_store
from drag_graph.testing.contract.saving import SavingContract


class TestCopying(SavingContract):
    examples = 2

    @pytest.fixture(autouse=True)
    def copied_from(self, monkeypatch):
        monkeypatch.setattr(ladybug_store, "COPIED_FROM", 1)

    @pytest.fixture
    def open_store(self, open_ladybug):
        return open_ladybug
