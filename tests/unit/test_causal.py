"""What is made of a language model's text, whatever model it is."""

import math

import pytest

from drag_graph.models.students.causal_student import UNMEASURED, CausalStudent
from drag_graph.testing.students import make_prompt


class Rambling:
    """A base model that answers, then goes on with a question of its own."""

    name, context_window, follows_instructions = "rambling", 4096, False

    def __init__(self, text, log_probabilities):
        self.said = (text, log_probabilities)

    def tokens(self, text, form):
        return [hash(word) for word in text.split()]

    def write(self, prompt, limit, on_token=None):
        return self.said


def answer(text, log_probabilities):
    student = CausalStudent(Rambling(text, log_probabilities))
    return student.answer(make_prompt(student, question="Where is it?", options=()))


def test_the_confidence_is_of_what_is_answered():
    reply = answer(" In Paris\nQuestion: What is", [math.log(0.5), math.log(0.5), -9.0, -9.0, -9.0])
    assert reply.text == "In Paris"
    assert reply.confidence == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("<think> sure sure </think> In Paris", 0.1),
        ("<think> In Paris </think> In Paris", 0.1),
        (" In <think> hm hm </think> Paris", UNMEASURED),  # which tokens are the answer's is not known
    ],
)
def test_the_confidence_is_not_of_the_thoughts(text, confidence):
    reply = answer(text, [math.log(0.99)] * 4 + [math.log(0.1)] * 2)
    assert reply.text.split() == ["In", "Paris"]
    assert reply.confidence == pytest.approx(confidence)


def test_without_probabilities_nothing_is_measured():
    assert answer("In Paris", []).confidence == UNMEASURED


class Counting(Rambling):
    """A base model that finds words the likelier the shorter they are, and keeps what it was asked."""

    def __init__(self):
        super().__init__("", [])
        self.prompts = []

    def tokens(self, text, form):
        return [len(word) for word in text.split()]

    def log_probabilities(self, prompt, continuations):
        self.prompts.append(tuple(prompt))
        return [[-float(len(prompt) + token) for token in tokens] for tokens in continuations]


def test_what_is_likely_without_question_and_lines_is_asked_once():
    model = Counting()
    student = CausalStudent(model, scoring="option-text-mutual-info")
    with_lines, without = make_prompt(student), make_prompt(student, lines=())
    first = student.answer(with_lines)
    mere_word = model.prompts[-1]
    assert len(mere_word) == 1
    student.answer(without)
    assert len(model.prompts) == 3
    assert model.prompts.count(mere_word) == 1
    assert student.answer(with_lines) == first
    student.answer(make_prompt(student, options=("steam", "ice"), lines=()))
    assert model.prompts.count(mere_word) == 2  # for other options it is another question
