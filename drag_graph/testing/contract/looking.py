"""The part of the suite about looking at a whole graph (`drag_graph.manage.graph_statistics`)."""

from dataclasses import asdict

from drag_graph.manage.graph_statistics import components, links, names_of, shared_things, statistics
from drag_graph.model import Aggregation
from drag_graph.ports.graph_store import GraphStore
from drag_graph.testing.builders import make_subgraph, random_subgraphs
from drag_graph.testing.contract.base import Contract, assert_same
from drag_graph.testing.dict_store import DictStore

PLAIN = Aggregation()


class StatisticsContract(Contract):
    """`GraphStore.linked_edges` where nothing was linked, and what is worked out of it."""

    def test_the_figures_are_those_of_the_model(self, store: GraphStore, namespace: str) -> None:
        model = DictStore(namespace=namespace)
        model.migrate()
        for each in (store, model):
            each.save(random_subgraphs(8, namespace=namespace, seed=31), PLAIN)
        edges, wanted = (sorted(map(asdict, each.linked_edges()), key=lambda edge: edge["id"]) for each in (store, model))
        assert wanted
        assert_same(edges, wanted)
        assert shared_things(store.linked_edges(), 5) == []
        figures = statistics(store.linked_edges, store.counts()).to_dict()
        assert_same(figures, statistics(model.linked_edges, model.counts()).to_dict())
        assert sum(int(degree) * number for degree, number in figures["degrees"].items()) == 2 * len(wanted)

    def test_opposites_of_one_pair_are_contradictions(self, store: GraphStore, namespace: str) -> None:
        triples = [
            ("aspirin", "increases", "bleeding", 0.9, 0),
            ("aspirin", "decreases", "bleeding", 0.8, 1),
            ("bleeding", "increases", "aspirin", 0.8, 1),
            ("aspirin", "is not", "a sugar", 0.8, 1),
            ("aspirin", "is", "a sugar", 0.8, 2),
            ("aspirin", "is", "a drug", 0.8, 2),
        ]
        store.save([make_subgraph(namespace=namespace, triples=triples), make_subgraph(2, namespace=namespace)], PLAIN)
        document = statistics(store.linked_edges, store.counts()).to_dict()["contradictions"]
        opposed = {(item["subject"], *item["predicates"], item["object"]) for item in document["examples"]}
        assert opposed == {("aspirin", "decreases", "increases", "bleeding"), ("aspirin", "is", "is not", "a sugar")}
        assert document["number"] == len(opposed)
        edges = {edge.id for edge in store.linked_edges()}
        assert all(edges.issuperset(item["edge_ids"]) and item["edge_ids"] and item["why"] for item in document["examples"])

    def test_only_as_many_contradictions_are_shown_as_are_asked_for(self, store: GraphStore, namespace: str) -> None:
        opposed = [("aspirin", verb, f"thing {n}", 0.9, 0) for n in range(7) for verb in ("increases", "decreases")]
        store.save([make_subgraph(namespace=namespace, triples=opposed)], PLAIN)
        document = statistics(store.linked_edges, store.counts(), 4).to_dict()["contradictions"]
        assert document["number"] == len(opposed) / 2
        every = statistics(store.linked_edges, store.counts(), 100).to_dict()["contradictions"]["examples"]
        assert document["examples"] == every[:4]

    def test_what_hangs_together_is_found(self, store: GraphStore, namespace: str) -> None:
        ring = [(f"n{n}", "touches", f"n{(n + 1) % 4}", 0.9, 0) for n in range(4)]
        store.save(
            [
                make_subgraph(1, namespace=namespace, triples=[*ring, ("a", "touches", "b", 0.9, 1)]),
                make_subgraph(2, namespace=namespace, triples=[("a", "touches", "b", 0.9, 0)]),
            ],
            PLAIN,
        )
        edges = list(links(store.linked_edges()))
        groups = components(edges)
        assert [len(group.members) for group in groups] == [4, 2, 2]
        assert [group.edges for group in groups] == [4, 1, 1]
        names = names_of(store.linked_edges(), groups[0].members)
        assert sorted(names.values()) == ["n0", "n1", "n2", "n3"]
