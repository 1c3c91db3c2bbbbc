"""The rule-based reader of triples: one sentence a rule, what it must never do, and bad input."""

import pytest

from drag_graph.distill.patterns.reader import CONFIDENCE, ExtractedTriple, extract


def parts(text: str) -> list[tuple[str, str, str]]:
    return [(t.subject, t.predicate, t.object) for t in extract(text)]


READ = [
    ("A lantern is a lamp.", ("lantern", "is", "lamp"), "copula"),
    ("Oslo is the capital of Norway.", ("Oslo", "is the capital of", "Norway"), "copula_of"),
    ("Zinc is known as spelter.", ("Zinc", "is known as", "spelter"), "passive"),
    ("Frost damages leaves.", ("Frost", "damages", "leaves"), "verb"),
    ("Floods are caused by heavy rain.", ("Floods", "are caused by", "heavy rain"), "passive"),
    ("Smoking leads to cough.", ("Smoking", "leads to", "cough"), "verb_preposition"),
    ("Brass consists of copper and zinc.", ("Brass", "consists of", "zinc"), "verb_preposition"),
    ("Gravel contains small stones.", ("Gravel", "contains", "small stones"), "verb"),
    ("The keel is part of the hull.", ("keel", "is part of", "hull"), "copula_of"),
    ("A ladle is used to serve soup.", ("ladle", "is used to serve", "soup"), "used_for"),
    ("Chisels are used for carving wood.", ("Chisels", "are used for carving", "wood"), "used_for"),
    ("Owls have large eyes.", ("Owls", "have", "large eyes"), "have"),
    ("Snails can live in deserts.", ("Snails", "can live in", "deserts"), "verb_preposition"),
    ("Maya's brother is Leo.", ("Maya", "brother is", "Leo"), "possessive"),
    ("The capital of Peru is Lima.", ("Peru", "capital is", "Lima"), "possessive"),
    ("Lima, a port, lies on the coast.", ("Lima", "is", "port"), "apposition"),
    ("A kiln is an oven that bakes clay.", ("kiln", "bakes", "clay"), "relative"),
    ("Peru, where the capital is Lima, is large.", ("Peru", "capital is", "Lima"), "possessive"),
    ("A yak is bigger than a goat.", ("yak", "is bigger than", "goat"), "copula_phrase"),
    ("Sound is produced when strings vibrate.", ("Sound", "is produced when", "strings vibrate"), "condition"),
    ("Ice floats because it is light.", ("Ice", "floats because", "it is light"), "condition"),
    ("Kim believes that cats fly.", ("Kim", "believes that", "cats fly"), "complement"),
    ("In spring, storks build nests.", ("storks", "build nests in", "spring"), "leading_phrase"),
    ("Built in 1900, the bridge crosses the Elbe.", ("bridge", "Built in", "1900"), "participle"),
    ("Beads of water are formed by steam.", ("Beads of water", "are formed by", "steam"), "passive"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected", "rule"), READ)
def test_each_construction_is_read_by_its_rule(text, expected, rule):
    found = [t for t in extract(text) if (t.subject, t.predicate, t.object) == expected]
    assert [t.rule for t in found] == [rule], parts(text)
    assert found[0].confidence == CONFIDENCE[rule]


def test_conjunctions_of_subjects_objects_and_verbs_are_told_apart():
    assert parts("Wind and rain shape rocks.") == [("Wind", "shape", "rocks"), ("rain", "shape", "rocks")]
    assert parts("The box holds pens, glue and tape.") == [
        ("box", "holds", "pens"), ("box", "holds", "glue"), ("box", "holds", "tape"),
    ]  # fmt: skip
    assert parts("The pump lifts water and cools the engine.") == [
        ("pump", "lifts", "water"), ("pump", "cools", "engine"),
    ]  # fmt: skip
    assert parts("Trout are fish and newts are amphibians.") == [
        ("Trout", "are", "fish"), ("newts", "are", "amphibians"),
    ]  # fmt: skip


def test_a_second_prepositional_phrase_is_a_triple_of_its_own():
    assert parts("Photosynthesis makes sugars in plants.") == [
        ("Photosynthesis", "makes", "sugars"),
        ("Photosynthesis", "makes sugars in", "plants"),
    ]


def test_alternatives_are_not_asserted_one_by_one():
    assert parts("The bowl is made of steel or copper.") == [("bowl", "is made of", "steel or copper")]


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("Snakes do not have legs.", "do not have"),
        ("A spider is not a kind of insect.", "is not a kind of"),
        ("Penguins cannot fly over mountains.", "cannot fly over"),
        ("Granite is never made of wood.", "is never made of"),
        ("Glue doesn't stick to wax.", "doesn't stick to"),
        ("Storms may damage roofs.", "may damage"),
        ("Lids should be closed by hand.", "should be closed by"),
    ],
)
def test_negation_and_modal_verbs_stay_in_the_predicate(text, predicate):
    assert [t.predicate for t in extract(text)] == [predicate]


