"""The rules read English only: other languages are told from it, and what is English is not left out."""

from pathlib import Path

import pytest

from drag_graph.distill.patterns.language import are_english
from drag_graph.distill.triple_extraction import from_patterns
from drag_graph.ports.run_journal import UNREAD
from tests.unit.step_builders import evidence, query

SENTENCES = [line.partition(" ") for line in Path(__file__).with_name("other_languages.txt").read_text("utf-8").splitlines()]


def test_sentences_of_other_languages_are_recognised_by_themselves():
    """A sentence without any function word or accent may be missed, at most 2 in 100."""
    missed = [text for _, _, text in SENTENCES if are_english([text])[0]]
    assert len(missed) <= 0.02 * len(SENTENCES), missed


@pytest.mark.parametrize(
    "text",
    [
        "Midway is located on U.S. Route 167.",
        "Photosynthesis is a process in chloroplasts.",
        "Rio de Janeiro, Puerto de la Cruz, Charles de Gaulle",
        "P-17 | V-1234 | CN-88 | 40 bar | 10 weeks",
        "Fjordmetall | product: castings | lead time: 10 weeks",
        "Müller and Özdemir visited São Paulo with the Café Müller staff.",
        "Die casting shapes metal under pressure.",
        "The company 宁波阀门有限公司 supplies valves for the pump.",
        "Plus, it's a nice café with a great view.",
        "Smith et al. measured 4.2 mmol at 37 °C.",
        "",
    ],
)
def test_names_codes_and_tables_do_not_make_english_foreign(text):
    assert are_english([text]) == [True]


def test_what_a_text_leaves_open_its_source_decides():
    german = ["Die Pumpe wird von der Werkstatt geprüft.", "Das Ventil ist undicht und muss ersetzt werden."]
    english = ["The pump is checked by the workshop.", "This valve leaks, and it must be replaced."]
    assert are_english([*german, "Produkt: Gussteile"]) == [False, False, False]
    assert are_english([*english, "Produkt: Gussteile", german[0]]) == [True, True, True, False]
    assert are_english([*german, english[0]]) == [False, False, True]


def extracted(*texts):
    return from_patterns(query(), evidence(texts))[0]


def test_the_rules_make_no_triples_of_other_languages_and_say_so():
    german = "Wartungsanweisung für die Pumpe P-17."
    extraction = extracted("The valve V-3 controls the pump P-17.", german, "阀门V-3控制水泵P-17。")
    assert {triple.evidence_id for triple in extraction.triples} == {"e0"}
    assert extraction.notes == (f"{UNREAD}; 2 of 3 passages are in another language.",)
    assert (extraction + extracted(german)).notes == (*extraction.notes, f"{UNREAD}; 1 of 1 passages are in another language.")
    assert extracted("The valve V-3 controls the pump P-17.").notes == ()
