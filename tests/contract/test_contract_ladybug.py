"""The embedded store passes the contract."""

from contextlib import contextmanager

import pytest
from tampering import statement

from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.testing.stores import HISTORY_FLAWS, GraphStoreContract


class TestLadybugStore(GraphStoreContract):
    examples = 25

    @pytest.fixture
    def path(self, tmp_path):
        return tmp_path / "graph.lbug"

    @pytest.fixture
    def open_store(self, open_ladybug):
        return open_ladybug

    @pytest.fixture
    def unmigrated(self, tmp_path):
        with LadybugStore(tmp_path / "fresh.lbug", namespace="never-migrated") as store:
            yield store

    @pytest.fixture
    def tamper(self, path):
        @contextmanager
        def do(flaw, namespace):
            _execute(path, *statement(flaw, "ladybug", namespace))
            yield
            if flaw in HISTORY_FLAWS:
                _execute(path, *statement(f"{flaw}_undone", "ladybug", namespace))

        return do


def _execute(path, text, parameters):
    import ladybug

    with ladybug.Database(str(path)) as database, ladybug.Connection(database) as connection:
        connection.execute(text, parameters)
