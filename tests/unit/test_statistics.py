import random

import igraph  # noqa: F401 - so that no example is timed with the import in it
from hypothesis import given
from hypothesis import strategies as st

from drag_graph.manage.graph_statistics import components, contradictions, names_of, shared_things, statistics
from drag_graph.ports.linked_edges import LinkedEdge

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


def test_only_predicates_that_exclude_each_other_contradict():
    claims = {
        ("s", "o"): {"increase": ["1"], "decreases": ["2"], "is related to": ["3"]},
        ("o", "s"): {"decrease": ["4"]},
    }
    (found,) = contradictions(claims)
    assert found.pop("why")
    assert found == {"subject": "s", "predicates": ["decreases", "increase"], "object": "o", "edge_ids": ["1", "2"]}


@given(confidences=st.lists(st.floats(0.0, 1.0), max_size=40), limit=st.integers(1, 5))
def test_the_weakest_edges_are_those_of_the_sorted_list(confidences, limit):
    edges = [edge(str(n), "s", "o", confidence=confidence) for n, confidence in enumerate(confidences)]
    wanted = sorted((item.confidence, item.id) for item in edges)[:limit]
    found = statistics(lambda: edges, {}, limit).to_dict()["weakest_edges"]
    assert [(item["confidence"], item["id"]) for item in found] == wanted


def test_a_thing_is_called_what_most_of_its_edges_call_it():
    edges = [edge("1", "s", "o", name="aspirin"), edge("2", "s", "o", name="aspirin"), edge("3", "s", "o", name="an acid")]
    assert names_of(edges, ["s"]) == {"s": "aspirin"}


def test_only_what_two_sources_share_is_shared():
    edges = [edge("1", "a", "b"), edge("2", "a", "b"), edge("3", "a", "a", source_id="other")]
    assert [(item.id, item.sources, item.edges) for item in shared_things(edges, 5)] == [("a", 2, 3)]


def edge(id_, source, target, *, source_id="q", confidence=0.5, name="thing"):
    return LinkedEdge(id_, source_id, source, name, target, "object", "a statement", ("is",), confidence, 1)
