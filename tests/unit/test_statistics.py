import random

from hypothesis import given
from hypothesis import strategies as st

from drag_graph.statistics import Said, communities, components, contradictions, first

EDGES = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh"), st.floats(0.1, 1.0)), max_size=15)


@given(edges=EDGES, seed=st.integers(0, 5))
def test_components_are_the_closure_of_the_edges_in_any_order(edges, seed):
    groups = components(edges)
    place = {member: number for number, group in enumerate(groups) for member in group.members}
    assert all(place[source] == place[target] for source, target, _ in edges)
    assert sum(group.edges for group in groups) == len(edges)
    for group in groups:  # whatever is in one group is reached from its first
        reached, todo = set(), [group.members[0]]
        while todo:
            thing = todo.pop()
            if thing not in reached:
                reached.add(thing)
                todo += [b for a, b, _ in edges if a == thing] + [a for a, b, _ in edges if b == thing]
        assert reached == set(group.members)
    shuffled = edges.copy()
    random.Random(seed).shuffle(shuffled)
    assert components(shuffled) == groups


@given(edges=EDGES)
def test_communities_part_the_components(edges):
    inside = {frozenset(group.members) for group in components(edges)}
    found = communities(edges)
    members = [member for group in found for member in group.members]
    assert sorted(members) == sorted(member for group in inside for member in group)
    assert all(any(set(group.members) <= whole for whole in inside) for group in found)
    assert communities(edges) == found


def test_two_dense_groups_with_one_thin_bridge_are_two_communities():
    names = "abcd", "wxyz"
    edges = [(one, other, 0.9) for group in names for one in group for other in group if one < other]
    found = communities([*edges, ("d", "w", 0.2)])
    assert [group.members for group in found] == [tuple("abcd"), tuple("wxyz")]
    assert [group.edges for group in found] == [6, 6]
    assert len(components([*edges, ("d", "w", 0.2)])) == 1


def test_only_predicates_that_exclude_each_other_contradict():
    said = [
        Said("s", "o", {"increase": ["1"], "decreases": ["2"], "is related to": ["3"]}),
        Said("o", "s", {"decrease": ["4"]}),
    ]
    (found,) = contradictions(said)
    assert (found.first, found.second, found.triple_ids) == ("decreases", "increase", ("1", "2"))
    assert found.why


@given(items=st.lists(st.integers()), limit=st.integers(1, 5))
def test_the_first_are_those_of_a_sorted_list(items, limit):
    assert first(items, limit, lambda item: item) == (len(items), sorted(items)[:limit])
