import pytest
from pydantic import ValidationError

from drag_graph.model import (
    Aggregation,
    Answer,
    Entity,
    Evidence,
    Line,
    Query,
    SimpleEdge,
    TeacherCall,
    Triple,
    edges_of_triples,
    sentence_of,
)
from drag_graph.testing.builders import expected, make_answer, make_subgraph

GRAPH = make_subgraph()
STORED = expected(GRAPH, Aggregation())
SAMPLES = [GRAPH.query, GRAPH.calls[0], GRAPH.evidence[0], GRAPH.entities[0], GRAPH.triples[0], STORED.edges[0], Aggregation()]
SAMPLES += [STORED, make_answer(1, [STORED], refs=[("evidence", GRAPH.evidence[0].id)])]


@pytest.mark.parametrize("value", SAMPLES, ids=lambda value: type(value).__name__)
def test_values_are_frozen_and_survive_json(value):
    name = next(iter(type(value).model_fields))
    with pytest.raises(ValidationError):
        setattr(value, name, "other")
    with pytest.raises(ValidationError):
        type(value)(**{**value.model_dump(), "unheard_of": 1})
    assert type(value).model_validate_json(value.model_dump_json()) == value


@pytest.mark.parametrize(
    ("kind", "field", "values"),
    [
        (Triple, "confidence", [-0.01, 1.01, float("nan"), float("inf"), "high", None]),
        (Triple, "evidence_id", ["", " "]),
        (Triple, "call_ids", [(), ("",), (" ",), "call"]),
        (Triple, "subject", ["", "\n"]),
        (Triple, "predicate", ["", "\t "]),
        (Evidence, "cosine", [-1.1, 1.1, float("nan")]),
        (Evidence, "llm_score", [0.9, 10.1, 0, float("nan")]),
        (Evidence, "score", [float("nan"), float("inf")]),
        (TeacherCall, "cost_usd", [-0.01, float("nan"), float("inf")]),
        (Evidence, "framing", ["poetic"]),
        (Evidence, "text", ["", "  "]),
        (Evidence, "position", [-1]),
        (SimpleEdge, "support", [0, -1]),
        (SimpleEdge, "confidence", [7]),
        (Query, "complexity", [-0.1, 1.1]),
        (Query, "domain", ["astrology"]),
        (Query, "text", [" \n"]),
        (Query, "options", [("a", " ")]),
        (Entity, "name", [""]),
        (TeacherCall, "tokens_in", [-1]),
        (TeacherCall, "stage", ["thinking"]),
        (Answer, "confidence", [1.5]),
        (Answer, "mode", ["everything"]),
    ],
)
def test_values_out_of_range_are_refused(kind, field, values):
    whole = next(value for value in SAMPLES if isinstance(value, kind)).model_dump()
    kind(**whole)
    for value in values:
        with pytest.raises(ValidationError):
            kind(**{**whole, field: value})


@pytest.mark.parametrize("change", [{"threshold": 1.1}, {"top_k": 0}, {"merge": "median"}, {"strategy": "all"}])
def test_aggregation_settings_out_of_range_are_refused(change):
    with pytest.raises(ValidationError):
        Aggregation(**change)


def test_lines_are_counted_from_one_and_have_something_behind_them():
    line = {"n": 1, "kind": "edge", "text": "a is b", "ref": "x", "source_id": "q"}
    Line(**line)
    for change in ({"n": 0}, {"ref": ""}, {"text": " "}, {"kind": "guess"}):
        with pytest.raises(ValidationError):
            Line(**{**line, **change})


def test_kept_evidence_comes_best_first():
    assert [item.position for item in GRAPH.kept_evidence] == [2, 1, 0]


def test_usable_edges_are_the_simple_ones_by_rank():
    backwards = STORED.model_copy(update={"edges": STORED.edges[::-1]})
    assert backwards.usable_edges == STORED.edges
    assert STORED.edges


def test_usable_edges_of_the_raw_multigraph_are_its_triples():
    raw = STORED.model_copy(update={"graph": "multigraph", "triples": STORED.triples[::-1]})
    assert raw.usable_edges == edges_of_triples(STORED.triples)


def test_the_raw_multigraph_leaves_out_triples_of_dropped_evidence():
    graph = make_subgraph(triples=[("a", "is", "b", 0.1, 0), ("a", "is", "c", 0.9, 3)])
    stored = expected(graph, Aggregation())
    assert stored.graph == "multigraph"
    assert [edge.object for edge in stored.usable_edges] == ["b"]


def test_evidence_only_has_no_usable_edge():
    assert STORED.model_copy(update={"graph": "evidence_only"}).usable_edges == ()


def test_a_triple_as_an_edge_keeps_its_provenance():
    triple = GRAPH.triples[0]
    (edge,) = edges_of_triples([triple])
    assert (edge.id, edge.support, edge.confidence) == (triple.id, 1, triple.confidence)
    assert (edge.triple_ids, edge.evidence_ids) == ((triple.id,), (triple.evidence_id,))
    assert edge.statement == "mitosis is a cell division"


def test_raw_triples_of_one_pair_name_those_that_contradict_them():
    triples = [("a", "reduces", "b", 0.1, 0), ("a", "increases", "b", 0.2, 0), ("b", "reduces", "a", 0.2, 1)]
    first, second, other = expected(make_subgraph(triples=triples), Aggregation()).usable_edges
    assert (first.contradicts, second.contradicts, other.contradicts) == ((second.id,), (first.id,), ())


def test_a_sentence_has_spaces_where_the_predicate_has_underscores():
    assert sentence_of("snake_case", "is_part_of", "a_b") == "snake_case is part of a_b"
