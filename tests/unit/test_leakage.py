import pytest

from drag_graph.evaluation import leakage
from tests.unit.step_builders import evidence, query

QUERY = query(gold=1)


@pytest.mark.parametrize(
    "text",
    [
        "The correct answer is carbon dioxide.",
        "Therefore, the answer is the second one.",
        "Answer: carbon dioxide",
        "Option B describes what leaves take in.",
        "B. carbon dioxide",
        "(B)",
        "Carbon dioxide.",
        "It is carbon dioxide.",
        "Carbon dioxide is correct.",
    ],
)
def test_what_gives_the_answer_away(text):
    assert leakage.leaks(text, QUERY)


@pytest.mark.parametrize(
    "text",
    [
        "Plants absorb carbon dioxide through their leaves.",
        "Carbon dioxide is used in photosynthesis.",
        "Vitamin B is found in leaves.",
        "Oxygen is released.",
        "To answer such questions, botanists measure gas exchange.",
        "The enzyme ends the reaction.",
        "Oxygen",
    ],
)
def test_what_is_only_a_fact(text):
    assert not leakage.leaks(text, QUERY)


def test_without_a_known_answer_any_bare_option_leaks():
    assert leakage.leaks("Oxygen", query())
    assert leakage.leaks("forty-two", query(options=()), gold="forty-two")


def test_a_letter_beyond_the_options_names_none():
    assert not leakage.leaks("Option E was never built.", QUERY)


def test_the_report_names_the_reasons_and_marks_nothing():
    items = evidence(["Plants absorb carbon dioxide at night and day.", "The answer is B."])
    report = leakage.report(items, QUERY)
    assert report.total == 2
    assert report.reasons == {"e1": "says what the answer is"}
    assert report.share == 0.5
    assert leakage.report((), QUERY).share == 0.0
