"""What is taken out of a question before it leaves this machine, and what stays."""

import pytest

from drag_graph.privacy.rewrite import local_rewriter

OPTIONS = ["Mitosis", "Meiosis", "Osmosis", "Diffusion"]


@pytest.fixture(scope="session")
def standard():
    return local_rewriter("standard")


@pytest.fixture(scope="session")
def strict():
    return local_rewriter("strict")


def found(rewriter, question, options=OPTIONS):
    texts = {"question": question, **{f"option:{number}": text for number, text in enumerate(options)}}
    findings = rewriter.rewrite(question, options).findings
    return {(item.type, texts[item.field][item.start : item.end]) for item in findings}


PRIVATE = [
    ("My name is Oddvar Kvisle. Which process makes gametes?", ("PERSON", "Oddvar Kvisle")),
    ("Write to o.kvisle@fjordpost.example when you know which process makes gametes.", ("EMAIL", "o.kvisle@fjordpost.example")),
    ("Call me on +47 22 84 19 05. Which process makes gametes?", ("PHONE", "+47 22 84 19 05")),
    ("I live at 48 Harrowgate Lane. Which process makes gametes?", ("STREET_ADDRESS", "48 Harrowgate Lane")),
    ("I was born on 14 March 1971. Which process makes gametes?", ("DATE_OF_BIRTH", "14 March 1971")),
    ("My password is Tr0ub4dor&3. Which process makes gametes?", ("PASSWORD", "Tr0ub4dor&3")),
    ("My user name is quillfeather88. Which process makes gametes?", ("USER_NAME", "quillfeather88")),
    ("My passport number is KX4471902. Which process makes gametes?", ("PASSPORT", "KX4471902")),
    ("Patient ID RTG-118842 asks which process makes gametes.", ("PATIENT_ID", "RTG-118842")),
    ("My card is 4111 1111 1111 1111. Which process makes gametes?", ("CREDIT_CARD", "4111 1111 1111 1111")),
    ("Pay to DE89 3704 0044 0532 0130 00. Which process makes gametes?", ("IBAN", "DE89 3704 0044 0532 0130 00")),
    ("I am at 59.91273, 10.74609. Which process makes gametes?", ("COORDINATES", "59.91273, 10.74609")),
    ("My server is 81.2.69.142. Which process makes gametes?", ("IP_ADDRESS", "81.2.69.142")),
    ("I am Oddvar Kvisle, 51 years old. Which process makes gametes?", ("AGE", "51")),
    ("As a tram driver named Oddvar Kvisle, I ask which process makes gametes.", ("JOB", "tram driver")),
]


@pytest.mark.parametrize(("question", "expected"), PRIVATE, ids=[item[1][0] for item in PRIVATE])
def test_what_belongs_to_a_person_goes(standard, question, expected):
    assert expected in found(standard, question)


PUBLIC = [
    "Which law did Isaac Newton publish in 1687?",
    "A 54-year-old man has chest pain for two hours. What is the most likely diagnosis?",
    "Which planet is larger, Pluto or Earth?",
    "Parkinson's disease is caused by a loss of dopamine in which part of the brain?",
    "How many chromosomes does Drosophila melanogaster have?",
    "Joe and Mike ran the same race. Joe finished 4 minutes before Mike. When did Joe finish?",
    "What is the capital of France?",
    "Which host does 192.168.1.1 usually name?",
]


@pytest.mark.parametrize("question", PUBLIC)
def test_what_is_public_stays(standard, question):
    assert standard.rewrite(question, OPTIONS).question == question


def test_the_same_person_has_the_same_name_in_question_and_options(standard):
    rewritten = standard.rewrite("My name is Oddvar Kvisle. Who am I?", ["Oddvar Kvisle", "Kvisle", "nobody"])
    assert rewritten.question == "My name is Person A. Who am I?"
    assert rewritten.options[0] == "Person A"
    assert len(set(rewritten.options)) == 3


def test_options_that_only_a_private_detail_tells_apart_stay_different(standard):
    options = ["Call +47 22 84 19 05.", "Call +47 22 84 19 06.", "Call a phone number."]
    rewritten = standard.rewrite("Which number is right?", options)
    assert len(set(rewritten.options)) == 3
    assert not any("22 84" in option for option in rewritten.options)


def test_offsets_and_replacements_give_the_outgoing_text(standard):
    question = "My name is Oddvar Kvisle from Leeds, call +47 22 84 19 05. Which process makes gametes?"
    rewritten = standard.rewrite(question, OPTIONS)
    made, at = "", 0
    for item in rewritten.findings:
        made, at = made + question[at : item.start] + item.replacement, item.end
    assert made + question[at:] == rewritten.question
    assert "a city in England" in rewritten.question


def test_what_was_rewritten_is_not_rewritten_again(standard):
    for question, _ in PRIVATE:
        once = standard.rewrite(question, OPTIONS)
        again = standard.rewrite(once.question, once.options)
        assert (again.question, again.options, again.findings) == (once.question, once.options, ())
        assert standard.private(once.question) == []


def test_an_age_goes_in_strict(strict):
    assert ("AGE", "54") in found(strict, "A 54-year-old man has chest pain. What is the most likely diagnosis?")
