import pytest
from hypothesis import given
from hypothesis import strategies as st

from drag_graph.model import LABELS
from drag_graph.models.reasoning import without_reasoning
from drag_graph.models.students.choice_parsing import parse_label

OPTIONS = ("iron", "water", "salt water", "air")
LETTERS = st.sampled_from("ABCD")


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("B", "B"),
        ("b", "B"),
        ("b)", "B"),
        ("B.", "B"),
        ("(B)", "B"),
        ('"B"', "B"),
        ("B - water", "B"),
        ("B: water", "B"),
        ("**B. water**", "B"),
        ("The answer is (B).", "B"),
        ("The correct answer is: b)", "B"),
        ('the answer is "B"', "B"),
        ("The letter of the best option is B.", "B"),
        ("Answer: **(D)** air", "D"),
        ("Answer: C", "C"),
        ("The answer is (C", "C"),
        ("I would choose option B because it is wet", "B"),
        ("I choose A.", "A"),
        ("The answer is A because iron rusts", "A"),
        (r"So \boxed{D}", "D"),
        ("I think\nC\n", "C"),
        ("Hm, that must be (C), I am sure", "C"),
        ("water", "B"),
        ("Salt water", "C"),
        ("It is salt water.", "C"),
        ("A dog is an animal, so the answer is D.", "D"),
        ("Option A and option B are wrong; the correct option is C", "C"),
        ("The answer is not A, it is (C)", "C"),
        ("The answer is a liquid: water", "B"),
        ("<think>maybe A. The answer is A</think>B", "B"),
        ("maybe the answer is A\n</think>\n\nC", "C"),
        ("<|channel|>analysis<|message|>A<|end|><|start|>assistant<|channel|>final<|message|>D", "D"),
    ],
)
def test_a_letter_is_read_however_it_is_said(reply, label):
    assert parse_label(reply, OPTIONS) == label


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "E",
        "I do not know.",
        "A dog is nice",
        "The best option is A liquid",
        "iron and air",
        "Not sure between (A) and (B)",
        "<think>The answer is A",
    ],
)
def test_no_letter_is_made_up(reply):
    assert parse_label(reply, OPTIONS) is None


def test_a_letter_beyond_the_options_does_not_count():
    assert parse_label("The answer is (D)", OPTIONS[:3]) is None


def test_the_pronoun_is_no_letter():
    options = tuple(f"number {n}" for n in range(9))
    assert parse_label("That is the answer I think", options) is None
    assert parse_label("The answer is I", options) == "I"


@given(letter=LETTERS, before=st.sampled_from(["", "Sure! ", "Let me see.\n"]), after=st.sampled_from(["", ".", " - done"]))
def test_an_announced_letter_is_read_in_any_surroundings(letter, before, after):
    assert parse_label(f"{before}The answer is ({letter}){after}", OPTIONS) == letter


@given(text=st.text(max_size=200), count=st.integers(1, 26))
def test_any_text_gives_a_letter_of_the_options_or_none(text, count):
    assert parse_label(text, [f"option {n}" for n in range(count)]) in {*LABELS[:count], None}


@given(thought=st.text(max_size=60).filter(lambda text: "<" not in text), said=st.sampled_from(["B", "It is so."]))
def test_thoughts_are_taken_out(thought, said):
    assert without_reasoning(f"<think>{thought}</think>\n{said}").strip() == said
