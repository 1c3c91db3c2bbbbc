import pytest
from hypothesis import given
from hypothesis import strategies as st

from drag_graph.distill.complexity import WEIGHTS, complexity, signals

SIMPLE = "What is water?"
HARD = (
    "Given that a 54-year-old man from Lagos, who was treated in Berlin by Dr. Weber, took 20 mg of Lisinopril daily for 3 "
    "weeks because his pressure was 160 mmHg, and then developed a dry cough, which of the following, compared with the drugs "
    "that Weber had considered before, would most likely explain why the cough appeared, although no infection was found, and "
    "therefore lead to a change of therapy?"
)


def test_a_plain_question_is_simple_and_a_case_history_is_complex():
    assert complexity(SIMPLE) < 0.1
    assert complexity(HARD) > 0.8


def test_the_extremes_stay_in_range():
    assert complexity("?") == 0.0
    assert complexity("Because in Paris, at Rome, by Oslo, near Bonn, 5 kg, 6 m, 7 s, therefore, which, if " * 9_000) == 1.0


@pytest.mark.parametrize(
    ("name", "plain", "richer"),
    [
        ("length", "What melts?", "What melts " + "slowly " * 40 + "?"),
        ("clauses", "What melts in the sun?", "What, while it lies in the sun, melts, although it is cold?"),
        ("hops", "What melts?", "What melts because it was heated, and therefore flows?"),
        ("entities", "what melts there?", "what melts in Berlin and in New York?"),
        ("quantities", "What melts at that heat?", "What melts at 30 degrees after 2 hours?"),
    ],
)
def test_each_signal_rises_with_what_it_counts(name, plain, richer):
    assert signals(richer)[name] > signals(plain)[name]


def test_long_options_count():
    assert complexity(SIMPLE, ("a gas that burns in the presence of air and of heat",) * 4) > complexity(SIMPLE, ("gas", "ice"))


def test_the_weights_sum_to_one():
    assert sum(WEIGHTS.values()) == pytest.approx(1.0)


@given(st.text(max_size=300), st.lists(st.text(max_size=50), max_size=5))
def test_any_text_has_one_score_in_range(text, options):
    first = complexity(text, options)
    assert 0.0 <= first <= 1.0
    assert complexity(text, options) == first
