import pytest

from drag_graph.ask.answers import gold_texts
from drag_graph.graph.answer_leaks import leaks
from tests.unit.step_builders import query

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
        "Carbon dioxide is the answer.",
        "The answer would have to be carbon dioxide.",
        "The answer, of course, is carbon dioxide",
        "So answer is carbon dioxide.",
        "The correct letter is B.",
        "Carbon dioxide is the correct one.",
        "Unlike option A, option B is taken in.",
        "B is the right one.",
        "Choose B.",
    ],
)
def test_what_gives_the_answer_away(text):
    assert leaks(text, QUERY, gold_texts(QUERY))


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
        "The answer to a multiplication is called a product.",
        "Hypotheses are answers that can be tested.",
        "The left lung is smaller than the right one.",
        "People choose bright leaves.",
        "Option A is what leaves give off.",
    ],
)
def test_what_is_only_a_fact(text):
    assert not leaks(text, QUERY, gold_texts(QUERY))


@pytest.mark.parametrize(
    ("text", "gives_away"),
    [
        ("The claim is refuted.", True),
        ("This claim has been refuted by fact-checkers.", True),
        ("The claim that bees bark was widely refuted.", True),
        ("The claim was made in 2020.", False),
        ("The claim is supported by nobody.", False),
        ("Pasteur refuted spontaneous generation.", False),
    ],
)
def test_a_verdict_on_the_claim_gives_it_away(text, gives_away):
    verdicts = query(options=("Supported", "Refuted"), gold=1)
    assert leaks(text, verdicts, gold_texts(verdicts)) is gives_away


def test_without_a_known_answer_any_bare_option_leaks():
    assert leaks("Oxygen", query())
    assert leaks("Option A was taken.", query())
    assert leaks("forty-two", query(options=(), gold="forty-two"), ["forty-two"])


def test_a_letter_beyond_the_options_names_none():
    assert not leaks("Option E was never built.", QUERY)
    assert not leaks("Option E was never built.", query())
