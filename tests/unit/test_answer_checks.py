"""What is known about the answer to an open question besides its text."""

from drag_graph.ask.answer_checks import AnswerChecker, is_unsupported
from drag_graph.ask.answer_notes import notes_on
from drag_graph.model import Line
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.ports.model_roles import StudentReply

LINES = [
    Line(n=n, kind="evidence", text=text, ref=f"e{n}", source_id="q")
    for n, text in enumerate(("The pump weighs 40 kg.", "The valve leaks in winter."), 1)
]


def checked(text, lines=LINES, **marks):
    return AnswerChecker(LexicalEmbedder()).checked(StudentReply(text, None, 1.0, **marks), lines)


def test_each_sentence_has_its_lines_and_whether_they_support_it():
    _, facts = checked("The pump weighs 40 kg. It was bought by Jennifer in Vienna [2].")
    assert facts["sentences"] == [
        {"text": "The pump weighs 40 kg.", "lines": [1], "supported": True},
        {
            "text": "It was bought by Jennifer in Vienna [2].",
            "lines": [2],
            "supported": False,
            "absent": ["Jennifer", "Vienna"],
        },
    ]
    assert is_unsupported(facts)
    assert notes_on(facts) == [
        "Not supported by the lines: It was bought by Jennifer in Vienna [2]. (in no line: Jennifer, Vienna)"
    ]


def test_citations_of_no_line_are_removed_and_noted():
    reply, facts = checked("The pump weighs 40 kg [1] [7].")
    assert reply.text == "The pump weighs 40 kg [1]."
    assert notes_on(facts) == ["Removed citations of lines that do not exist: 7."]


def test_a_quotation_is_supported_by_its_line():
    _, facts = checked("The valve leaks in winter.", quoted=True)
    assert facts["sentences"] == [{"text": "The valve leaks in winter.", "lines": [2], "supported": True}]


def test_without_lines_nothing_is_checked():
    _, facts = checked("The pump weighs 41 kg.", lines=[])
    assert facts == {
        "sentences": [{"text": "The pump weighs 41 kg.", "lines": [], "supported": None}],
        "abstained": False,
        "truncated": False,
    }
