"""Citations and the support of each sentence of an answer."""

import pytest

from drag_graph.ask.support import check, has_no_content, sentences_of, without_wrong_citations
from drag_graph.model import Line
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder


def lines(*texts):
    return [Line(n=n, kind="evidence", text=text, ref=f"e{n}", source_id="q") for n, text in enumerate(texts, 1)]


def checked(answer, *texts):
    return check(answer, lines(*texts), LexicalEmbedder())


def verdicts(answer, *texts):
    return [sentence.is_supported for sentence in checked(answer, *texts)]


@pytest.mark.parametrize(
    ("text", "left", "removed"),
    [
        ("It is old [1]. It is blue [4].", "It is old [1]. It is blue.", (4,)),
        ("It is old [1-3].", "It is old [1-3].", ()),
        ("It is old [2-4].", "It is old [2, 3].", (4,)),
        ("It is old [1, 7].", "It is old [1].", (7,)),
        ("It is old [lines 1 and 7].", "It is old [1].", (7,)),
        ("It is old [0].", "It is old.", (0,)),
        ("It was built in [2024].", "It was built in [2024].", ()),
        ("It is old [5]. Yes [5].", "It is old. Yes.", (5,)),
    ],
)
def test_citations_that_name_no_line_are_removed(text, left, removed):
    assert without_wrong_citations(text, 3) == (left, removed)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It is old. [1] It is blue. [2]", ["It is old. [1]", "It is blue. [2]"]),
        ("It is old [1]. It is blue [2].", ["It is old [1].", "It is blue [2]."]),
        ("Dr. Smith came, e.g. by train. He left.", ["Dr. Smith came, e.g. by train.", "He left."]),
        ("The U.S. law applies. It is old.", ["The U.S. law applies.", "It is old."]),
        ("It costs 3.5 euros. It is old.", ["It costs 3.5 euros.", "It is old."]),
        ("阀门控制水泵。它很旧。", ["阀门控制水泵。", "它很旧。"]),
        ("- It is old\n- It is blue", ["- It is old", "- It is blue"]),
        ("1. It is old.\n2. It is blue.", ["1. It is old.", "2. It is blue."]),
        ("[1]", []),
        ("", []),
    ],
)
def test_an_answer_is_cut_into_sentences_with_their_citations(text, sentences):
    assert sentences_of(text) == sentences


@pytest.mark.parametrize("text", ["Yes.", "No.", "Here is the answer:"])
def test_a_sentence_without_content_is_not_checked(text):
    assert has_no_content(text)
    assert verdicts(text, "The pump is old.") == [None]


def test_a_sentence_is_supported_by_the_line_that_says_it():
    [one, two] = checked(
        "The pump weighs 40 kg. [2] The museum was closed by the mayor.", "The valve leaks.", "Pump | weight: 40 kg"
    )
    assert (one.is_supported, one.line, one.cited, one.absent) == (True, 2, (2,), ())
    assert not two.is_supported


def test_citations_of_a_range_are_all_its_lines():
    [one] = checked("The pump leaks. [1-3]", "The pump leaks.", "a", "b")
    assert one.cited == (1, 2, 3)


@pytest.mark.parametrize(
    ("answer", "absent"),
    [
        ("The pump weighs 41 kg.", ("41",)),
        ("The pump was bought on 4 March 2025.", ("4 March 2025",)),
        ("The pump was bought by Jennifer.", ("Jennifer",)),
    ],
)
def test_numbers_dates_and_names_that_no_line_has_are_always_unsupported(answer, absent):
    [one] = checked(answer, "The pump weighs 40 kg. The pump was bought on 3 March 2025. The pump was bought by Emily.")
    assert one.is_supported is False
    assert one.absent == absent


def test_marks_of_lists_and_named_lines_are_not_numbers_of_the_answer():
    [one, two] = checked("1. The pump leaks.\n2. As line 7 says, the valve leaks.", "The pump leaks.", "The valve leaks.")
    assert (one.absent, two.absent) == ((), ())
    assert one.is_supported
    assert two.is_supported


def test_german_and_chinese_answers_raise_no_false_alarms_of_names():
    assert verdicts(
        "Die Werkstatt prüft die Pumpe im Frühling.", "Im Frühling wird die Pumpe geprüft: Die Werkstatt prüft sie."
    ) == [True]
    assert checked("Das Ventil wird von der Firma ersetzt, wenn es undicht ist.", "Die Pumpe ist neu.")[0].absent == ()
    assert verdicts("阀门控制水泵。", "该阀门控制水泵。") == [True]


def test_a_sentence_may_be_supported_by_several_sentences_of_a_line():
    line = "The harbour is old. The Romans dug it. Ships of all nations call there. It freezes in winter."
    assert verdicts("The old harbour was dug by the Romans.", line) == [True]
