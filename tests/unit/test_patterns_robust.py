"""Whatever the text is, reading it ends soon, raises nothing, and keeps its promises."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.extraction_metrics import content_words, coverage
from drag_graph.distill.patterns.reader import extract
from drag_graph.distill.patterns.tagging import FINITE, tag
from drag_graph.distill.patterns.text import MAX_CHARACTERS, MAX_TOKENS, join, sentences
from drag_graph.distill.patterns.verbs import forms, third_person
from drag_graph.distill.patterns.words import lexicon

MEGABYTE = 1_000_000
# Words, marks and forms that the rules branch on.
VOCABULARY = [
    *("the", "a", "cats", "water", "is", "are", "not", "which", "that", ",", "and", "or", "if", "when", "because"),
    *("of", "in", "to", "by", "make", "makes", "made", "making", "however", "(", ")", '"', "'", "-", ";", ":", "."),
    *("?", "it", "they", "'s", "1950", "May", "Paris", "used", "has", "there", "as", "than", "quickly"),
]


@pytest.mark.parametrize(
    "unit",
    ["a", "a ", "Tin is a metal. ", "(", "(a ", '"a', "<", "<a", "Cats and dogs, ", "A's ", "that is ", "if cats eat , ",
     ". ", "\x00\u00ff", "1,", "a-", "a.", "and of ", "May 5, 19 ", "it is not that ", "\n- ", "\n \n", "which is a cat ",
     "because it rains ", "to make "],
)  # fmt: skip
def test_a_megabyte_is_read_in_a_few_seconds(unit):
    text = unit * (MEGABYTE // len(unit))
    start = time.process_time()
    extract(text)
    assert time.process_time() - start < 20  # hours, if a pattern were tried again at each place


def test_time_grows_with_the_text_and_stops_at_the_limit():
    long = "Tin is a metal. " * (2 * MAX_CHARACTERS // 16)
    assert extract(long) == extract(long[:MAX_CHARACTERS])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(VOCABULARY), max_size=60))
def test_any_order_of_words_is_read_without_error(words):
    for triple in extract(" ".join(words)):
        assert all(part.strip() for part in (triple.subject, triple.predicate, triple.object))
        assert triple.subject.casefold() != triple.object.casefold()
        assert 0 <= triple.confidence <= 1


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_read_without_error(text):
    assert isinstance(extract(text), list)


def test_long_sentences_are_cut_into_pieces():
    assert max(len(piece) for piece in sentences("tall green trees , " * 500)) <= MAX_TOKENS


@pytest.mark.parametrize(
    ("text", "verb"),
    [
        ("The rock changes shape.", "changes"),
        ("Plants use light.", "use"),
        ("The use of light helps plants.", "helps"),
        ("Light travels fast.", "travels"),
        ("The team played in Rome.", "played"),
    ],
)
def test_the_verb_is_told_from_nouns_of_the_same_form(text, verb):
    (tokens,) = sentences(text)
    assert [token.text for token in tag(tokens) if token.tag in FINITE] == [verb]


def test_verb_forms_are_inflected_from_the_list():
    assert third_person("carry") == "carries"
    assert third_person("push") == "pushes"
    assert forms("stopped").inflections == {"past", "participle"}
    assert forms("written").inflections == {"participle"}
    assert forms("making").inflections == {"gerund"}
    assert not forms("uses").pure
    assert forms("contains").pure
    assert forms("granite") is None


def test_a_list_that_the_lexicon_lacks_is_an_error():
    with pytest.raises(KeyError):
        lexicon("no such list")


def test_joined_tokens_read_as_the_sentence_did():
    text = "The bird's nest (old), built in May, holds 3.5 kg of twigs"
    (tokens,) = sentences(text)
    assert join(tokens) == text


FACTS = [
    "A thermometer is used to measure the temperature of the air.",
    "Granite is an igneous rock that forms when magma cools slowly underground.",
    "Most spiders spin webs of silk to catch insects.",
    "In winter, some birds fly south because food is scarce.",
    "The roots of a plant absorb water and minerals from the soil.",
    "Copper conducts electricity better than iron.",
    "Salt can be obtained by evaporating sea water in shallow ponds.",
    "Earthquakes occur along faults between tectonic plates.",
    "Vinegar, a weak acid, dissolves the shell of an egg.",
    "Many people in the valley speak two languages and work in Basel.",
]


def test_short_triples_keep_nearly_all_content_words_of_plain_facts():
    figures = coverage((text, [(t.subject, t.predicate, t.object) for t in extract(text)]) for text in FACTS)
    assert figures.read == 1
    assert figures.kept > 0.95
    assert figures.length < 1.6
    for text in FACTS:
        for triple in extract(text):
            assert content_words(triple.object) < content_words(text)
