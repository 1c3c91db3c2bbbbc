"""A triple's ends must occur in the evidence that it names."""

import pytest

from drag_graph.distill import triple_extraction as extract
from drag_graph.graph.grounding import Grounds
from tests.unit.step_builders import evidence, reply

NYMPHS = "Insects undergoing incomplete metamorphosis change from nymphs to adults, says the W.H.O., without a pupa."


@pytest.mark.parametrize(
    ("text", "subject", "object_"),
    [
        (NYMPHS, "The nymph", "an adult"),
        (NYMPHS, "Incomplete Metamorphosis (biology)", "insect"),
        (NYMPHS, "World Health Organization", "pupae"),
        ("Deoxyribonucleic acid stores what a cell inherits.", "DNA", "inherited traits of the cell"),
        ("The rock cycle moves sea water.", "seawater", "cycle of rocks"),
        ("An American director was born on 29 May 1918.", "America", "1918-05-29"),
        ("India has 1,293,057,000 people and 98.0 dams.", "1293057000", "98 dams"),
        ("北京是中国的首都。", "北京", "中国"),
        ("It causes fever.", "It", "fever"),
    ],
)
def test_an_end_occurs_in_another_form(text, subject, object_):
    assert Grounds(text).problem(subject, object_) == ""


@pytest.mark.parametrize(
    ("subject", "object_", "said"),
    [
        ("the question", "nymphs", '"the question" does not occur in'),
        ("nymphs", "caterpillars and butterflies", '"caterpillars and butterflies" does not occur in'),
        ("aspirin", "fever", '"aspirin" and "fever" do not occur in'),
        ("type 2 diabetes", "adults", '"type 2 diabetes" does not occur in'),
        ("2019", "adults", '"2019" does not occur in'),
        ("...", "adults", '"..." does not occur in'),
    ],
)
def test_what_does_not_occur_is_named(subject, object_, said):
    assert Grounds("Nymphs of insects become adults without a pupa.").problem(subject, object_) == said


def test_an_evidence_without_words_grounds_nothing():
    assert Grounds("...").problem("a", "b") == '"a" and "b" do not occur in'


def test_a_made_up_triple_is_discarded_and_the_word_of_people_is_doubted():
    about = evidence(["Plants absorb carbon dioxide.", "Wind makes waves."])
    made_up = {"subject": "the question", "predicate": "was", "object": "not found", "confidence": 0.9, "evidence": [0]}
    muddled = {"subject": "plants", "predicate": "absorb", "object": "carbon dioxide", "confidence": 0.9, "evidence": [0, 1]}
    got = extract.read(reply("triples", [made_up, muddled]), about)
    assert [raw.evidence_id for raw in got.triples] == ["e0"]
    assert got.discarded == (
        '"the question was not found": "the question" and "not found" do not occur in "Plants absorb carbon dioxide."',
        '"plants absorb carbon dioxide": "plants" and "carbon dioxide" do not occur in "Wind makes waves."',
    )
    by_people = extract.read(reply("triples", [made_up, muddled]), about, by_people=True)
    assert [raw.evidence_id for raw in by_people.triples] == ["e0", "e0", "e1"]
    assert (by_people.discarded, by_people.doubted) == ((), got.discarded)