@pytest.mark.parametrize(
    "text",
    [
        "A desert is not a place that has much rain.",
        "A whale is not a fish found in rivers.",
        "Deserts are not places where there are floods.",
        "No bird is an animal that gives milk.",
    ],
)
def test_what_a_denied_noun_would_do_is_not_asserted(text):
    (triple,) = extract(text)
    assert "not" in triple.predicate or triple.subject.startswith("No")


def test_a_condition_is_never_dropped():
    for text in ("If an animal is a mammal, it has fur.", "An animal has fur if it is a mammal."):
        (triple,) = extract(text)
        assert " if" in f"{triple.predicate} {triple.object}", triple
        assert "fur" in f"{triple.predicate} {triple.object}", triple


def test_causing_verbs_do_not_assert_the_bare_object():
    assert parts("Heat causes water to evaporate.") == [("Heat", "causes water to", "evaporate")]


def test_a_pronoun_takes_the_subject_of_the_sentence_before():
    text = "The Danube is a river. It flows through Vienna. Its source is in Germany."
    assert parts(text) == [
        ("Danube", "is", "river"),
        ("Danube", "flows through", "Vienna"),
        ("Danube", "source is in", "Germany"),
    ]


def test_a_pronoun_that_names_nothing_keeps_a_low_confidence():
    (triple,) = extract("It flows through Vienna.")
    assert (triple.subject, triple.rule) == ("It", "pronoun")
    assert triple.confidence < 0.7


@pytest.mark.parametrize("text", ["What flows through Vienna?", "Is brass a metal?", "Does it rain in May?"])
def test_a_question_asserts_nothing(text):
    assert extract(text) == []


@pytest.mark.parametrize(
    "text",
    ["", "   \n\t ", "...", "?!?", "water", "apples, pears, plums", "Chapter 3", "\x00\x01\x02", "\ufffd" * 50, "((((", "« »"],
)
def test_text_without_a_statement_gives_nothing(text):
    assert extract(text) == []


def test_markup_is_blank_and_names_with_points_do_not_end_a_sentence():
    assert parts("<p>Tin is a <b>metal</b>.</p>") == [("Tin", "is", "metal")]
    assert parts("Anna B. Reed was born in St. Louis.") == [("Anna B. Reed", "was born in", "St. Louis")]
    assert parts("He was born on May 5, 1950.")[0][2] == "May 5, 1950"


def test_ends_differ_and_no_triple_comes_twice():
    for text in ("Rust is rust.", "Tin is a metal and tin is a metal."):
        found = extract(text)
        assert all(t.subject.casefold() != t.object.casefold() for t in found)
        assert len(found) == len(set(found))


def test_the_parenthesis_is_worth_less_than_any_strong_rule():
    assert CONFIDENCE["parenthesis"] < 0.7 <= min(CONFIDENCE[rule] for rule in ("copula", "passive", "verb", "used_for"))
    assert all(0 <= value <= 1 for value in CONFIDENCE.values())


def test_extraction_is_deterministic():
    text = "Maples, oaks and elms are trees that lose their leaves in autumn because days grow short."
    assert extract(text) == extract(text)
    assert all(isinstance(triple, ExtractedTriple) for triple in extract(text))
