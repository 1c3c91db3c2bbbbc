"""Which replies abstain or refuse."""

import pytest

from drag_graph.models.students.open_answers import is_abstention, is_refusal


@pytest.mark.parametrize(
    "text",
    [
        "The lines do not answer the question.",
        "The numbered lines do not mention a dessert.",
        "The provided passages don\u2019t contain this information. [1]",
        "The name of the hotel is not mentioned in the lines.",
        "There is no information about the dessert.",
        "This cannot be determined from the lines.",
        "The question is not answered by the lines.",
        "I cannot answer the question from the given lines.",
        "I don't know, the lines are about pumps.",
        "It is unclear from the lines when they met.",
        "None of the lines mention a dessert.",
        "The sources do not say.",
        "The information is not available in the text.",
        "Insufficient information.",
        "Unknown.",
        "There is insufficient information to answer.",
        "We would need more details about the patient: I need more context.",
        "I'm not sure, but perhaps Paris.",
        "The exact weight is not given. [2]",
        "The lines are silent on the price.",
        "It does not say who wrote it.",
    ],
)
def test_a_reply_that_says_the_lines_do_not_answer_abstains(text):
    assert is_abstention(text)
    assert not is_refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "The pump does not contain lead. [1]",
        "The contract does not include the second pump.",
        "No, he did not mention the text.",
        "There is no dessert on the menu. [2]",
        "He did not provide the document in time.",
        "The museum does not give information on Mondays.",
        "The audit could not show a second signature.",
        "It is not included in the price. [1]",
        "Gliomas cannot be found early.",
        "She said that she does not know Paris.",
        "The cause of the disease is unknown to medicine.",
        "He was given the prize in 1921.",
        "Information is a resource.",
        "No information was lost in the transfer. [2]",
        "Patients need more details about side effects. [1]",
        "Marta Olsen; the text does not mention any other engineer.",
    ],
)
def test_a_denial_of_the_lines_is_an_answer(text):
    assert not is_abstention(text)
    assert not is_refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't assist with that.",
        "As an AI, I am unable to share personal details.",
        "I cannot help with this request.",
    ],
)
def test_a_reply_that_declines_is_a_refusal(text):
    assert is_refusal(text)
