"""Whether a local answer is sure: what students say when they lack information, and when answers agree."""

from types import SimpleNamespace

import numpy as np
import pytest

from drag_graph.errors import Interrupted, MalformedReply, Withheld
from drag_graph.inputs import InputLine, make_query
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.ports.model_roles import StudentReply
from drag_graph.sites.agreement import LocalAnswer, judge
from drag_graph.sites.model_gate import compare
from drag_graph.sites.site_asker import SiteAsker, verdict_on


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


class Judging:
    """A student with a scripted judgement."""

    def __init__(self, text):
        self.text, self.prompts = text, []

    def count_tokens(self, text):
        return len(text.split())

    def answer(self, prompt):
        self.prompts.append(prompt)
        if not self.text:
            raise MalformedReply("The student returned an empty answer.")
        return StudentReply(self.text, None, 0.5)


@pytest.mark.parametrize(
    ("text", "judgement"),
    [
        ('{"similarity": 0.9, "best": 2}', (0.9, 1)),
        ('```json\n{"similarity": "N/A", "reason": "nothing is said", "best": 1}\n```', (None, 0)),
        ('{"similarity": null, "best": 1}', (None, 0)),
        ('{"similarity": 1, "best": 3}', None),
        ('{"similarity": 90, "best": 1}', None),
        ('{"similarity": 1.5, "best": 1}', None),
        ('{"similarity": 1.0, "best": 1}', (1.0, 0)),
        ("They agree.", None),
        ("", None),
    ],
)
def test_the_student_compares_its_answers(text, judgement):
    student = Judging(text)
    assert compare(student, "Where was he born?", ["In Ulm.", "In\nBern."]) == judgement
    (prompt,) = student.prompts
    assert "1. In Ulm.\n2. In Bern.\n</passages-" in prompt.text
    assert "Where was he born?" in prompt.text


def test_answers_that_the_gate_withholds_from_the_student_are_compared_by_the_formula():
    class Remote(Judging):
        def answer(self, prompt):
            raise Withheld("A private detail would leave this machine.")

    assert compare(Remote(""), "Where was he born?", ["In Ulm.", "In Bern."]) is None


def answered(text, **more):
    answer = SimpleNamespace(text=text, label=None, options=(), question="Where was he born?")
    given = {"answer": answer, "probabilities": (), "is_unaided": False, "is_answered": True, "abstained": False}
    return SimpleNamespace(**(given | more))


def test_the_judgement_of_the_student_replaces_the_formula():
    answers = [answered("In Ulm."), answered("In Ulm."), answered("He was born in the city of Ulm.")]

    def verdict(text, some=answers, threshold=0.5):
        return verdict_on(some, LexicalEmbedder(), threshold, Judging(text) if text is not None else None)

    formula = verdict(None)
    assert formula.best == 0
    sure = verdict('{"similarity": 0.9, "best": 3}')
    assert (sure.is_sure, sure.best, sure.agreement) == (True, 2, 0.9)
    unsure = verdict('{"similarity": 0.2, "best": 3}')
    assert (unsure.is_sure, unsure.why) == (False, "the agreement of its answers is 0.20, below 0.50")
    lacking = verdict('{"similarity": null, "best": 1}', threshold=0.0)
    assert (lacking.is_sure, lacking.lacking) == (False, 1.0)
    assert verdict("They agree.") == formula
    silent = [answered("It does not say.", abstained=True), answered("In Ulm.")]
    assert verdict('{"similarity": 1, "best": 1}', silent).lacking == 0.5, "the student is not asked about these"
    assert verdict('{"similarity": 1, "best": 1}', answers[:1]) == verdict(None, answers[:1])
