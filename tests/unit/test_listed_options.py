"""Options that a question lists in its text."""

import pytest

from drag_graph.service.listed_options import listed_options

STEM, OPTIONS = "What drives it?", ("steam", "hot water")


@pytest.mark.parametrize(
    "text",
    [
        "What drives it? A) steam B) hot water",
        "What drives it?\nA) steam\nB) hot water",
        "What drives it?\n\n  A. steam\n  B. hot water",
        "What drives it? A. steam B. hot water",
        "What drives it? (A) steam, (B) hot water",
        "What drives it?\n(A) steam\n\n(B) hot water\n",
        "What drives it?\nA) steam; B) hot water",
    ],
)
def test_options_are_recognised(text):
    assert listed_options(text) == (STEM, OPTIONS)


def test_what_follows_belongs_to_the_question():
    assert listed_options("Which?\nA) one\nB) two\nC) three\n\nReply with a letter.") == (
        "Which?\nReply with a letter.",
        ("one", "two", "three"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "What drives it?",
        "What drives it? A) steam",
        "What drives it? B) steam A) water",
        "What drives it? A) steam C) water",
        "What drives it? A) steam B. water",
        "What drives it? A) B) water",
        "A) steam B) water",
        "What did Thomas A. Edison and Kenneth B. Clark write?",
        "It was late. A. Smith met B. Jones. Who paid?",
        "Is it in Appendix (A) or in Appendix (B) of the plan?",
        "a) steam b) water?",
    ],
)
def test_other_texts_have_none(text):
    assert listed_options(text) == (text, ())
