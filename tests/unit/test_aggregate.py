"""The reference itself: small cases by hand, and what must hold of any multigraph."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drag_graph.graph.aggregate import TOLERANCE, aggregate, claims_of, joined_statement, merge_confidence
from drag_graph.model import Aggregation
from drag_graph.testing.builders import make_subgraph
from drag_graph.testing.contract.strategies import aggregations, subgraphs

ASPIRIN = [("aspirin", "reduces", "bleeding", 0.1, 0), ("aspirin", "increases the risk of", "bleeding", 0.9, 1)]


def edges_of(triples, ranks=None, dropped=(), teachers=None, **settings):
    graph = make_subgraph(triples=triples, ranks=ranks, dropped=dropped, teachers=teachers)
    return aggregate(graph, Aggregation(**settings))


@pytest.mark.parametrize(
    ("merge", "confidences", "wanted"),
    [
        ("max", [0.2, 0.9, 0.5], 0.9),
        ("mean", [0.2, 0.9, 0.4], 0.5),
        ("noisy-or", [0.5, 0.5], 0.75),
        ("noisy-or", [0.5, 1.0], 1.0),
        ("noisy-or", [0.0, 0.0], 0.0),
        ("noisy-or", [0.3, 0.0], 0.3),
        *[(merge, [c], c) for merge in ("max", "mean", "noisy-or") for c in (0.0, 0.625, 1.0)],
    ],
)
def test_confidences_are_merged(merge, confidences, wanted):
    assert merge_confidence(confidences, merge) == pytest.approx(wanted, abs=1e-12)


@settings(deadline=None)
@given(confidences=st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_merges_keep_to_their_range_and_order(confidences):
    highest, mean, any_right = (merge_confidence(confidences, merge) for merge in ("max", "mean", "noisy-or"))
    assert min(confidences) <= mean + 1e-12
    assert mean <= highest + 1e-12
    assert highest == max(confidences)
    assert highest <= any_right + 1e-12
    assert 0 <= any_right <= 1


def test_direction_makes_another_edge():
    edges, kind = edges_of([("a", "is", "b", 0.9, 0), ("b", "is", "a", 0.8, 1)])
    assert [(edge.subject, edge.object, edge.confidence) for edge in edges] == [("a", "b", 0.9), ("b", "a", 0.8)]
    assert kind == "simple"


def test_a_pair_is_one_edge_of_all_its_claims_with_one_clause_a_claim():
    triples = [("a", "is_a", "b", 0.9, 1), ("a", "likes", "b", 0.8, 0), ("a", "Is A", "b", 0.8, 1)]
    ((edge,), _) = edges_of(triples, ranks=[2, 0, 1])
    graph = make_subgraph(triples=triples, ranks=[2, 0, 1])
    assert edge.id == f"{edge.subject_id}-{edge.object_id}"
    assert edge.statement == "a likes b; a Is A b"
    assert edge.predicates == ("likes", "Is A")
    assert edge.triple_ids == tuple(triple.id for triple in graph.triples)
    assert edge.evidence_ids == (graph.evidence[0].id, graph.evidence[1].id)
    assert (edge.support, edge.confidence, edge.rank, edge.contradicts) == (3, 0.9, 0, ())


def test_predicates_are_told_apart_by_their_key():
    triples = [("a", "is a", "b", 0.9, 0), ("a", "likes", "b", 0.8, 0), ("a", "Is_A", "b", 0.7, 1)]
    edges, _ = edges_of(triples, strategy="predicate")
    pair = f"{edges[0].subject_id}-{edges[0].object_id}"
    assert [edge.id for edge in edges] == [f"{pair}-is_a", f"{pair}-likes"]
    assert [edge.predicates for edge in edges] == [("is a",), ("likes",)]
    assert edges[0].statement == "a is a b"


def test_what_reads_the_same_is_said_once():
    assert joined_statement("a", ["is a", "is_a", "likes"], "b") == "a is a b; a likes b"


@pytest.mark.parametrize("merge", ["max", "mean", "noisy-or"])
@pytest.mark.parametrize("strategy", ["pair", "whole-pair", "predicate"])
def test_a_weak_claim_does_not_borrow_the_confidence_of_a_strong_one(strategy, merge):
    edges, _ = edges_of([*ASPIRIN, ("aspirin", "thins", "bleeding", 0.6, 1)], strategy=strategy, merge=merge)
    ((statement, confidence, contradicts),) = [(edge.statement, edge.confidence, edge.contradicts) for edge in edges]
    assert (statement, contradicts) == ("aspirin increases the risk of bleeding", ())
    assert confidence == pytest.approx(0.9)


@pytest.mark.parametrize("strategy", ["pair", "predicate"])
def test_claims_that_contradict_each_other_are_edges_that_name_each_other(strategy):
    triples = [(s, p, o, 0.8, n) for s, p, o, _, n in ASPIRIN] + [("aspirin", "prolongs", "bleeding", 0.75, 1)]
    edges, _ = edges_of(triples, strategy=strategy)
    pair = f"{edges[0].subject_id}-{edges[0].object_id}"
    assert [(edge.id, edge.statement, edge.confidence) for edge in edges] == [
        (f"{pair}-reduces", "aspirin reduces bleeding", 0.8),
        (f"{pair}-increases_the_risk_of", "aspirin increases the risk of bleeding", 0.8),
        (pair if strategy == "pair" else f"{pair}-prolongs", "aspirin prolongs bleeding", 0.75),
    ]
    assert [edge.contradicts for edge in edges] == [(edges[1].id,), (edges[0].id,), ()]
    ((first,), _) = edges_of(triples, strategy=strategy, top_k=1)
    assert first.contradicts == (), "an edge that was cut is not named"


def test_a_whole_pair_is_one_edge_that_names_itself_where_its_claims_contradict_each_other():
    triples = [*ASPIRIN, ("aspirin", "prolongs", "bleeding", 0.75, 1), ("aspirin", "is", "an acid", 0.9, 1)]
    (disputed, plain), _ = edges_of(triples, strategy="whole-pair", threshold=0.0)
    assert (disputed.id, disputed.contradicts) == (f"{disputed.subject_id}-{disputed.object_id}", (disputed.id,))
    assert disputed.predicates == ("reduces", "increases the risk of", "prolongs")
    assert plain.contradicts == ()


def test_the_two_directions_of_a_pair_do_not_contradict_each_other():
    edges, _ = edges_of([("a", "reduces", "b", 0.9, 0), ("b", "increases", "a", 0.9, 1)])
    assert [edge.contradicts for edge in edges] == [(), ()]


@pytest.mark.parametrize(("merge", "wanted"), [("max", 0.6), ("mean", 0.55), ("noisy-or", 0.8)])
def test_an_evidence_counts_once_by_its_best_triple(merge, wanted):
    triples = [("a", "is", "b", 0.1, 0), ("a", "is", "b", 0.6, 0), ("a", "is", "b", 0.5, 1)]
    ((edge,), _) = edges_of(triples, merge=merge, threshold=0.0)
    assert (edge.confidence, edge.support) == (pytest.approx(wanted), 3)


@pytest.mark.parametrize("merge", ["max", "mean", "noisy-or"])
def test_teachers_who_agree_strengthen_a_claim(merge):
    triples = [("a", "is", "b", 0.5, 0), ("a", "is", "b", 0.6, 0)]
    ((edge,), _) = edges_of(triples, teachers=[0, 1], merge=merge, threshold=0.0)
    assert edge.confidence == pytest.approx(0.8)
    ((edge,), _) = edges_of(triples, teachers=[1, 1], merge=merge, threshold=0.0)
    assert edge.confidence == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("confidence", "kind"), [(0.7, "simple"), (0.7 - TOLERANCE / 2, "simple"), (0.7 - TOLERANCE * 2, "multigraph")]
)
def test_the_threshold_itself_stays(confidence, kind):
    edges, found = edges_of([("a", "is", "b", confidence, 0)])
    assert (found, len(edges)) == (kind, int(kind == "simple"))


def test_merging_comes_before_pruning():
    triples = [("a", "is", "b", 0.5, 0), ("a", "is", "b", 0.5, 1)]
    assert edges_of(triples, merge="max") == ([], "multigraph")
    ((edge,), kind) = edges_of(triples, merge="noisy-or")
    assert (edge.confidence, edge.support, kind) == (0.75, 2, "simple")
    ((edge,), _) = edges_of([*triples, ("a", "is", "b", 1.0, 2)], merge="max")
    assert edge.support == 3


def test_triples_of_dropped_evidence_take_no_part():
    triples = [("a", "is", "b", 0.9, 0), ("a", "was", "b", 1.0, 1), ("a", "is", "c", 1.0, 1)]
    ((edge,), kind) = edges_of(triples, dropped=[1])
    assert (edge.statement, edge.confidence, kind) == ("a is b", 0.9, "simple")
    assert edges_of(triples, dropped=[0, 1]) == ([], "evidence_only")
    assert edges_of([]) == ([], "evidence_only")


def test_order_is_by_best_rank_then_confidence_then_id():
    triples = [("a", "is", "b", 0.75, 0), ("a", "is", "c", 0.875, 0), ("a", "is", "d", 0.875, 0), ("a", "is", "e", 1.0, 0)]
    edges, _ = edges_of(triples, ranks=[1, 1, 1, 2])
    tied = sorted(edges[:2], key=lambda edge: edge.id)
    assert edges[:2] == [tied[0], tied[1]]
    assert {edge.object for edge in tied} == {"c", "d"}
    assert [edge.object for edge in edges[2:]] == ["b", "e"]
    assert [edge.rank for edge in edges] == [0, 1, 2, 3]


def test_a_teachers_statement_replaces_the_joined_one():
    triples = [("a", "is", "b", 0.9, 0), ("a", "is", "c", 0.9, 0)]
    edges, _ = edges_of(triples)
    edges, _ = edges_of(triples, statements={edges[1].id: "A is, in short, C.", "other": "never", edges[0].id: ""})
    assert [edge.statement for edge in edges] == ["a is b", "A is, in short, C."]


@settings(deadline=None)
@given(graph=subgraphs("default"), chosen=aggregations())
def test_what_holds_of_any_multigraph(graph, chosen):
    edges, kind = aggregate(graph, chosen)
    kept = {item.id for item in graph.evidence if item.kept}
    taking_part = {triple.id: triple for triple in graph.triples if triple.evidence_id in kept}
    claims = claims_of(graph.triples, graph.evidence, graph.calls, chosen.merge)
    of_triple = {part.id: claim for claim in claims for part in claim.parts}
    assert sorted(of_triple) == sorted(taking_part), "each triple that takes part is in exactly one claim"
    strong = [claim for claim in claims if claim.confidence >= chosen.threshold - TOLERANCE]
    assert kind == ("evidence_only" if not taking_part else "simple" if strong else "multigraph")
    every, _ = aggregate(graph, chosen.model_copy(update={"top_k": 10_000}))
    merged = [id_ for edge in every for id_ in edge.triple_ids]
    assert sorted(merged) == sorted(part.id for claim in strong for part in claim.parts)
    assert [edge.id for edge in edges] == [edge.id for edge in every[: chosen.top_k]]
    assert [edge.rank for edge in edges] == list(range(len(edges)))
    by_id = {edge.id: edge for edge in edges}
    assert len(by_id) == len(edges)
    for edge in edges:
        members = [taking_part[id_] for id_ in edge.triple_ids]
        own = list({id(of_triple[id_]): of_triple[id_] for id_ in edge.triple_ids}.values())
        assert {(item.subject_id, item.object_id) for item in members} == {(edge.subject_id, edge.object_id)}
        assert edge.support == len(members) == sum(len(claim.parts) for claim in own)
        assert set(edge.evidence_ids) == {item.evidence_id for item in members}
        assert edge.confidence == max(claim.confidence for claim in own)
        assert any(one.contradicts(other) for one in own for other in own) == (edge.id in edge.contradicts)
        assert all(edge.id in by_id[id_].contradicts for id_ in edge.contradicts)
        if chosen.strategy == "predicate" or (chosen.strategy == "pair" and edge.contradicts):
            assert len(own) == 1
        if chosen.strategy == "whole-pair":
            assert edge.id == f"{edge.subject_id}-{edge.object_id}"
    turned = graph.model_copy(update={"triples": graph.triples[::-1], "evidence": graph.evidence[::-1]})
    assert (edges, kind) == aggregate(turned, chosen), "the input's order is no matter"


def test_many_sources_of_little_confidence_stay_below_one():
    assert math.isclose(merge_confidence([0.1] * 9, "noisy-or"), 1 - 0.9**9)
