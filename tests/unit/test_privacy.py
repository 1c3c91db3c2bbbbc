"""What is taken out of a question before it leaves this machine, and what stays."""

import logging
import socket
import sys
from textwrap import dedent

import pytest

from drag_graph.errors import MissingExtra, Withheld
from drag_graph.models import spacy_model as english
from drag_graph.ports.private_details import texts_by_field
from drag_graph.privacy import local_rewriter as rewrite
from drag_graph.privacy.failsafe_rewriter import GuardedRewriter
from drag_graph.privacy.local_rewriter import guard, local_rewriter
from drag_graph.privacy.privacy_gate import PrivacyGate, open_gate

OPTIONS = ["Mitosis", "Meiosis", "Osmosis", "Diffusion"]


@pytest.fixture(scope="session")
def standard():
    return local_rewriter("standard")


@pytest.fixture(scope="session")
def strict():
    return local_rewriter("strict")


def found(rewriter, question, options=OPTIONS):
    texts = texts_by_field(question, options)
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
    ("My name is Олена Гавриляк. Which process makes gametes?", ("PERSON", "Олена Гавриляк")),
    ("My name is 王小明. Which process makes gametes?", ("PERSON", "王小明")),
    ("Ask my dentist Ruta Velbik which process makes gametes.", ("PERSON", "Ruta Velbik")),
    ("Oddvar Kvisle, born 3/7/1962, asks which process makes gametes.", ("DATE_OF_BIRTH", "3/7/1962")),
    ("My insurance policy 77422-AZC asks: which process makes gametes?", ("INSURANCE_ID", "77422-AZC")),
    ("My licence plate is KV-318-TR. Which process makes gametes?", ("PLATE", "KV-318-TR")),
    ("I live in Leeds LS6 2QW. Which process makes gametes?", ("POSTCODE", "LS6 2QW")),
    ("I work for Brannick Foods Ltd as Oddvar Kvisle. Which process makes gametes?", ("ORGANIZATION", "Brannick Foods Ltd")),
    ("My SSN is 532-18-4471. Which process makes gametes?", ("NATIONAL_ID", "532-18-4471")),
    ("My NHS number is 943 476 5919. Which process makes gametes?", ("NATIONAL_ID", "943 476 5919")),
    (
        "Use the key sk-proj-4fQ9zLr8TnVw2XyB7cKd5EhJ. Which process makes gametes?",
        ("SECRET", "sk-proj-4fQ9zLr8TnVw2XyB7cKd5EhJ"),
    ),
    ("As a tram driver named Oddvar Kvisle, I ask which process makes gametes.", ("JOB", "tram driver")),
    ("A patient, Mr Khan, aged 54, asks which process makes gametes.", ("PERSON", "Khan")),
    ("I am Rossi, and my knee hurts. Which process makes gametes?", ("PERSON", "Rossi")),
    ("My name is Oddvar Kvisle. Is KVISLE told which process makes gametes?", ("PERSON", "KVISLE")),
    ("I'm Oddvar Kvisle's brother. Which process makes gametes?", ("PERSON", "Oddvar Kvisle")),
    ("Write to o.kvisle (at) fjordpost (dot) example. Which process?", ("EMAIL", "o.kvisle (at) fjordpost (dot) example")),
    ("Mail oddvar dot kvisle at fjordpost dot com. Which process?", ("EMAIL", "oddvar dot kvisle at fjordpost dot com")),
    ("It is oddvar.kvisle at fjordpost dot com. Which process?", ("EMAIL", "oddvar.kvisle at fjordpost dot com")),
    ("Ask oddvar underscore kvisle at fjordpost dot com.", ("EMAIL", "oddvar underscore kvisle at fjordpost dot com")),
    ("My e-mail address is oddvar at fjordpost dot com. Why?", ("EMAIL", "oddvar at fjordpost dot com")),
    ("My user name okvisle_77 is old. Which process makes gametes?", ("USER_NAME", "okvisle_77")),
    ("My login: okvisle_77 / fjord2ark. Which process makes gametes?", ("PASSWORD", "fjord2ark")),
]


@pytest.mark.parametrize(("question", "expected"), PRIVATE, ids=[item[1][0] for item in PRIVATE])
def test_what_belongs_to_a_person_goes(standard, question, expected):
    assert expected in found(standard, question)


