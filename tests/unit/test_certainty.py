"""Whether a local answer is sure: what students say when they lack information, and when answers agree."""

import numpy as np
import pytest

from drag_graph.errors import Interrupted
from drag_graph.inputs import InputLine, make_query
from drag_graph.sites.agreement import LocalAnswer, judge
from drag_graph.sites.site_asker import SiteAsker


def alike(number):
    """Return unit vectors that are all the same."""
    return np.tile(np.array([1.0, 0.0], dtype=np.float32), (number, 1))


def test_the_same_option_is_agreement_whatever_the_words_are():
    chosen = [LocalAnswer("water", "A"), LocalAnswer("The answer is water.", "A"), LocalAnswer("fire", "B")]
    verdict = judge(chosen, alike(3), threshold=0.5)
    assert verdict.agreement == pytest.approx(1 / 3, abs=1e-6)
    assert not verdict.is_sure
    assert "0.33" in verdict.why
    assert verdict.best in {0, 1}
    assert judge(chosen[:2], alike(2), 0.7).is_sure


def test_probabilities_agree_by_the_chance_of_one_choice():
    chosen = [LocalAnswer("water", "A", (0.6, 0.4)), LocalAnswer("water", "A", (0.9, 0.1))]
    assert judge(chosen, alike(2), 0.5).agreement == pytest.approx(0.6 * 0.9 + 0.4 * 0.1)
    assert judge(chosen[:1], alike(1), 0.5).agreement == pytest.approx(0.6**2 + 0.4**2)
    assert judge([LocalAnswer("water", "A", (1.0, 0.0)), LocalAnswer("fire", "B", (0.0, 1.0))], alike(2), 0.5).agreement == 0


def test_a_reply_that_chooses_no_option_agrees_with_none():
    assert judge([LocalAnswer("water", "A"), LocalAnswer("either")], alike(2), 0.7).agreement == 0


def test_open_answers_agree_by_words_vectors_and_claims():
    same = [LocalAnswer("Einstein was born in Ulm."), LocalAnswer("Einstein was born in Ulm")]
    assert judge(same, alike(2), 0.7).agreement == 1
    years = [LocalAnswer("He was born in 1879."), LocalAnswer("He was born in 1880.")]
    words = len({"he", "born"}) / len({"he", "born", "1879", "1880"})
    assert judge(years, alike(2), 0.7).agreement == pytest.approx((1 + words + 0) / 3, abs=1e-6)
    denied = [LocalAnswer("The Moon causes the tides."), LocalAnswer("The Moon does not cause the tides.")]
    assert judge(denied, alike(2), 0.7).agreement <= 2 / 3 + 1e-6


def test_unlike_vectors_and_words_do_not_agree():
    texts = [LocalAnswer("Paris"), LocalAnswer("London")]
    vectors = np.array([[1.0, 0.0], [-1.0, 0.0]], dtype=np.float32)
    assert judge(texts, vectors, 0.7).agreement == pytest.approx(1 / 3, abs=1e-6), "claims that do not contradict, and no more"


def test_the_best_is_the_one_that_agrees_most_with_the_others():
    texts = [LocalAnswer("London"), LocalAnswer("Paris in France"), LocalAnswer("Paris, France")]
    verdict = judge(texts, alike(3), threshold=0.0)
    assert verdict.is_sure
    assert verdict.best in {1, 2}


def test_half_of_them_lacking_information_is_enough_to_ask_others():
    texts = [LocalAnswer(""), LocalAnswer(" ")]
    verdict = judge(texts, alike(2), threshold=0.0)
    assert (verdict.is_sure, verdict.lacking) == (False, 1.0)
    assert judge([LocalAnswer("Paris"), LocalAnswer("Paris"), LocalAnswer("")], alike(3), 0.0).is_sure


def test_one_candidate_agrees_with_itself():
    assert judge([LocalAnswer("Paris")], alike(1), 0.7).is_sure


def test_an_interrupted_file_keeps_what_was_answered():
    class Asker(SiteAsker):
        def __init__(self):
            self.answered = 0

        def ask(self, query):
            self.answered += 1
            return query.text

    def count(_cost):
        raise Interrupted("Interrupted.")

    lines = [InputLine(number, make_query(f"Why {number}?")) for number in (1, 2)]
    report = Asker().ask_all(lines, count)
    assert report.answers == ["Why 1?"]
    assert isinstance(report.stopped, Interrupted)
