"""What a question is searched by, and when something stored is close to it (`drag_graph.ask.retrieval`)."""

from drag_graph.ask.retrieval import (
    MOST_TERMS,
    closeness,
    question_terms,
    same_question,
    thresholds,
    word_shares,
)
from drag_graph.ports.graph_search import Hit


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
