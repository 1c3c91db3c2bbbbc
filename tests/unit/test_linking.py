"""Which concepts are the same thing, and the clusters that follow."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drag_graph.graph.name_forms import concept_id, concept_key, same_as_id, stronger_key
from drag_graph.link.same_as import MEASURED, OperatingPoint, clusters, operating_point, verdict

POINT = OperatingPoint(cosine=0.9, share=0.75)
IDS = [f"{number:02}" for number in range(12)]


def judged(one, other, *, share=0.0, cosine=0.0):
    return verdict(one, other, share, cosine, POINT)


@pytest.mark.parametrize(
    ("one", "other"),
    [("The Water", "water"), ("plant cells", "Plant-Cell"), ("theory of relativity", "relativity theory"), ("colour", "color")],
)
def test_ways_to_write_a_name_have_one_key_or_at_least_one_stronger_key(one, other):
    assert stronger_key(one) == stronger_key(other)
    assert judged(one, other) == ("name", 1.0)


def test_the_id_of_a_concept_is_of_its_normal_name_and_namespace():
    key = concept_key("The red blood cells")
    assert concept_id("a", key) == concept_id("a", concept_key("Red blood-cell".lower()))
    assert concept_id("a", key) != concept_id("b", key)
    assert same_as_id("a", "x", "y") == same_as_id("a", "y", "x")


def test_a_capital_keeps_a_family_from_a_given_name():
    assert concept_key("Williams") != concept_key("William")
    assert judged("Williams", "William", share=1.0, cosine=1.0) is None


@pytest.mark.parametrize(
    ("one", "other", "share", "method"),
    [
        ("DNA", "deoxyribonucleic acid", 1.0, "alias"),
        ("World Health Organization", "WHO", 0.8, "alias"),
        ("World Health Organization", "WHO", 0.5, None),
        ("computed tomography", "CT", 1.0, "alias"),
        ("Costa Teguise", "CT", 1.0, None),
        ("Albert Einstein", "Einstein", 1.0, None),
        ("type 1 diabetes", "type 2 diabetes", 1.0, None),
        ("acid", "base", 1.0, None),
        ("heart attack", "myocardial infarction", 0.75, "alias"),
    ],
)
def test_an_alias_joins_where_it_means_mostly_one_thing_and_no_guard_objects(one, other, share, method):
    found = judged(one, other, share=share)
    assert (found[0] if found else None) == method
    assert found is None or found[1] == share
    assert judged(other, one, share=share) == found


@pytest.mark.parametrize(
    ("one", "other", "cosine", "method"),
    [
        ("heart attack", "cardiac infarction", 0.9, "embedding"),
        ("heart attack", "cardiac infarction", 0.8999, None),
        ("hot water", "cold water", 0.99, None),
        ("cell", "cell membrane", 0.99, None),
    ],
)
def test_vectors_join_what_is_near_enough_unless_a_guard_knows_better(one, other, cosine, method):
    found = judged(one, other, cosine=cosine)
    assert (found[0] if found else None) == method


def test_every_measured_operating_point_is_used_and_others_are_stricter():
    for name, point in MEASURED.items():
        assert operating_point(name) == point
        assert operating_point("nobody knows it").cosine > point.cosine
    assert operating_point("lexical/2-1024") == MEASURED["lexical"]


@given(
    entities=st.fixed_dictionaries({id_: st.integers(0, 5) for id_ in IDS}),
    joined=st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from(IDS)), max_size=15),
    seed=st.integers(),
)
def test_clusters_do_not_depend_on_the_order(entities, joined, seed):
    shuffled = [pair if random.Random(seed + n).random() < 0.5 else pair[::-1] for n, pair in enumerate(joined)]
    random.Random(seed).shuffle(shuffled)
    found = clusters(entities, joined)
    assert clusters(dict(reversed(entities.items())), shuffled) == found
    # They are what the pairs connect, and nothing else.
    reach = {id_: {id_} for id_ in entities}
    for _ in IDS:
        for one, other in joined:
            reach[one] = reach[other] = reach[one] | reach[other]
        for id_ in IDS:
            for other in list(reach[id_]):
                reach[id_] = reach[id_] | reach[other]
    for id_ in IDS:
        assert {other for other in IDS if found[other] == found[id_]} == reach[id_]
        assert found[id_] == min(reach[id_], key=lambda other: (-entities[other], other))


@given(
    entities=st.fixed_dictionaries({id_: st.integers(0, 5) for id_ in IDS}),
    joined=st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from(IDS)), max_size=15),
)
def test_what_is_not_joined_stands_for_itself(entities, joined):
    alone = set(IDS) - {end for pair in joined for end in pair}
    found = clusters(entities, joined)
    assert all(found[id_] == id_ for id_ in alone)
    with pytest.raises(KeyError):
        clusters(entities, [("00", "not there")])
