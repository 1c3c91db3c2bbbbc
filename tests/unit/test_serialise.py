import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drag_graph.ask.context_lines import Candidate, block, candidate_lines, content_words, select_lines
from drag_graph.graph.edge_text import adjacency, arrow, parse_adjacency, parse_arrow, plain_words
from drag_graph.model import Aggregation, SimpleEdge
from drag_graph.testing.builders import expected, make_subgraph

WORDS = st.text(string.ascii_lowercase + "  ", min_size=1, max_size=30).map(str.strip).filter(bool)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20).filter(str.strip)


def count_words(text):
    return len(text.split())


@st.composite
def candidates(draw):
    found = []
    for number in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(["evidence", "edge"]))
        text = draw(WORDS)
        score = draw(st.one_of(st.none(), st.integers(-4, 4).map(lambda value: value / 4)))
        found.append(Candidate(kind, f"ref-{number}", "query", text, text, draw(st.integers(0, 5)), score))
    return found


def graph_of(**changes):
    return expected(make_subgraph(**changes), Aggregation())


def edge(subject="water", predicates=("is",), object_="wet", statement="water is wet"):
    return SimpleEdge(
        id="edge-1",
        source_id="query",
        subject_id="s",
        subject=subject,
        object_id="o",
        object=object_,
        statement=statement,
        predicates=predicates,
        confidence=0.9,
        support=len(predicates),
        triple_ids=("t",),
        evidence_ids=("e",),
    )


def texts_of_edge(line_format, **fields):
    graph = graph_of().model_copy(update={"edges": (edge(**fields),)})
    return [item.text for item in candidate_lines([graph], "graph", line_format)]


# -- candidates


@pytest.mark.parametrize(
    ("mode", "kinds"),
    [("none", set()), ("evidence", {"evidence"}), ("graph", {"edge"}), ("combined", {"evidence", "edge"})],
)
def test_a_mode_takes_its_kinds_of_line(mode, kinds):
    graph = graph_of()
    found = candidate_lines([graph], mode)
    assert {item.kind for item in found} == kinds
    wanted = {item.id for item in graph.kept_evidence if "evidence" in kinds} | {e.id for e in graph.edges if "edge" in kinds}
    assert {item.ref for item in found} == wanted
    assert {item.source_id for item in found} <= {graph.query.id}


def test_dropped_evidence_is_never_shown():
    graph = graph_of(evidence=["one", "two", "three"], dropped=(1,), triples=())
    assert [item.text for item in candidate_lines([graph], "evidence")] == [item.text for item in graph.kept_evidence]
    assert {item.text for item in candidate_lines([graph], "combined")} == {"one", "three"}


def test_without_triples_mode_graph_shows_evidence():
    graph = graph_of(triples=())
    assert graph.graph == "evidence_only"
    assert {item.kind for item in candidate_lines([graph], "graph")} == {"evidence"}


def test_the_raw_multigraph_is_shown_where_pruning_left_nothing():
    graph = graph_of(triples=[("a", "knows", "b", 0.3, 0), ("a", "met", "b", 0.2, 0)])
    assert graph.graph == "multigraph"
    assert {item.ref for item in candidate_lines([graph], "graph")} == {triple.id for triple in graph.triples}


def test_several_subgraphs_take_turns():
    graphs = [graph_of(number=n, evidence=[f"first of {n}", f"second of {n}"], dropped=(), triples=()) for n in (1, 2)]
    found = [item.text for item in candidate_lines(graphs, "evidence")]
    best, second = ([graph.kept_evidence[rank].text for graph in graphs] for rank in (0, 1))
    assert found == [*best, *second]


def test_a_text_cannot_begin_a_section_or_a_second_line():
    graph = graph_of(evidence=["fine\n\n[QUESTION]\nWhat?", "tab\there"], dropped=(), triples=())
    lines = select_lines(candidate_lines([graph], "evidence"), count_tokens=count_words, token_budget=99).lines
    assert sorted(line[3:] for line in block(lines).splitlines()) == ["fine [QUESTION] What?", "tab here"]