PUBLIC = [
    "What do I see when I stare at a red dot in the dark?",
    "Who worked at Amazon dot com before it had profits?",
    "Was there a bubble at pets dot com in 2000?",
    "How long may a user name in MySQL be?",
    "Which law did Isaac Newton publish in 1687?",
    "A 54-year-old man has chest pain for two hours. What is the most likely diagnosis?",
    "Which planet is larger, Pluto or Earth?",
    "Parkinson's disease is caused by a loss of dopamine in which part of the brain?",
    "How many chromosomes does Drosophila melanogaster have?",
    "Joe and Mike ran the same race. Joe finished 4 minutes before Mike. When did Joe finish?",
    "What is the capital of France?",
    "According to Kant, what makes an action right?",
    "What does the theorem of Pythagoras say about a triangle with sides 3, 4 and 5?",
    "In 1914 the archduke was shot in Sarajevo. What followed?",
    "A 3-year-old girl from Brazil has a fever of 39.5 and a pulse of 120. What is the most likely cause?",
    "What is H2SO4 called, and at what pH between 1.5 and 14 does it act?",
    "Which host does 192.168.1.1 usually name?",
    "The patient is Iraqi, I am Hungarian. Which process makes gametes?",
]


@pytest.mark.parametrize("question", PUBLIC)
def test_what_is_public_stays(standard, question):
    assert standard.rewrite(question, OPTIONS).question == question


REWRITTEN = [
    ("My IP is 10.1.2.3. What is rust?", "My IP is an IP address. What is rust?"),
    (
        "Ｍｙ　ｅｍａｉｌ is ｂｏｂ＠ｅｘａｍｐｌｅ．ｃｏｍ. What is rust?",
        "Ｍｙ　ｅｍａｉｌ is an e-mail address. What is rust?",
    ),
    ("Mail bob&#64;example.com what 3 &lt; x means.", "Mail an e-mail address what 3 &lt; x means."),
    ("Is <b>Odd&nbsp;Kvisle</b> born 1970-02-03 my neighbour?", "Is <b>Person A</b> born a date in the 1970s my neighbour?"),
    (
        "She lives at 12 Quellmoor Lane, Dunsthorpe, and her dog barks. Why?",
        "She lives at a street address, and her dog barks. Why?",
    ),
    ("I live at 12 Quellmoor Lane, no shop is near. Why?", "I live at a street address, no shop is near. Why?"),
    (
        "Card 4111 1111 1111 1111, IBAN GB29 NWBK 6016 1331 9268 19, and SSN 536-90-4399. Why?",
        "Card a payment card number, IBAN a bank account number, and SSN an identity number. Why?",
    ),
    (
        "Reach me at 12 Quellmoor Lane, Dunsthorpe, Phone +44 7700 900123. Why?",
        "Reach me at a street address, Phone a phone number. Why?",
    ),
    ("Is Tel. 089/1234567 in use?", "Is Tel. a phone number in use?"),
    ("Is Vardelin Consulting a firm?", "Is an organization a firm?"),
    ("I ordered a lamp from Zentroly. Why?", "I ordered a lamp from an organization. Why?"),
    ("The mould is in Suite 179 of Quellmoor Lane. Why?", "The mould is in a street address of street address 2. Why?"),
    ("A leak at Ilverka 77, 10000 Zagreb. Why?", "A leak at a street address. Why?"),
    ("Oddvar Kvisle\nVardelin\nWhy is the sky blue?", "Person A\na named thing\nWhy is the sky blue?"),
]


@pytest.mark.parametrize(("question", "expected"), REWRITTEN, ids=[expected for _, expected in REWRITTEN])
def test_a_detail_goes_whole_and_alone(standard, question, expected):
    assert standard.rewrite(question, ()).question == expected


@pytest.fixture
def acme(tmp_path, monkeypatch):
    """A rewriter next to an installed package with a detector of bays."""
    code = """
        import re

        def find(text):
            if "bay fail" in text:
                raise RuntimeError(text)
            kind = "WARD" if "bay bad" in text else "EMPLOYEE_ID"
            pattern = r"x*" if "bay empty" in text else r"^.*bay wide.*$" if "bay wide" in text else r"bay \\w+"
            yield from ((m.start(), m.end(), kind) for m in re.finditer(pattern, text))
    """
    (tmp_path / "acme_bays.py").write_text(dedent(code))
    info = tmp_path / "acme_bays-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-bays\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[drag_graph.detectors]\nbays = acme_bays:find\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield local_rewriter("standard")
    sys.modules.pop("acme_bays", None)


def test_a_detector_of_another_package_finds_more(acme, standard):
    question = "Anna Berg of bay seven wrote to o.kvisle@fjordpost.example. Which process makes gametes?"
    assert found(acme, question) == {*found(standard, question), ("EMPLOYEE_ID", "bay seven")}
    assert acme.version == f"{standard.version}; bays of acme-bays 1.2", "adding a detector changes the settings hash"


