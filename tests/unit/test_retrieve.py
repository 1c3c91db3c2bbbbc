import pytest
from hypothesis import given
from hypothesis import strategies as st

from drag_graph.ask.line_weights import Way
from drag_graph.ask.retrieval import (
    MOST_KEYS,
    NAMED,
    NEIGHBOURS,
    closeness,
    closest_evidence,
    question_keys,
    relevant_lines,
    same_question,
    seeds_of,
    thresholds,
    weighed_lines,
)
from drag_graph.graph.expansion import Step, Walk, assemble_expansion
from drag_graph.graph.names import concept_key
from drag_graph.model import Aggregation
from drag_graph.ports.graph_search import Candidates, Hit, Seed
from drag_graph.testing.builders import expected, make_subgraph


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


def test_seeds_are_what_is_near_enough_and_what_is_named():
    found = Candidates(
        queries=(Hit("q1", 0.9, "one?"), Hit("q2", 0.5, "two?"), Hit("q3", 0.49, "three?")),
        evidence=(Hit("e1", 0.7, "one", "q1"), Hit("e2", 0.4, "two", "q2")),
        named=(
            Hit("c1", 1.0, "cell", "", "c1", 900),
            Hit("c2", 1.0, "red cell", "", "k", 40),
            Hit("c3", 1.0, "iron", "", "c3", 7),
        ),
        similar=(Hit("c4", 0.8, "red cells", "", "k", 3), Hit("c5", 0.2, "far", "", "c5", 3)),
    )
    seeds = seeds_of(found, 0.5, 0.6, 0.6)
    assert [(seed.kind, seed.id, seed.source_id) for seed in seeds.seeds] == [
        ("query", "q1", "q1"),
        ("query", "q2", "q2"),
        ("evidence", "e1", "q1"),
        ("concept", "k", ""),
        ("concept", "c3", ""),
        ("concept", "c1", ""),
    ]
    assert seeds.ranks["k"] == (("concept", 1), ("similar concept", 1))
    assert seeds.seeds[3].score == pytest.approx(2 / 61)
    assert not seeds.only_queries
    assert seeds_of(Candidates(queries=found.queries), 0.5, 0.6, 0.6).only_queries
    assert seeds_of(Candidates(queries=found.queries), 0.95, 0.6, 0.6).seeds == ()


def test_a_text_is_the_closer_the_more_rare_words_of_the_question_it_has():
    question = "Does the ferry to Skye leave on Sunday?"
    texts = ["The ferry to Skye leaves at nine.", "The ferry is blue.", "The ferry, again.", "It rains."]
    close = closeness(question, texts, [0.0] * 4)
    assert close == sorted(close, reverse=True)
    assert close[0] > 2 * close[1] > close[3] == 0.0
    assert close[1] == close[2]
    assert closeness(question, texts, [0.1, 0.2, 0.3, 0.4])[3] == 0.4
    assert closeness("Is it?", ["It is.", "No."], [0.5, -0.5]) == [0.5, -0.5]


def test_evidence_is_ranked_by_vector_and_words():
    hits = [
        Hit("near", 0.6, "A boat sails.", "d"),
        Hit("told", 0.5, "The ferry to Skye leaves.", "d"),
        Hit("far", 0.1, "-", "d"),
    ]
    found = closest_evidence("When does the ferry to Skye leave?", hits)
    assert [hit.id for hit in found] == ["told", "near", "far"]
    assert found[1].score == 0.6


def test_the_number_of_seeds_is_bounded():
    many = [Hit(f"{n:03}", 0.9, f"name {n}", "", f"{n:03}") for n in range(100)]
    seeds = seeds_of(Candidates(queries=tuple(many), named=tuple(many), similar=tuple(many)), 0.5, 0.5, 0.5).seeds
    assert sum(1 for seed in seeds if seed.kind == "query") == NEIGHBOURS
    assert sum(1 for seed in seeds if seed.kind == "concept") <= 2 * NAMED


