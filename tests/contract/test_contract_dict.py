"""The store in memory passes the contract: what is tested above it is tested above a store."""

from contextlib import contextmanager
from dataclasses import replace

import pytest

from drag_graph.model import Subgraph
from drag_graph.ports.graph_store import Migration
from drag_graph.testing.dict_store import DictDatabase, DictStore
from drag_graph.testing.stores import HISTORY_FLAWS, GraphStoreContract


class TestDictStore(GraphStoreContract):
    examples = 50

    @pytest.fixture
    def database(self):
        return DictDatabase()

    @pytest.fixture
    def open_store(self, database):
        def open_(namespace):
            store = DictStore(database, namespace=namespace)
            store.migrate()
            return store

        return open_

    @pytest.fixture
    def unmigrated(self):
        return DictStore(namespace="never-migrated")

    @pytest.fixture
    def tamper(self, database):
        @contextmanager
        def do(flaw, namespace):
            history = list(database.history)
            if flaw in HISTORY_FLAWS:
                newer = [*history, Migration(9999, "future", "unknown")]
                database.history[:] = newer if flaw == "newer" else [replace(history[0], checksum="changed"), *history[1:]]
            else:
                content = database.namespaces[namespace]
                if flaw == "aggregation_gone":
                    content.aggregations.clear()
                elif flaw == "dangling_answer":
                    gone = {"source_ids": ("missing",)}
                    content.answers = {id_: answer.model_copy(update=gone) for id_, answer in content.answers.items()}
                else:
                    content.subgraphs = {id_: FLAWED[flaw](graph) for id_, graph in content.subgraphs.items()}
            yield
            database.history[:] = history

        return do


def _with(name: str, **change: object):
    def flawed(graph: Subgraph) -> Subgraph:
        return graph.model_copy(update={name: tuple(item.model_copy(update=change) for item in getattr(graph, name))})

    return flawed


FLAWED = {
    "evidence_gone": _with("triples", evidence_id="missing"),
    "call_gone": _with("triples", call_ids=("missing",)),
    "orphan": _with("entities", source_id="missing"),
    "provenance_gone": _with("evidence", call_ids=("missing",)),
    "dangling_edge": _with("edges", triple_ids=("missing",)),
}
