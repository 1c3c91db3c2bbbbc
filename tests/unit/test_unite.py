"""A second teacher's subgraph is added to the stored one."""

from drag_graph.graph.aggregate import aggregate
from drag_graph.graph.unite import united
from drag_graph.manage.content_ids import wrong_ids
from drag_graph.model import Aggregation
from drag_graph.testing.builders import as_distilled, make_subgraph


def two(*added):
    one = make_subgraph(triples=[("bees", "make", "honey", 0.7, 0)], evidence=["Bees make honey."], dropped=())
    other = make_subgraph(triples=added, evidence=["So they say."], dropped=(), settings_hash="settings-2")
    calls = tuple(call.model_copy(update={"model": "teacher/second"}) for call in other.calls)
    one, other = (as_distilled(item) for item in (one, other.model_copy(update={"calls": calls})))
    return one, united(one, other)


def test_teachers_who_write_a_name_differently_support_one_claim():
    one, both = two(("A bee", "make", "honey", 0.8, 0))
    [edge] = aggregate(both, Aggregation())[0]
    assert (edge.subject, edge.support, round(edge.confidence, 2)) == ("bees", 2, 0.94)
    assert [entity.id for entity in both.entities] == [entity.id for entity in one.entities]
    assert not list(wrong_ids(both))
    assert "A bee" in both.entities[0].variants


def test_teachers_who_contradict_each_other_dispute_the_claim():
    _, both = two(("bee", "does not make", "honey", 0.8, 0))
    edges = aggregate(both, Aggregation())[0]
    assert {edge.contradicts for edge in edges} == {(edge.id,) for edge in edges}
    assert len(edges) == 2


def test_a_triple_whose_ends_are_one_stored_thing_is_left_out():
    _, both = two(("A bee", "resembles", "Bees", 0.8, 0), ("Bees", "make", "wax", 0.8, 0))
    assert [item.object for item in both.triples] == ["honey", "wax"]
    assert {item.subject for item in both.triples} == {"bees"}
    assert not list(wrong_ids(both))