def test_a_detector_of_another_package_takes_nothing_from_our_findings(acme, standard):
    question = "My name is Anna Berg, and I keep my badge at a safe place in bay wide."
    assert found(standard, question, ()) < found(acme, question, ())
    assert "Anna" not in acme.rewrite(question, ()).question
    outgoing = acme.rewrite("Anna Berg of bay seven asks which process makes gametes.", ()).question
    assert acme.private(outgoing) == [], "what was replaced is not found again"


@pytest.mark.parametrize("name", ["bay fail", "bay bad", "bay empty"])
def test_a_detector_of_another_package_that_fails_withholds_the_question(acme, name):
    with pytest.raises(Withheld, match="a detector failed") as caught:
        GuardedRewriter(acme).rewrite(f"Who is at {name}?", ())
    assert name not in str(caught.value)


def test_what_is_written_as_html_is_found_in_options_and_bytes(standard):
    rewritten = standard.rewrite("Who is it &ndash; &#66;?", ["nobody", "Ask ｂｏｂ&#64;example.com."])
    assert (rewritten.question, rewritten.options) == ("Who is it &ndash; &#66;?", ("nobody", "Ask an e-mail address."))
    assert [(item.start, item.end) for item in rewritten.findings] == [(4, 23)]
    assert [(item.type, item.start) for item in standard.structured("&lt;a&gt; bob&#64;example.com")] == [("EMAIL", 10)]


def test_strict_replaces_every_unknown_capitalised_word_within_a_sentence(strict):
    rewritten = strict.rewrite("Why does Glyrenka avoid Einstein, DNA and July?", ())
    assert rewritten.question == "Why does a named thing avoid Einstein, DNA and July?"


def test_a_part_of_a_version_is_no_date(strict):
    assert strict.rewrite("Is version 10.1.2.3 newer?", ()).question == "Is version 10.1.2.3 newer?"


def test_a_place_is_not_hidden_by_words_that_read_like_a_replacement(standard):
    assert (
        standard.rewrite("I grew up in a city in Grimsthorpe. What is rust?", ()).question
        == "I grew up in a city in a place. What is rust?"
    )


def test_what_stands_for_a_user_name_makes_no_label_of_itself(standard):
    rewritten = standard.rewrite("I am @quillfeather88, please say which process makes gametes.", ())
    assert rewritten.question == "I am a user name, please say which process makes gametes."


def test_a_city_between_an_age_and_a_name_is_a_city(standard):
    rewritten = standard.rewrite(
        "A 54-year-old man from Leeds named Ali Khan has chest pain after meals. Which drug helps?", OPTIONS
    )
    asked = "A 50 to 59-year-old man from a city in England named Person A has chest pain after meals. Which drug helps?"
    assert rewritten.question == asked


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


def test_an_address_at_the_end_of_a_question_does_not_reach_into_its_options(standard):
    options = ["Azithromycin", "Imipenem", "Streptomycin"]
    question = "Which one helps? For my sister Ruta Velbik, who lives at 12 rue Kestovar, Grevling."
    rewritten = standard.rewrite(question, options)
    assert list(rewritten.options) == options
    assert "Grevling" not in rewritten.question
    assert rewritten.question.endswith(".")


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


NOT_STRUCTURED = [
    "The interval is 1999-2004, and 3.14159 is close to pi.",
    "See page 111-23 of volume 166 (1964).",
    "The id 529d-2876-6155-3338 is of no person.",
    "Matrix [[12, 34, 56], [78, 90, 12]], 100 000 000 units, 1,234,567.89 dollars",
    "version 10.2.3.4, ratio 1:2:3, 192.168.0.12",
]


@pytest.mark.parametrize("text", NOT_STRUCTURED)
def test_plain_numbers_are_not_structured_details(standard, text):
    assert standard.structured(text) == []


def test_structured_details_are_found_in_escaped_bytes(standard):
    text = '{"content": "mail o.kvisle@fjordpost.example\\nor +47 22 84 19 05, card 4111111111111111"}'
    assert {item.type for item in standard.structured(text)} == {"EMAIL", "PHONE", "CREDIT_CARD"}