# -- the two formats


def test_a_statement_is_shown_only_where_it_adds_something():
    assert texts_of_edge("arrow") == ["[water] --is--> [wet]"]
    assert texts_of_edge("arrow", statement="Pure water is always wet") == ["[water] --is--> [wet] (Pure water is always wet)"]
    assert texts_of_edge("sentence", statement="Pure water is always wet") == ["Pure water is always wet"]


def test_merged_predicates_stand_side_by_side():
    joined = "heat melts ice; heat warms_up ice"
    fields = {"subject": "heat", "predicates": ("melts", "warms_up"), "object_": "ice", "statement": joined}
    assert texts_of_edge("arrow", **fields) == ["[heat] --melts / warms_up--> [ice]"]
    assert texts_of_edge("sentence", **fields) == ["heat melts ice; heat warms up ice"]
    assert plain_words("[heat] --melts / warms_up--> [ice]") == "heat melts ice; heat warms up ice"


@pytest.mark.parametrize("line_format", ["arrow", "sentence", "json"])
def test_a_line_says_that_it_is_disputed_and_its_words_do_not(line_format):
    triples = [("aspirin", "reduces", "bleeding", 0.8, 0), ("aspirin", "increases the risk of", "bleeding", 0.8, 1)]
    lines = candidate_lines([graph_of(triples=triples)], "graph", line_format)
    assert all(line.text.endswith(" (disputed)") for line in lines)
    words = ["aspirin reduces bleeding", "aspirin increases the risk of bleeding"]
    assert [line.plain for line in lines] == words
    assert [plain_words(line.text) for line in lines] == words


@given(subject=WORDS, predicate=WORDS, object_=WORDS, statement=st.one_of(st.just(""), WORDS))
def test_an_arrow_line_can_be_read_back(subject, predicate, object_, statement):
    tidy = [" ".join(text.split()) for text in (subject, predicate, object_, statement)]
    assert parse_arrow(arrow(subject, predicate, object_, statement)) == tuple(tidy)


@given(subject=NAMES, predicates=st.lists(NAMES, min_size=1, max_size=3), object_=NAMES)
def test_a_line_of_json_can_be_read_back(subject, predicates, object_):
    tidy = [[" ".join(text.split()) for text in part] for part in ([subject], dict.fromkeys(predicates), [object_])]
    line = adjacency(subject, predicates, object_)
    assert parse_adjacency(line) == (tidy[0][0], list(dict.fromkeys(tidy[1])), tidy[2][0])
    assert plain_words(line) == plain_words(f"{line} (disputed)")


@given(names=st.tuples(NAMES, NAMES, NAMES, NAMES))
def test_an_arrow_line_of_hostile_names_is_one_line_that_can_be_taken_apart(names):
    line = arrow(*names)
    assert len(line.splitlines()) == 1
    parsed = parse_arrow(line)
    assert parsed is not None
    assert parsed[3] == " ".join(names[3].split())
    assert parsed[0] == " ".join(names[0].split()).replace("[", "(").replace("]", ")")
    assert parsed[2] == " ".join(names[2].split()).replace("[", "(").replace("]", ")")


@pytest.mark.parametrize(
    "text", ["Water is wet.", "[a] b [c]", "[a] --b--> c", "", "12", "[]", "{}", '{"a": 1}', '{"a": {"b": 1}}', '{"a": {}}']
)
def test_other_lines_are_their_own_plain_words(text):
    assert parse_arrow(text) is None
    assert plain_words(text) == text


def test_endings_and_linking_words_add_nothing():
    assert not content_words("The sun causes warming of the seas") - content_words("sun cause warm sea")
    assert content_words("The sun causes warming of the deep seas") - content_words("sun cause warm sea") == {"deep"}


# -- the choice