@pytest.fixture
def graph():
    return expected(make_subgraph(), Aggregation())


def test_a_line_has_a_way_for_each_list_that_leads_to_it(graph):
    first = graph.edges[0]
    seeds = seeds_of(
        Candidates(
            queries=(Hit(graph.query.id, 0.9, graph.query.text),),
            named=(Hit("c", 1.0, "mitosis", "", "c"),),
            similar=(Hit("c", 0.9, "mitosis", "", "c"),),
        ),
        0.5,
        0.5,
        0.5,
    )
    ways = {edge.id: [(0, graph.query.id)] for edge in graph.edges} | {first.id: [(0, graph.query.id), (1, "c")]}
    lines = weighed_lines(assemble_expansion([graph], ways, seeds.seeds), seeds, "combined", "sentence")
    by_ref = {line.candidate.ref: line for line in lines}
    assert set(by_ref) == {*(item.id for item in graph.kept_evidence), *(edge.id for edge in graph.edges)}
    assert set(by_ref[first.id].ways) == {Way("query", 1), Way("concept", 1, 1), Way("similar concept", 1, 1)}
    assert by_ref[first.id].weight == pytest.approx(2 / 61 * first.confidence)
    assert by_ref[graph.edges[1].id].weight == pytest.approx(graph.edges[1].confidence / 61)
    assert {
        line.candidate.kind
        for line in weighed_lines(assemble_expansion([graph], ways, seeds.seeds), seeds, "graph", "sentence")
    } == {"edge"}


def test_a_line_that_a_concept_led_to_must_be_near_itself(graph):
    item = graph.edges[0]
    seeds = seeds_of(Candidates(named=(Hit("c", 1.0, "mitosis", "", "c"),)), 0.5, 0.5, 0.5)
    lines = weighed_lines(assemble_expansion([graph], {item.id: [(1, "c")]}, seeds.seeds), seeds, "graph", "sentence")
    assert [line.candidate.ref for line in lines] == [item.id]
    assert relevant_lines(lines, {item.id: 0.5}, 0.5) == (lines, [])
    assert relevant_lines(lines, {item.id: 0.49}, 0.5) == ([], [lines[0].candidate])
    assert relevant_lines(lines, {}, 0.5) == ([], [lines[0].candidate])


def test_of_a_question_with_options_a_line_must_bear_on_one(graph):
    item = graph.edges[0]
    seeds = seeds_of(Candidates(named=(Hit("c", 1.0, "mitosis", "", "c"),)), 0.5, 0.5, 0.5)
    lines = weighed_lines(assemble_expansion([graph], {item.id: [(1, "c")]}, seeds.seeds), seeds, "graph", "sentence")
    for answers, relevant in (({item.id: 0.6}, lines), ({item.id: 0.59}, []), ({}, []), (None, lines)):
        assert relevant_lines(lines, {item.id: 0.9}, 0.5, answers=answers, answer_threshold=0.6)[0] == relevant


def test_an_edge_without_its_provenance_is_not_reached(graph):
    item = graph.edges[0]
    ways = {item.id: [(1, "c")]}
    seeds = [Seed("concept", "c")]
    assert assemble_expansion([graph], ways, seeds).reached
    gone = set(item.triple_ids)
    for broken in (
        {"triples": tuple(triple for triple in graph.triples if triple.id not in gone)},
        {"calls": ()},
        {"evidence": ()},
    ):
        assert assemble_expansion([graph.model_copy(update=broken)], ways, seeds).reached == ()


def test_the_frontier_is_of_the_strongest_steps():
    walk = Walk(
        [
            Step("weak", "q", 0.5, ("a", "b"), 1, "s", 1.0),
            Step("strong", "q", 0.9, ("b", "c"), 1, "s", 1.0),
            Step("of a weak seed", "q", 1.0, ("d", "e"), 1, "t", 0.1),
        ]
    )
    assert [(entity, step.edge_id) for entity, step in walk.frontier(3)] == [("b", "strong"), ("c", "strong"), ("a", "weak")]