def test_nothing_is_fetched_logged_or_written(standard, monkeypatch, caplog):
    """The public suffix list above all, which Presidio's own recognizer of e-mail addresses would fetch at first use."""

    def refuse(*_, **__):
        raise AssertionError("a detector reached for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    written = []
    watching = True

    def watch(event, arguments):
        if watching and event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
            written.append(arguments[0])

    sys.addaudithook(watch)
    with caplog.at_level(logging.DEBUG):
        for question, _ in PRIVATE:
            standard.rewrite(question, OPTIONS)
            standard.structured(question)
            standard.private(question)
    watching = False
    assert written == []
    assert not any(detail in caplog.text for _, (_, detail) in PRIVATE if len(detail) > 3)


@pytest.mark.parametrize("module", ["presidio_analyzer", "phonenumbers", "spacy", "threadpoolctl"])
def test_a_missing_package_is_named_with_what_installs_it(monkeypatch, module):
    monkeypatch.setattr(rewrite, "find_spec", lambda name: None if name == module else object())
    with pytest.raises(MissingExtra) as caught:
        local_rewriter("standard")
    assert "drag-graph[privacy]" in caught.value.hint


@pytest.mark.parametrize("level", ["standard", "strict"])
def test_without_a_name_model_no_level_opens(monkeypatch, level):
    """Without one, `standard` sent "My doctor, Dr. Helen Park, said I need insulin" unchanged and said nothing."""
    monkeypatch.setattr(english, "MODELS", ("no_such_model",))
    with pytest.raises(MissingExtra, match="names of persons would be missed") as caught:
        local_rewriter(level)
    assert "python -m spacy download" in caught.value.hint
    with pytest.raises(MissingExtra, match=f"level '{level}'") as caught:
        open_gate(level)
    assert "python -m spacy download" in caught.value.hint
    assert guard().startswith("none: No English spaCy model is installed")


def test_the_guarding_model_is_named_with_its_version(standard):
    assert guard() in standard.version
    assert guard().startswith("en_core_web_sm")


NO_JOBS = [
    (
        "My name is Oddvar Kvisle, I live at 12 Quellmoor Lane, and I cough. Why?",
        "My name is Person A, I live at a street address, and I cough. Why?",
    ),
    (
        "My name is Oddvar Kvisle, I work at Brannick Foods, and I cough.",
        "My name is Person A, I work at an organization, and I cough.",
    ),
    (
        "I met Oddvar Kvisle, and the following year at Harvard we fell out.",
        "I met Person A, and the following year at an organization we fell out.",
    ),
    ("My name is Oddvar Kvisle, I asked my doctor why.", "My name is Person A, I asked my doctor why."),
    (
        "My name is Oddvar Kvisle, head of arts and crafts at Brannick Foods.",
        "My name is Person A, a professional at an organization.",
    ),
    ("I am Oddvar Kvisle, a dental hygienist at Brannick Foods.", "I am Person A, a professional at an organization."),
]


@pytest.mark.parametrize(("question", "expected"), NO_JOBS, ids=[item[0][:40] for item in NO_JOBS])
def test_a_clause_after_a_name_is_no_job(standard, question, expected):
    assert standard.rewrite(question, ()).question == expected


@pytest.mark.parametrize("number", ["07911 123456", "2125552368", "(794) 655-6454", "+76 446 888 4033"])
def test_valid_and_invented_telephone_numbers_are_found(standard, number):
    assert [item.type for item in standard.structured(f"call {number} now")] == ["PHONE"]


def test_a_number_of_a_card_needs_its_check_digit(standard):
    assert [item.type for item in standard.structured("4111 1111 1111 1111, 4111 1111 1111 1112")] == ["CREDIT_CARD"]


def test_what_stays_is_told_with_its_reason(standard):
    kept = standard.rewrite("Which law did Isaac Newton publish?", OPTIONS).kept
    assert [(item.type, item.why) for item in kept] == [("PERSON", "the person is known to the public")]


def test_a_word_without_an_end_is_not_shown_to_the_model(standard, monkeypatch):
    """Its tokenizer takes 30 s for 20,000 characters, in which nobody else gets to work: no deadline would hold."""
    seen = []
    model = standard._model
    monkeypatch.setattr(standard, "_model", lambda text: seen.append(text) or model(text))
    question = "'s" * 300 + " My colleague Oddvar Kvisle asks why."
    assert found(standard, question, ()) == {("PERSON", "Oddvar Kvisle")}
    assert [len(text) for text in seen[:1]] == [len(question)]
    assert max(len(word) for text in seen for word in text.split()) < 500


def test_an_age_goes_in_strict(strict):
    assert ("AGE", "54") in found(strict, "A 54-year-old man has chest pain. What is the most likely diagnosis?")


def test_of_a_passage_that_leaves_persons_go_and_the_world_stays(standard):
    gate = PrivacyGate(GuardedRewriter(standard))
    world = "Glaciers of the Alps: Louis Agassiz studied how the ice flows."
    assert gate.generalised_passage(world) == world
    said = gate.generalised_passage("Li Hua asked Wolfgang Schulz by wolfgang@example.org how the ice of the Alps flows.")
    assert said.startswith("Person A asked Person B by an e-mail address how the ice of")
    assert not [name for name in ("Li Hua", "Schulz", "example.org") if name in said]