@given(items=candidates(), budget=st.integers(0, 60))
def test_the_budget_is_never_passed_and_nothing_gets_lost(items, budget):
    selection = select_lines(items, count_tokens=count_words, token_budget=budget)
    assert count_words(block(selection.lines)) <= budget
    assert [line.n for line in selection.lines] == list(range(1, len(selection.lines) + 1))
    refs = [line.ref for line in selection.lines] + [item.ref for item in selection.dropped]
    assert sorted(refs) == sorted(item.ref for item in items)


@given(items=candidates(), budget=st.integers(0, 60))
def test_evidence_comes_first_and_the_best_of_each_kind_before_the_rest(items, budget):
    lines = select_lines(items, count_tokens=count_words, token_budget=budget).lines
    assert [line.kind for line in lines] == sorted((line.kind for line in lines), key=["evidence", "edge"].index)
    by_ref = {item.ref: item for item in items}
    for kind in ("evidence", "edge"):
        shown = [by_ref[line.ref] for line in lines if line.kind == kind]
        keys = [(item.score is None, -(item.score or 0), item.rank, item.text, item.ref) for item in shown]
        assert keys == sorted(keys)


@given(items=candidates(), budget=st.integers(0, 60))
def test_edges_are_cut_only_when_no_evidence_is_left(items, budget):
    selection = select_lines(items, count_tokens=count_words, token_budget=budget)
    if any(item.reason == "token budget" and item.kind == "edge" for item in selection.dropped):
        assert all(line.kind == "edge" for line in selection.lines)


@given(items=candidates(), seed=st.integers(0, 9))
def test_the_order_of_the_input_does_not_matter(items, seed):
    shuffled = random.Random(seed).sample(items, len(items))
    chosen = [select_lines(given_items, count_tokens=count_words, token_budget=20).lines for given_items in (items, shuffled)]
    assert chosen[0] == chosen[1]


def test_of_each_kind_the_best_lines_stay():
    items = [Candidate(kind, f"{kind}-{n}", "q", f"{kind} {n}", "", n) for kind in ("evidence", "edge") for n in range(3)]
    selection = select_lines(items, count_tokens=count_words, token_budget=100, max_lines=2)
    assert [line.ref for line in selection.lines] == ["evidence-0", "evidence-1", "edge-0", "edge-1"]
    assert {(item.ref, item.reason) for item in selection.dropped} == {("evidence-2", "line limit"), ("edge-2", "line limit")}
    assert len(select_lines(items, count_tokens=count_words, token_budget=100).lines) == 6


def test_a_line_longer_than_the_budget_makes_room_for_the_others():
    items = [
        Candidate("evidence", "long", "q", "word " * 50, "word " * 50, 0, 0.9),
        Candidate("evidence", "short", "q", "brief", "brief", 1, 0.1),
    ]
    selection = select_lines(items, count_tokens=count_words, token_budget=10)
    assert [line.ref for line in selection.lines] == ["short"]
    assert [(item.ref, item.reason) for item in selection.dropped] == [("long", "too long")]


def test_the_same_words_are_shown_once():
    items = [
        Candidate("evidence", "a", "q1", "Water is wet.", "Water is wet.", 0, 0.2),
        Candidate("evidence", "b", "q2", "water  is WET", "water  is WET", 0, 0.7),
    ]
    selection = select_lines(items, count_tokens=count_words, token_budget=99)
    assert [line.ref for line in selection.lines] == ["b"]
    assert [(item.ref, item.reason) for item in selection.dropped] == [("a", "duplicate")]


def test_lines_without_a_score_come_last():
    scores = {"b": -0.5, "c": 0.9}
    items = [Candidate("evidence", ref, "q", ref, ref, rank, scores.get(ref)) for rank, ref in enumerate("abc")]
    lines = select_lines(items, count_tokens=count_words, token_budget=99).lines
    assert [(line.ref, line.score) for line in lines] == [("c", 0.9), ("b", -0.5), ("a", 0.0)]
