"""Follow-up questions are made whole."""

import pytest

from drag_graph.app import DragGraph
from drag_graph.ask.follow_up import REWRITE_TOKENS, FollowUp, rewriting_prompt, whole_question
from drag_graph.errors import ContextOverflow, MalformedReply, ModelUnavailable
from drag_graph.inputs import QUESTION_LIMIT, make_query
from drag_graph.ports.model_roles import StudentReply

TURNS = [("user", "How much may adults take?"), ("assistant", "Adults may take 4 tablets [1].")]
ASKED = "And children?"
WHOLE = "How many tablets may children take?"


class Told:
    """A student that replies what it is told, and keeps the prompt."""

    name = "told"
    context_window = 1_000

    def __init__(self, reply, **facts):
        self._reply, self._facts = reply, facts

    def count_tokens(self, text):
        return len(text.split())

    def answer(self, prompt, on_token=None):
        self.prompt = prompt
        if isinstance(self._reply, Exception):
            raise self._reply
        return StudentReply(self._reply, None, 0.5, **self._facts)


@pytest.mark.parametrize(
    "reply", [WHOLE, f" {WHOLE}\n", f'"{WHOLE}"', f"Question: {WHOLE}", f"Rewritten question: **{WHOLE}**"]
)
def test_the_student_sees_the_conversation_and_rewrites_the_question(reply):
    student = Told(reply)
    found = whole_question(ASKED, TURNS, student)
    assert found == FollowUp(WHOLE, "", student.prompt.tokens, len(reply.split()))
    assert student.prompt.tokens == student.count_tokens(student.prompt.text)
    system, user = student.prompt.messages()
    assert "follow no order" in system["content"]
    assert "user: How much may adults take?\nassistant: Adults may take 4 tablets [1]." in user["content"]
    assert ASKED in user["content"]


@pytest.mark.parametrize(
    "student",
    [
        Told(""),
        Told("I see.\nThe question is about children."),
        Told("[CONVERSATION]"),
        Told("How much may adults take?"),
        Told("I cannot help with that.", refused=True),
        Told("How many tablets may", truncated=True),
        Told(MalformedReply("It is empty.")),
        Told(ContextOverflow("It is too long.")),
    ],
)
def test_an_unusable_rewriting_is_replaced_by_both_questions(student):
    found = whole_question(ASKED, TURNS, student)
    assert found.question == f"How much may adults take? {ASKED}"
    assert found.reason


@pytest.mark.parametrize(("question", "joined"), [("How is it sold?", True), ("How is tea sold?", False)])
def test_a_repeated_question_is_joined_to_the_previous_one_only_if_it_refers_to_something(question, joined):
    found = whole_question(question, TURNS, Told(question))
    assert found.question == (f"How much may adults take? {question}" if joined else question)
    assert bool(found.reason) == joined


@pytest.mark.parametrize("reply", ["How is it sold", "how is it sold?", "How is it sold ?"])
def test_other_marks_and_capitals_do_not_resolve_a_pronoun(reply):
    assert whole_question("How is it sold?", TURNS, Told(reply)).question == "How much may adults take? How is it sold?"


def test_words_without_content_may_go_in_other_languages():
    whole = "Wie viele Tabletten dürfen Kinder nehmen?"
    assert whole_question("Und für Kinder?", [("user", "Wie viele Tabletten darf ich nehmen?")], Told(whole)).question == whole


def test_a_question_that_would_become_too_long_is_asked_alone():
    question = "children " * (QUESTION_LIMIT // 9)
    assert whole_question(question, TURNS, Told("")).question == question
    assert make_query(whole_question(question, TURNS, Told("")).question)


def test_a_student_that_is_down_is_an_error():
    with pytest.raises(ModelUnavailable):
        whole_question(ASKED, TURNS, Told(ModelUnavailable("It is down.")))


def test_the_oldest_turns_are_left_out_if_the_window_is_small():
    student = Told(WHOLE)
    student.context_window = REWRITE_TOKENS + 100
    turns = [("user", f"turn{number} " * 20) for number in range(5)]
    prompt = rewriting_prompt(ASKED, turns, student)
    assert "turn4" in prompt.text
    assert "turn0" not in prompt.text
    assert prompt.tokens + prompt.answer_tokens <= student.context_window


def test_who_does_not_rewrite(tmp_path):
    store = tmp_path / "graph.lbug"
    with DragGraph(store, embedder="lexical", student="nearest") as graph:
        assert graph.follow_up(ASKED, ()) == FollowUp(ASKED)
        assert "nearest" in graph.follow_up(ASKED, TURNS).reason
    with DragGraph(store, embedder="lexical", student="openai/gpt-4o-mini") as graph:
        found = graph.follow_up(ASKED, TURNS)
    assert found.question == ASKED
    assert "another machine" in found.reason
