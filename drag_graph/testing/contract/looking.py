"""The part of the suite about the edges of a whole graph (`GraphStore.linked_edges`)."""

from dataclasses import asdict

from drag_graph.model import Aggregation
from drag_graph.ports.graph_store import GraphStore
from drag_graph.testing.builders import random_subgraphs
from drag_graph.testing.contract.base import Contract, assert_same
from drag_graph.testing.dict_store import DictStore

PLAIN = Aggregation()


class LinkedEdgesContract(Contract):
    """`GraphStore.linked_edges` where nothing was linked."""

    def test_the_edges_are_those_of_the_model(self, store: GraphStore, namespace: str) -> None:
        model = DictStore(namespace=namespace)
        model.migrate()
        for each in (store, model):
            each.save(random_subgraphs(8, namespace=namespace, seed=31), PLAIN)
        edges, wanted = (sorted(map(asdict, each.linked_edges()), key=lambda edge: edge["id"]) for each in (store, model))
        assert wanted
        assert_same(edges, wanted)
