"""A walk over the graph from the facts nearest to a question (`drag_graph.ask.graph_walk`)."""

import pytest
from search_units import fact

from drag_graph.ask.graph_walk import SEEDS, seeds_of, walk

CHAIN = [fact("u1", "Ada", "Orchid"), fact("u2", "Orchid", "Ningbo"), fact("u3", "Quito", "Lima")]


def ranked(ranks):
    return sorted(ranks, key=lambda id_: -ranks[id_])


def test_a_unit_two_facts_away_is_found_and_an_unconnected_one_is_not():
    ranks = walk(CHAIN, {"Ada": 1.0}, {})
    assert ranked(ranks) == ["u1", "u2", "u3"]
    assert ranks["u1"] == 1.0 > ranks["u2"] > 0.0 == ranks["u3"]


def test_of_two_units_with_a_concept_the_one_nearer_to_the_seeds_is_first():
    facts = [*CHAIN, fact("u4", "Ningbo", "river")]
    assert ranked(walk(facts, {"Ada": 1.0, "Orchid": 1.0}, {}))[:3] == ["u1", "u2", "u4"]
    assert ranked(walk(facts, {"river": 1.0}, {}))[:2] == ["u4", "u2"]


def test_the_value_of_a_unit_decides_between_equals():
    facts = [fact("u1", "Ada", "Orchid"), fact("u2", "Ada", "Lima")]
    assert ranked(walk(facts, {"Ada": 1.0}, {"u1": 1.0, "u2": 3.0})) == ["u2", "u1"]
    assert ranked(walk(facts, {"Ada": 1.0}, {"u1": 3.0, "u2": 1.0})) == ["u1", "u2"]


def test_a_unit_without_facts_has_no_rank():
    assert walk([fact("u1", "Ada", "Orchid")], {"Ada": 1.0}, {"u1": 1.0, "plain": 2.0}).keys() == {"u1"}


def test_two_facts_about_a_pair_bind_it_closer_than_one():
    once, twice = fact("u2", "Ada", "Lima"), [fact("u1", "Ada", "Orchid"), fact("u1", "Ada", "Orchid", predicate="leads")]
    ends = [fact("u3", "Lima", "x"), fact("u4", "Orchid", "y")]
    ranks = walk([once, *twice, *ends], {"Ada": 1.0}, {})
    assert ranks["u4"] > ranks["u3"]


@pytest.mark.parametrize(("facts", "seeds", "units"), [([], {}, {}), (CHAIN, {}, {}), (CHAIN, {"unknown": 1.0}, {})])
def test_without_a_place_to_begin_nothing_is_reached(facts, seeds, units):
    assert walk(facts, seeds, units) == {}


def test_without_facts_no_unit_has_a_rank():
    assert walk([], {"Ada": 1.0}, {"u1": 1.0, "u2": 3.0, "u3": 2.0}) == {}


def test_a_fact_about_one_concept_alone_is_walked():
    assert walk([fact("u1", "Ada", "Ada")], {"Ada": 1.0}, {}) == {"u1": 1.0}


def test_what_many_units_mention_weighs_less():
    facts = [fact("u1", "cell", "ribosome")]
    seeds = seeds_of(facts, [0.8], {"cell": {f"u{n}" for n in range(40)}, "ribosome": {"u1"}})
    assert seeds == pytest.approx({"cell": 0.02, "ribosome": 0.8})


def test_the_best_facts_are_the_seeds_and_the_weights_of_a_concept_add_up():
    facts = [fact(f"u{n}", "Ada", f"thing {n}") for n in range(SEEDS + 2)]
    scores = [float(n) for n in range(SEEDS + 2)]
    seeds = seeds_of(facts, scores, {})
    best = range(2, SEEDS + 2)
    assert seeds == {"Ada": float(sum(best)), **{f"thing {n}": float(n) for n in best}}
    assert seeds_of(facts[:1], [-0.3], {}) == {"Ada": 0.0, "thing 0": 0.0}
    assert seeds_of([], [], {}) == {}


def test_the_weight_of_a_hub_keeps_the_walk_from_its_units():
    """The rarer of two concepts of a fact leads to its other unit before the many units of the hub."""
    hub = [fact(f"h{n}", "cell", f"thing {n}") for n in range(3)]
    facts = [fact("u1", "cell", "ribosome"), fact("u2", "ribosome", "protein"), *hub]
    units = {"cell": {"u1", "h0", "h1", "h2"}, "ribosome": {"u1", "u2"}}
    weighted, plain = (walk(facts, seeds_of(facts[:1], [1.0], mentions), {}) for mentions in (units, {}))
    assert {*ranked(weighted)[:2]} == {"u1", "u2"}
    assert weighted["h0"] == weighted["h1"] < plain["h0"]
