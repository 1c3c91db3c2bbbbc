"""What `nearest` quotes in answer to an open question, and when it abstains."""

import numpy as np
import pytest

from drag_graph.graph.specifics import Specifics
from drag_graph.model import Line
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.students.nearest_student import ABSTENTION, NearestStudent
from drag_graph.models.students.quotation import COMPARED, texts_of
from drag_graph.ports.model_roles import Prompt


class CountingEmbedder(LexicalEmbedder):
    """Remembers the texts that it embedded."""

    def __init__(self):
        super().__init__()
        self.texts = []

    def embed(self, texts):
        self.texts += texts
        return super().embed(texts)


def span(text, opening="", source="notes"):
    return Line(n=1, kind="span", text=f"{opening}{text}", ref="ref", source_id=source, opening=opening)


def ask(question, *lines, embedder=None, on_token=None):
    student = NearestStudent(embedder or LexicalEmbedder())
    numbered = tuple(line.model_copy(update={"n": n}) for n, line in enumerate(lines, start=1))
    return student.answer(Prompt(question, (), numbered, "", 0), on_token)


def test_a_quotation_says_that_it_is_one():
    reply = ask("What do bees make?", span("Cows give milk. Bees make honey. Rain is wet."))
    assert (reply.text, reply.quoted, reply.abstained) == ("Bees make honey.", True, False)


def test_a_row_of_a_table_is_quoted_whole():
    rows = (
        "Brennerstahl | product: bolts | lead time: 3 weeks",
        "Fjordmetall | product: castings nos. 1. and 2. | lead time: 10 weeks",
    )
    reply = ask("What is the lead time of Fjordmetall?", *map(span, rows))
    assert reply.text == rows[1]


def test_a_heading_gives_credit_to_the_sentences_under_it():
    lotus = span("The board approved 4 million euros.", "a.md > Budget of Lotus: ", "a")
    orchid = span("The board approved 5 million euros.", "b.md > Budget of Orchid: ", "b")
    assert ask("What is the budget of Orchid?", lotus, orchid).text == "The board approved 5 million euros."
    assert ask("What is the budget of Lotus?", lotus, orchid).text == "The board approved 4 million euros."


class Preferring(LexicalEmbedder):
    """Embeds texts so that one with "4 M" is slightly more similar to every question."""

    def embed(self, texts):
        vectors = super().embed(texts)
        return vectors / np.array([[1.0 if "4 M" in text else 1.02] for text in texts])


def test_of_two_documents_that_contradict_each_other_the_first_is_quoted_unless_the_other_fits_clearly_better():
    old = span("The budget of Orchid is 4 M.", "old.md, 2023: ", "old")
    new = span("The budget of Orchid is 5 M.", "new.md, 2025: ", "new")
    reply = ask("What is the budget of Orchid?", new, old, embedder=Preferring())
    assert reply.text == "The budget of Orchid is 5 M."
    assert ask("What is the budget of Orchid?", old, new).text == "The budget of Orchid is 4 M."
    assert ask("What was the budget of Orchid in 2023?", new, old).text == "The budget of Orchid is 4 M."


def test_a_heading_is_never_the_answer():
    heading, sentence = span("Budget of Orchid", source="a"), span("The budget of Orchid is 5 million euros.", source="b")
    assert ask("What is the budget of Orchid?", heading, sentence).text == "The budget of Orchid is 5 million euros."
    assert ask("What is the budget of Orchid?", heading).abstained


def test_the_heading_holds_for_later_spans_of_its_document():
    lines = (
        span("The board met.", "b.md > Budget of Orchid: ", "b"),
        span("The board approved 4 million euros.", source="a"),
        span("The board approved 5 million euros.", source="b"),
    )
    assert ask("How many million euros is the budget of Orchid?", *lines).text == "The board approved 5 million euros."


def test_a_sentence_about_another_identifier_is_not_quoted():
    other = span("The valve V-1063 closes at 40 degrees. It opens at 20 degrees.", source="a")
    right = span("The valve V-1234 closes when it is hot.", source="b")
    question = "At how many degrees does the valve V-1234 close?"
    assert ask(question, other, right).text == "The valve V-1234 closes when it is hot."
    assert ask(question, other).abstained


def test_a_number_in_the_question_prefers_the_sentence_that_has_it():
    reply = ask("When does order 7731 leave?", span("Order 7732 leaves on 13 March. Order 7731 leaves on 27 March."))
    assert reply.text == "Order 7731 leaves on 27 March."


def test_a_question_in_the_lines_is_no_answer():
    reply = ask("How long is the warranty?", span("How long is the warranty? The warranty is three years."))
    assert reply.text == "The warranty is three years."


def test_an_edge_loses_to_the_sentence_that_it_restates():
    edge = Line(n=1, kind="edge", text="[bees] --make--> [honey]", ref="edge", source_id="notes")
    assert ask("What do bees make?", edge, span("Bees make honey.")).text == "Bees make honey."


def test_it_abstains_from_what_the_lines_do_not_answer():
    heard = []
    reply = ask(
        "What color did the neighbour paint the walls of the basement?",
        span("We met in the basement to play the guitar. Bring the neighbour along."),
        on_token=heard.append,
    )
    assert (reply.text, reply.abstained, reply.quoted, reply.confidence) == (ABSTENTION, True, False, 0.0)
    assert heard == [ABSTENTION]


@pytest.mark.parametrize(
    ("runner_up", "is_lower"),
    [("The lead time of Fjordmetall was 12 weeks.", True), ("10 weeks is the lead time of Fjordmetall.", False)],
)
def test_the_confidence_falls_if_another_sentence_says_something_else(runner_up, is_lower):
    question, best = "What is the lead time of Fjordmetall?", "The lead time of Fjordmetall is 10 weeks."
    alone, beside = ask(question, span(best)), ask(question, span(best), span(runner_up, source="other"))
    assert beside.text in {best, runner_up}
    assert (beside.confidence < alone.confidence - 0.1) is is_lower


def test_no_more_sentences_are_embedded_than_compared():
    embedder = CountingEmbedder()
    ask("What do bees make?", span(" ".join(f"Bees make honey number {n}." for n in range(50))), embedder=embedder)
    assert 0 < len(embedder.texts) <= COMPARED + 1


def test_a_sentence_does_not_end_after_a_title():
    assert texts_of(span("Dr. Lund met Mr. Reiter. They agreed.")) == ["Dr. Lund met Mr. Reiter.", "They agreed."]
    assert texts_of(span("保修期为三年。滤网每月清洗。")) == ["保修期为三年。", "滤网每月清洗。"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Valve V-1234, board NL-3301.", {("v", "1234"), ("nl", "3301")}),
        ("Order 7731 has 400 brackets.", {("order", "7731")}),
        ("On 27 March 2025, 5 kg for 20 euros at 9:00.", set()),
    ],
)
def test_identifiers_have_a_kind_and_a_number(text, found):
    assert Specifics(text).identifiers == found


def test_a_text_is_about_another_thing_if_it_has_only_other_identifiers_of_the_kind():
    asked = Specifics("What does V-1234 weigh?")
    assert asked.is_about_other("V-1063 weighs 4 kg.")
    assert not asked.is_about_other("V-1234 replaces V-1063.")
    assert not asked.is_about_other("Order 12 weighs 4 kg.")
    assert not Specifics("What does the valve weigh?").is_about_other("V-1063 weighs 4 kg.")
