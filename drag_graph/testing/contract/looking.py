"""The part of the suite about looking at a whole graph (`drag_graph.statistics`)."""

from drag_graph.model import Aggregation
from drag_graph.ports import GraphStore
from drag_graph.statistics import communities, components, statistics
from drag_graph.testing.builders import make_answer, make_subgraph, random_subgraphs
from drag_graph.testing.contract.base import Contract, assert_same
from drag_graph.testing.dict_store import DictStore

PLAIN = Aggregation()


class StatisticsContract(Contract):
    """Everything of `drag_graph.statistics.StatisticsStore` but what was linked."""

    def test_the_figures_are_those_of_the_model(self, store: GraphStore, namespace: str) -> None:
        model = DictStore(namespace=namespace)
        model.migrate()
        for each in (store, model):
            graphs = random_subgraphs(8, namespace=namespace, seed=31)
            each.save(graphs, PLAIN)
            shown = next(graph for graph in graphs if graph.kept_evidence)
            each.save_answers([make_answer(1, [shown], namespace=namespace, refs=[("evidence", shown.kept_evidence[0].id)])])
        assert store.statistics.degrees() == model.statistics.degrees()
        assert_same(
            [vars_of(item) for item in store.statistics.weakest(5)], [vars_of(item) for item in model.statistics.weakest(5)]
        )
        assert store.statistics.shared(5) == []
        edges, wanted = (sorted(each.statistics.edges()) for each in (store, model))
        assert wanted
        assert_same(edges, wanted)
        assert _said(store) == _said(model) != []
        number, unused = model.statistics.unused(3)
        assert number > len(unused) > 0
        assert store.statistics.unused(3) == (number, unused)
        assert store.statistics.broken() == 0
        assert_same(statistics(store.statistics, store.counts()), statistics(model.statistics, model.counts()))

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
        found = statistics(store.statistics, store.counts())["contradictions"]
        told = {(item["subject"], *item["predicates"], item["object"]) for item in found["examples"]}
        assert told == {("aspirin", "decreases", "increases", "bleeding"), ("aspirin", "is", "is not", "a sugar")}
        assert found["number"] == len(told)
        assert all(len(set(item["triple_ids"])) == len(item["predicates"]) and item["why"] for item in found["examples"])

    def test_only_as_many_contradictions_are_held_as_are_shown(self, store: GraphStore, namespace: str) -> None:
        opposed = [("aspirin", verb, f"thing {n}", 0.9, 0) for n in range(9) for verb in ("increases", "decreases")]
        store.save([make_subgraph(namespace=namespace, triples=opposed)], PLAIN)
        found = statistics(store.statistics, store.counts(), 4)["contradictions"]
        assert found["number"] == len(opposed) / 2
        every = statistics(store.statistics, store.counts(), 100)["contradictions"]["examples"]
        assert found["examples"] == every[:4]

    def test_what_hangs_together_is_found(self, store: GraphStore, namespace: str) -> None:
        ring = [(f"n{n}", "touches", f"n{(n + 1) % 4}", 0.9, 0) for n in range(4)]
        store.save(
            [
                make_subgraph(1, namespace=namespace, triples=[*ring, ("a", "touches", "b", 0.9, 1)]),
                make_subgraph(2, namespace=namespace, triples=[("a", "touches", "b", 0.9, 0)]),
            ],
            PLAIN,
        )
        edges = list(store.statistics.edges())
        found = components(edges)
        assert [len(group.members) for group in found] == [4, 2, 2]
        assert [group.edges for group in found] == [4, 1, 1]
        names = store.statistics.names(found[0].members)
        assert sorted(names.values()) == ["n0", "n1", "n2", "n3"]
        assert [group.members for group in communities(edges)] == [group.members for group in found]


def _said(store: GraphStore) -> list[tuple[str, str, list[tuple[str, list[str]]]]]:
    said = store.statistics.said()
    return sorted((item.source, item.target, sorted((k, sorted(v)) for k, v in item.triple_ids.items())) for item in said)


def vars_of(item: object) -> dict[str, object]:
    """Return the fields of a value with slots."""
    return {name: getattr(item, name) for name in type(item).__slots__}  # type: ignore[attr-defined]
