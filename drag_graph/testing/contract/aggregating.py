"""The aggregation, held to the plain Python reference (docs/decisions/0003-claims.md)."""

import itertools
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drag_graph.graph.aggregate import aggregate
from drag_graph.model import Aggregation, Merge, Strategy, Subgraph
from drag_graph.ports.graph_store import GraphStore
from drag_graph.testing.builders import Spec, expected, make_subgraph
from drag_graph.testing.contract.base import Contract, assert_same
from drag_graph.testing.contract.strategies import aggregations, subgraphs

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
MERGES: tuple[Merge, ...] = get_args(Merge)
COMBINATIONS = list(itertools.product(STRATEGIES, MERGES))

PARALLEL: tuple[Spec, ...] = (
    ("a", "knows", "b", 0.5, 0),
    ("a", "knows", "b", 0.6, 1),
    ("a", "met", "b", 0.7, 0),
    ("b", "knows", "a", 0.7, 1),
    ("a", "owns", "c", 1.0, 2),
    ("a", "owns", "c", 0.0, 2),
    ("a", "has", "d", 0.65, 1),
    ("a", "sees", "d", 1.0, 3),
)
"""Parallel edges, both directions, confidences of 0 and 1 and at the threshold, and one triple of dropped evidence (3)."""


class AggregationContract(Contract):
    """`aggregate`, and the aggregation within `save`."""

    @pytest.mark.parametrize(("strategy", "merge"), COMBINATIONS)
    def test_parallel_edges_are_merged_as_the_reference_does(
        self, store: GraphStore, namespace: str, strategy: Strategy, merge: Merge
    ) -> None:
        graph = make_subgraph(namespace=namespace, triples=PARALLEL)
        settings = Aggregation(strategy=strategy, merge=merge)
        store.save([graph], settings)
        assert_same(store.read([graph.query.id]), [expected(graph, settings)])

    def test_random_multigraphs_are_merged_as_the_reference_does(self, store: GraphStore, namespace: str) -> None:
        @self.settings()
        @given(data=st.data())
        def check(data: st.DataObject) -> None:
            graph = data.draw(subgraphs(namespace))
            first = data.draw(aggregations())
            second = data.draw(aggregations())
            second = second.model_copy(update={"statements": data.draw(_statements(graph, second))})
            store.save([graph], first)
            assert_same(store.read([graph.query.id]), [expected(graph, first)])
            store.aggregate([graph.query.id], second)
            assert_same(store.read([graph.query.id]), [expected(graph, second)])

        check()

    @pytest.mark.parametrize("strategy", STRATEGIES)
    def test_a_weak_claim_is_pruned_beside_a_strong_one_of_its_pair(
        self, store: GraphStore, namespace: str, strategy: Strategy
    ) -> None:
        graph = make_subgraph(namespace=namespace, triples=_aspirin(0.1, 0.9))
        store.save([graph], Aggregation(strategy=strategy))
        (subgraph,) = store.read([graph.query.id])
        assert [(edge.statement, edge.confidence, edge.contradicts) for edge in subgraph.edges] == [
            ("aspirin increases the risk of bleeding", 0.9, ())
        ]
        assert [triple.opposes for triple in subgraph.triples] == [("increases_the_risk_of",), ("reduces",)]

    def test_a_whole_pair_is_one_edge_that_names_itself_where_its_claims_contradict_each_other(
        self, store: GraphStore, namespace: str
    ) -> None:
        graph = make_subgraph(namespace=namespace, triples=[*_aspirin(0.8, 0.8), ("aspirin", "is", "an acid", 0.8, 2)])
        settings = Aggregation(strategy="whole-pair")
        store.save([graph], settings)
        (subgraph,) = store.read([graph.query.id])
        assert_same(subgraph, expected(graph, settings))
        assert [(edge.statement, edge.contradicts == (edge.id,)) for edge in subgraph.edges] == [
            ("aspirin reduces bleeding; aspirin increases the risk of bleeding", True),
            ("aspirin is an acid", False),
        ]

    @pytest.mark.parametrize("strategy", ["pair", "predicate"])
    def test_claims_that_contradict_each_other_are_edges_that_name_each_other(
        self, store: GraphStore, namespace: str, strategy: Strategy
    ) -> None:
        triples = [*_aspirin(0.8, 0.8), ("aspirin", "prolongs", "bleeding", 0.8, 2), ("aspirin", "affects", "bleeding", 0.8, 2)]
        graph = make_subgraph(namespace=namespace, triples=triples)
        settings = Aggregation(strategy=strategy)
        store.save([graph], settings)
        (subgraph,) = store.read([graph.query.id])
        assert_same(subgraph, expected(graph, settings))
        first, second, *more_edges = subgraph.edges
        assert (first.contradicts, second.contradicts) == ((second.id,), (first.id,))
        assert [edge.contradicts for edge in more_edges] == ([()] if strategy == "pair" else [(), ()])
        store.aggregate([graph.query.id], settings.model_copy(update={"top_k": 1}))
        ((edge,),) = [item.edges for item in store.read([graph.query.id])]
        assert (edge.id, edge.contradicts) == (first.id, ())

    @pytest.mark.parametrize("strategy", STRATEGIES)
    def test_claims_of_one_subject_with_different_numbers_are_edges_that_name_each_other(
        self, store: GraphStore, namespace: str, strategy: Strategy
    ) -> None:
        triples: list[Spec] = [
            ("Orchid", "has a budget of", "4 M euros", 0.9, 0),
            ("Orchid", "spends", "4 M euros", 0.9, 0),
            ("Orchid", "has a budget of", "5 M euros", 0.9, 1),
            ("Tulip", "has a budget of", "5 M euros", 0.9, 1),
            ("Orchid", "is led by", "Noor", 0.9, 2),
        ]
        graph = make_subgraph(namespace=namespace, triples=triples)
        settings = Aggregation(strategy=strategy)
        store.save([graph], settings)
        (subgraph,) = store.read([graph.query.id])
        assert_same(subgraph, expected(graph, settings))
        old, new, *agreed = (edge for edge in subgraph.edges if edge.predicates != ("spends",))
        assert (old.contradicts, new.contradicts) == ((new.id,), (old.id,))
        assert not any(edge.contradicts for edge in agreed)
        for change in ({"top_k": 1}, {"threshold": 1.0}):
            changed = settings.model_copy(update=change)
            store.aggregate([graph.query.id], changed)
            assert_same(store.read([graph.query.id]), [expected(graph, changed)])
            assert not any(edge.contradicts for edge in store.read([graph.query.id])[0].edges)
        assert [len(edge.contradicts) for edge in subgraph.model_copy(update={"graph": "multigraph"}).usable_edges] == [
            1,
            0,
            1,
            0,
            0,
        ]

    @pytest.mark.parametrize("merge", MERGES)
    def test_an_evidence_counts_once_a_teacher_and_teachers_strengthen_each_other(
        self, store: GraphStore, namespace: str, merge: Merge
    ) -> None:
        triples: list[Spec] = [("a", "is", "b", 0.5, 0), ("a", "is", "b", 0.4, 0), ("a", "is", "b", 0.6, 0)]
        one = make_subgraph("one", namespace=namespace, triples=triples, teachers=[0, 0, 0])
        two = make_subgraph("two", namespace=namespace, triples=triples, teachers=[0, 0, 1])
        settings = Aggregation(merge=merge, threshold=0.0)
        store.save([one, two], settings)
        confidences = [item.edges[0].confidence for item in store.read([one.query.id, two.query.id])]
        assert confidences == [pytest.approx(0.6), pytest.approx(0.8)]

    def test_aggregating_again_never_touches_a_triple(self, store: GraphStore, namespace: str) -> None:
        graph = make_subgraph(namespace=namespace, triples=PARALLEL)
        other = make_subgraph("other", namespace=namespace, triples=PARALLEL)
        store.save([graph, other], Aggregation())
        before = _without_edges(store)
        for strategy, merge in COMBINATIONS:
            for threshold in (0.0, 1.0):
                settings = Aggregation(strategy=strategy, merge=merge, threshold=threshold, top_k=1)
                store.aggregate([graph.query.id], settings)
                wanted = [expected(graph, settings), expected(other, Aggregation())]
                assert_same(store.read([graph.query.id, other.query.id]), wanted)
                assert _without_edges(store) == before
        store.aggregate([graph.query.id], Aggregation())
        assert_same(store.read([graph.query.id]), [expected(graph, Aggregation())])

    def test_many_queries_are_aggregated_at_once(self, store: GraphStore, namespace: str) -> None:
        graphs = [make_subgraph(number, namespace=namespace, triples=PARALLEL) for number in range(5)]
        settings = Aggregation(strategy="predicate", merge="mean", threshold=0.6)
        store.save(graphs, Aggregation())
        store.aggregate(["missing", *(graph.query.id for graph in graphs[1:])], settings)
        wanted = [expected(graphs[0], Aggregation()), *(expected(graph, settings) for graph in graphs[1:])]
        assert_same(store.read([graph.query.id for graph in graphs]), wanted)
        assert store.verify() == []

    def test_an_edge_below_the_threshold_goes_and_one_at_it_stays(self, store: GraphStore, namespace: str) -> None:
        triples: list[Spec] = [("a", "is", "b", 0.7, 0), ("a", "is", "c", 0.699, 0), ("a", "is", "d", 0.701, 1)]
        # In floats the mean of these is 0.7 but for the last bits, below or above.
        triples += [("a", "is", "e", confidence, 1) for confidence in (0.6, 0.7, 0.8)]
        graph = make_subgraph(namespace=namespace, triples=triples)
        store.save([graph], Aggregation(merge="mean"))
        (subgraph,) = store.read([graph.query.id])
        assert [edge.object for edge in subgraph.edges] == ["b", "d", "e"]
        assert [edge.rank for edge in subgraph.edges] == [0, 1, 2]

    def test_merging_comes_before_pruning(self, store: GraphStore, namespace: str) -> None:
        """Two weak sources that agree make one strong edge; pruned one by one, neither would be left."""
        graph = make_subgraph(namespace=namespace, triples=[("a", "is", "b", 0.5, 0), ("a", "is", "b", 0.5, 1)])
        store.save([graph], Aggregation(merge="noisy-or"))
        (subgraph,) = store.read([graph.query.id])
        assert [edge.support for edge in subgraph.edges] == [2]
        assert subgraph.edges[0].confidence == pytest.approx(0.75)

    def test_where_pruning_leaves_nothing_the_raw_multigraph_is_used(self, store: GraphStore, namespace: str) -> None:
        graph = make_subgraph(namespace=namespace, triples=[("a", "is", "b", 0.2, 0), ("b", "is", "a", 0.1, 1)])
        store.save([graph], Aggregation())
        (subgraph,) = store.read([graph.query.id])
        assert (subgraph.graph, subgraph.edges) == ("multigraph", ())
        assert [edge.id for edge in subgraph.usable_edges] == [triple.id for triple in subgraph.triples]
        store.aggregate([graph.query.id], Aggregation(threshold=0.15))
        (subgraph,) = store.read([graph.query.id])
        assert (subgraph.graph, len(subgraph.edges)) == ("simple", 1)

    def test_without_a_triple_of_kept_evidence_there_is_evidence_only(self, store: GraphStore, namespace: str) -> None:
        bare = make_subgraph("bare", namespace=namespace, triples=())
        unkept = make_subgraph("unkept", namespace=namespace, triples=[("a", "is", "b", 1.0, 3)])
        store.save([bare, unkept], Aggregation())
        subgraphs_read = store.read([bare.query.id, unkept.query.id])
        assert [(graph.graph, graph.edges) for graph in subgraphs_read] == [("evidence_only", ())] * 2
        assert len(subgraphs_read[1].triples) == 1

    def test_a_teachers_sentence_takes_the_place_of_the_joined_one(self, store: GraphStore, namespace: str) -> None:
        graph = make_subgraph(namespace=namespace, triples=PARALLEL)
        settings = Aggregation(threshold=0.0)
        first, second, *_ = aggregate(graph, settings)[0]
        # An empty sentence is none.
        empty = settings.model_copy(update={"statements": {first.id: ""}})
        store.save([graph], empty)
        assert store.read([graph.query.id])[0].edges[0].statement == first.statement
        store.erase([graph.query.id])
        sentence = "A knows B; }) DETACH DELETE n // 'so' \"it\" says $x."
        settings = settings.model_copy(update={"statements": {first.id: sentence, "no-such-edge": "never shown"}})
        store.save([graph], settings)
        (subgraph,) = store.read([graph.query.id])
        assert [edge.statement for edge in subgraph.edges[:2]] == [sentence, second.statement]
        store.aggregate([graph.query.id], Aggregation(threshold=0.0))
        assert store.read([graph.query.id])[0].edges[0].statement == first.statement

    def test_the_best_edges_are_kept(self, store: GraphStore, namespace: str) -> None:
        triples: list[Spec] = [("a", "is", f"thing {number}", 0.9, 0) for number in range(6)]
        graph = make_subgraph(namespace=namespace, triples=triples, ranks=[5, 0, 4, 1, 3, 2])
        store.save([graph], Aggregation(top_k=3))
        (subgraph,) = store.read([graph.query.id])
        assert [edge.object for edge in subgraph.edges] == ["thing 1", "thing 3", "thing 5"]

    def test_equal_ranks_are_put_in_order_by_confidence_then_id(self, store: GraphStore, namespace: str) -> None:
        confidences = (0.75, 1.0, 0.75, 0.875, 1.0, 0.875)
        triples: list[Spec] = [("a", "is", f"thing {n}", confidence, 0) for n, confidence in enumerate(confidences)]
        triples += [("a", "may be", "thing 0", 0.75, 1)]
        graph = make_subgraph(namespace=namespace, triples=triples, ranks=[0] * len(triples))
        store.save([graph], Aggregation())
        for settings in (Aggregation(), Aggregation(strategy="predicate", top_k=4)):
            store.aggregate([graph.query.id], settings)
            assert_same(store.read([graph.query.id]), [expected(graph, settings)])


def _aspirin(reduces: float, increases: float) -> list[Spec]:
    return [("aspirin", "reduces", "bleeding", reduces, 0), ("aspirin", "increases the risk of", "bleeding", increases, 1)]


def _statements(graph: Subgraph, settings: Aggregation) -> st.SearchStrategy[dict[str, str]]:
    """Draw sentences for some of the edges that these settings make."""
    edges, _ = aggregate(graph, settings)
    if not edges:
        return st.just({})
    ids = st.sampled_from([edge.id for edge in edges])
    return st.dictionaries(ids, st.sampled_from(("A sentence.", "$x }) DETACH DELETE n //")), max_size=2)


def _without_edges(store: GraphStore) -> list[str]:
    """Everything that is stored but the simple edges, and what they make of a query."""
    edge_ids = []
    for record in store.records():
        if record.get("type") != "RELATED":
            properties = {key: value for key, value in record["properties"].items() if key != "graph"}
            edge_ids.append(repr(sorted({**record, "properties": sorted(properties.items())}.items())))
    return sorted(edge_ids)
