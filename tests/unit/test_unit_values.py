"""What units and passages are worth for a question (`drag_graph.ask.unit_values`)."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_units import passage, unit, valued

from drag_graph.ask.unit_values import (
    AFTER,
    BEFORE,
    FIRST,
    FIRST_SOURCES,
    UNITS,
    best_units,
    by_walk,
    passage_values,
    scores_of,
    unit_values,
    with_several_sources,
)
from drag_graph.ports.graph_search import Found

TERMS = ["pump", "leaks"]


def values_of(units, found, terms=TERMS):
    return {item.passage.id: item.value for item in passage_values(units, scores_of(units, terms, found))}


def hits(*units):
    """What a search found that hit the first passage of each unit."""
    return Found({one.passages[0].id: 0.5 for one in units}, unit_of={one.passages[0].id: one.id for one in units})


VALUED = st.lists(
    st.builds(
        lambda number, of, value: valued(f"p{number}", value, of=f"u{of}", source=f"s{of // 2}"),
        st.integers(0, 99),
        st.integers(0, 7),
        st.floats(0.01, 9),
    ),
    unique_by=lambda item: item.passage.id,
    max_size=20,
)


def test_units_are_ordered_by_vectors_and_words_of_their_best_passage_and_by_their_own_words():
    found = Found(
        by_vector={"a1": 0.9, "a2": 0.8, "b1": 0.3},
        by_words={"b1": 4.0, "c1": 2.0},
        units_by_words={"c": 5.0, "d": 1.0},
        unit_of={"a1": "a", "a2": "a", "b1": "b", "c1": "c"},
    )
    assert best_units(found) == ["c", "b", "a", "d"]  # 1.5, 1.3, 0.9 (not 1.7), 0.2
    assert best_units(found, ["d", "q"]) == ["d", "q", "c", "b", "a"]


def test_the_number_of_units_is_bounded_but_not_that_of_the_first():
    found = Found(units_by_words={f"u{n:03}": 1.0 for n in range(UNITS + 5)})
    assert best_units(found, ["first"]) == ["first", *(f"u{n:03}" for n in range(UNITS))]
    assert best_units(Found()) == []


def test_neighbours_in_a_document_have_most_of_the_value_of_a_hit():
    names = ("before", "hit", "after", "far")
    chunk = unit("u", *(passage(name, "The pump leaks." if name == "hit" else f"Nothing {name}.") for name in names))
    found = Found(by_words={"hit": 1.0}, unit_of={"hit": "u"})
    values = values_of([chunk], found)
    assert set(values) == {"before", "hit", "after"}
    around = values["hit"] - 1.0
    assert values["before"] == pytest.approx(BEFORE + around)
    assert values["after"] == pytest.approx(AFTER + around)
    query = unit("u", *chunk.passages, is_document=False)
    values = values_of([query], found)
    assert values["before"] == values["after"] == values["far"] < values["hit"] - 0.9


def test_rare_words_and_short_texts_count_more():
    texts = {
        "both": "pump leaks",
        "rare": "valve leaks",
        "common": "pump runs",
        "none": "valve runs",
        "long": "pump runs" + " on" * 9,
    }
    units = [unit(name, passage(name, text)) for name, text in {**texts, "again": "the pump"}.items()]
    scores = scores_of(units, TERMS, hits(*units)).passages
    assert scores["both"] == 1.0
    assert scores["both"] > scores["rare"] > scores["common"] > scores["long"] > scores["none"] == 0.0


def test_a_passage_counts_for_its_unit_and_its_document():
    """Equal passages: one in a unit about the question, one next to it in its document, one in a document of its own."""
    same = {name: passage(name, "See below.", 0.2) for name in ("in", "near", "away")}
    units = [
        unit("u", passage("hit", "The pump leaks.", 0.6), same["in"], source="manual"),
        unit("v", same["near"], source="manual"),
        unit("w", same["away"], source="letter"),
    ]
    values = values_of(units, hits(*units))
    assert values["in"] > values["near"] > values["away"] > 0


def test_of_a_unit_without_hits_every_passage_counts():
    first = unit("u", passage("hit", "The pump leaks."), passage("other", "The pump leaks, too."), is_document=False)
    walked = unit("v", passage("reached", "A pump leaks."), is_document=False)
    scores = scores_of([first, walked], TERMS, Found(by_words={"hit": 1.0}, unit_of={"hit": "u"})).passages
    assert set(scores) == {"hit", "reached"}


def test_a_unit_is_worth_its_best_passage_its_words_and_its_mean_cosine():
    units = [unit("u", passage("a", "The pump leaks.", 0.8), passage("b", "So.", 0.2)), unit("v", passage("c", "So.", -0.4))]
    found = hits(*units)
    values = unit_values(units, scores_of(units, TERMS, found))
    assert values["u"] == pytest.approx((0.8 + 0.5) + 0.5 + 2 * 0.5)
    assert values["v"] == 0.0


def test_without_passages_nothing_is_valued():
    empty = unit("u", title="pump")
    scores = scores_of([empty], TERMS, Found(units_by_words={"u": 1.0}))
    assert passage_values([empty], scores) == []
    assert unit_values([empty], scores) == {"u": 0.5}


def test_a_walk_exchanges_the_values_of_units():
    passages = [valued("a1", 5.0, of="a"), valued("b1", 3.0, of="b"), valued("a2", 2.5, of="a"), valued("c1", 1.0, of="c")]
    walked = by_walk(passages, {"c": 1.0, "a": 0.5, "b": 0.0}, 1.0)
    assert [(item.passage.id, item.value) for item in walked] == [("c1", 5.0), ("a1", 3.0), ("b1", 1.0), ("a2", 0.5)]


def test_a_walk_of_less_weight_exchanges_a_part_of_the_values():
    passages = [valued("a1", 5.0, of="a"), valued("b1", 3.0, of="b"), valued("a2", 2.5, of="a")]
    halved = [(item.passage.id, item.value) for item in by_walk(passages, {"a": 0.0, "b": 1.0}, 0.25)]
    assert halved == [("a1", 4.5), ("b1", 3.5), ("a2", 2.0)]
    assert by_walk(passages, {"a": 0.0, "b": 1.0}, 0.0) == passages


def test_a_unit_without_facts_keeps_its_value():
    passages = [valued("table", 6.0, of="t"), valued("a1", 5.0, of="a"), valued("b1", 3.0, of="b")]
    walked = by_walk(passages, {"a": 0.2, "b": 1.0}, 1.0)
    assert [(item.passage.id, item.value) for item in walked] == [("table", 6.0), ("b1", 5.0), ("a1", 3.0)]


@given(items=VALUED, ranks=st.dictionaries(st.sampled_from([f"u{n}" for n in range(8)]), st.floats(0, 1)))
def test_a_walk_orders_units_and_leaves_passages_of_one_in_their_order(items, ranks):
    ranks = dict.fromkeys((item.unit.id for item in items), 0.0) | ranks
    walked = by_walk(items, ranks, 1.0)
    best = {item.unit.id: item for item in reversed(walked)}
    firsts = {item.unit.id: max(one.value for one in items if one.unit.id == item.unit.id) for item in items}
    assert sorted(item.value for item in best.values()) == pytest.approx(sorted(firsts.values()))
    order = sorted(best.values(), key=lambda item: -item.value)
    for one, other in pairwise(order):
        assert ranks.get(one.unit.id, 0.0) >= ranks.get(other.unit.id, 0.0) or one.value == pytest.approx(other.value)
    for id_ in best:
        before = sorted((one for one in items if one.unit.id == id_), key=lambda one: -one.value)
        after = {one.passage.id: one.value for one in walked if one.unit.id == id_}
        assert [after[one.passage.id] for one in before] == sorted(after.values(), reverse=True)


@given(items=VALUED)
def test_the_best_passage_of_each_of_the_best_sources_is_raised(items):
    items = sorted(items, key=lambda item: -item.value)
    before = {item.passage.id: item.value for item in items}
    firsts = list({item.unit.source_id: item.passage.id for item in reversed(items)}.values())
    raised = {item.passage.id for item in with_several_sources(items) if item.value != before[item.passage.id]}
    assert raised == set(firsts)


def test_a_walk_may_leave_a_value_below_0_and_a_first_source_is_raised_there_too():
    walked = by_walk(
        [valued("a1", 5.0, of="a"), valued("b1", 1.0, of="b"), valued("a2", 0.5, of="a")], {"a": 0.0, "b": 1.0}, 1.0
    )
    assert [(item.passage.id, item.value) for item in walked] == [("b1", 5.0), ("a1", 1.0), ("a2", -3.5)]
    assert [item.value for item in with_several_sources(walked[2:])] == pytest.approx([-3.15])


def test_only_so_many_sources_are_raised_and_one_can_overtake():
    items = [valued("a1", 2.0, source="a"), valued("a2", 1.9, source="a"), valued("b1", 1.8, source="b")]
    assert [item.passage.id for item in with_several_sources(items)] == ["a1", "b1", "a2"]
    many = [valued(f"p{n:02}", 100.0 - n) for n in range(FIRST_SOURCES + 3)]
    raised = [item.value / (100.0 - int(item.passage.id[1:])) for item in with_several_sources(many)]
    assert raised == pytest.approx([FIRST] * FIRST_SOURCES + [1.0] * 3)
