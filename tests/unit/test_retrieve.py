"""What a question is searched by, and when something stored is close to it (`drag_graph.ask.retrieval`)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drag_graph.ask.retrieval import (
    MOST_KEYS,
    MOST_TERMS,
    closeness,
    question_keys,
    question_terms,
    same_question,
    thresholds,
    word_shares,
)
from drag_graph.graph.names import concept_key
from drag_graph.ports.graph_search import Hit


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("What do Red Blood Cells carry?", "red blood cell"),
        ("What do red blood cells carry?", "Red blood cells"),
        ("Why is the Great Barrier Reef dying?", "Great Barrier Reef"),
        ("What is the speed of light in glass?", "speed of light"),
        ("What is the speed of light in glass?", "light speed"),
        ("Is haemoglobin made of iron?", "hemoglobin"),
        ("Does DNA hold the plan?", "DNA"),
        ("Is 7 a prime?", "7"),
    ],
)
def test_a_concept_is_named_however_it_is_written(question, name):
    assert concept_key(name) in question_keys(question)


def test_words_that_are_no_names_are_not_looked_for():
    keys = question_keys("What is the use of it all, and which of these is more?")
    assert not {concept_key(word) for word in ("what", "is", "the", "of", "it", "all", "these", "more")} & set(keys)
    assert question_keys("What is it?") == question_keys("") == question_keys("?!") == []


def test_longer_names_come_first():
    keys = question_keys("red blood cells carry oxygen")
    assert keys.index(concept_key("red blood cells")) < keys.index(concept_key("blood cells")) < keys.index(concept_key("red"))


@given(words=st.lists(st.sampled_from("alpha beta Gamma the of 12 delta's".split()), max_size=900))  # noqa: SIM905
def test_a_long_question_has_a_bounded_number_of_names(words):
    keys = question_keys(" ".join(words))
    assert len(keys) <= MOST_KEYS
    assert len(set(keys)) == len(keys)
    assert "" not in keys


def test_an_endless_question_is_cut():
    assert 0 < len(question_keys(" ".join(f"word{n}" for n in range(2000)))) <= MOST_KEYS


def test_a_threshold_is_the_embedders_own_or_given():
    assert thresholds("lexical/2-1024") != thresholds("sentence-transformers/all-MiniLM-L6-v2")
    assert thresholds("lexical/2-1024", 0.9) == thresholds("anything", 0.9)
    assert thresholds("anything", 0.9).line == thresholds("anything", 0.9).answer == 0.9


def test_the_same_words_are_the_same_question():
    hits = [Hit("a", 1.0, "What  IS it?"), Hit("b", 0.9, "What was it?"), Hit("c", 0.8, "what is it?")]
    assert same_question(hits, "What is it?") == ["a", "c"]


def test_a_question_is_searched_by_its_content_words_once_each():
    assert question_terms("Does the pump V-12 of the Pump house leak?") == ["pump", "v12", "v", "12", "house", "leak"]
    assert question_terms("What is it?") == ["what", "is", "it"]
    assert question_terms("?!") == []
    assert question_terms(" ".join(f"word{n}" for n in range(2 * MOST_TERMS))) == [f"word{n}" for n in range(MOST_TERMS)]


def test_a_text_is_the_closer_the_more_rare_words_of_the_question_it_has():
    question = "Does the ferry to Skye leave on Sunday?"
    texts = ["The ferry to Skye leaves at nine.", "The ferry is blue.", "The ferry, again.", "It rains."]
    close = closeness(question, texts, [0.0] * 4)
    assert close == sorted(close, reverse=True)
    assert close[0] > 2 * close[1] > close[3] == 0.0
    assert close[1] == close[2]
    assert closeness(question, texts, [0.1, 0.2, 0.3, 0.4])[3] == 0.4
    assert closeness("Is it?", ["It is.", "No."], [0.5, -0.5]) == [0.5, -0.5]


def test_shares_of_words_are_weighed_by_rarity():
    shares = word_shares("ferry to Skye", ["The ferry to Skye.", "The ferry.", "Skye.", "A ferry, blue.", "Rain."])
    assert shares[0] == 1.0 > shares[2] > shares[1] == shares[3] > shares[4] == 0.0
    assert word_shares("", ["one"]) == [0.0]
    assert word_shares("ferry", []) == []
