"""The dry run: what is counted, what is assumed, and that nobody is asked."""

import pytest

from drag_graph.estimate import HIGH, LOW, Pricing, estimate
from drag_graph.inputs import InputLine, make_query
from drag_graph.settings import load_settings

PRICING = Pricing(
    lambda _model, messages: sum(len(m["content"].split()) for m in messages), lambda _model, i, o: (i + 2 * o) / 1e6
)


def of(*texts, pricing=PRICING, **flags):
    lines = [InputLine(n, query=make_query(text)) if text else InputLine(n, problem="bad") for n, text in enumerate(texts)]
    return estimate(load_settings(flags), lines, pricing)


def test_lean_makes_three_calls_and_paper_many_more_with_more_tokens():
    lean, paper = of("Why is it so?"), of("Why is it so?", plan="paper")
    assert lean["calls"] == 3
    assert paper["calls"] == 2 + 10 + 1
    assert lean["tokens_in"] < 0.4 * paper["tokens_in"]


def test_each_question_counts_once_and_bad_lines_are_counted_apart():
    one, several = of("Why?"), of("Why?", "why? ", "", "Who?")
    assert (several["queries"], several["rejected"]) == (2, 1)
    assert several["calls"] == 2 * one["calls"]


def test_the_price_has_a_range_and_says_when_it_is_not_known():
    found = of("Why?")
    assert found["price_known"]
    assert found["price_usd_low"] == pytest.approx(found["price_usd"] * LOW, abs=1e-4)
    assert found["price_usd_high"] == pytest.approx(found["price_usd"] * HIGH, abs=1e-4)
    unknown = of("Why?", pricing=Pricing(PRICING.count_tokens, lambda *_: None))
    assert not unknown["price_known"]


def test_a_file_costs_nothing_and_patterns_save_a_call():
    free = of("Why?", pricing=None)
    assert (free["calls"], free["tokens_in"], free["price_usd"]) == (3, 0, 0.0)
    assert of("Why?", extractor="patterns")["calls"] == 2


def test_more_evidence_is_dearer():
    assert of("Why?", number_of_evidence=30)["tokens_out"] > of("Why?", number_of_evidence=5)["tokens_out"]
