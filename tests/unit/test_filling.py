"""Filling the token budget: spans of documents, evidence and edges."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drag_graph.ask.context_lines import Candidate, SpanPlace, block
from drag_graph.ask.spans import fill
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder

TEXT = "The harbour was dredged in 2024. A Dutch company did it.\n\nShips of nine metres can enter. Jon Dahl is content."
TABLE = "Fjordmetall | product: castings | lead time: 10 weeks\nAlpenglas | product: lenses | lead time: 6 weeks"
COUNTERS = {
    "characters / 4": lambda text: -(-len(text) // 4),
    "words": lambda text: len(text.split()),
    "lexical": LexicalEmbedder().count_tokens,
    "bytes": lambda text: len(text.encode()),
}


def place(start, end, *, text=TEXT, chunk="c1", chunk_start=0, heading=("Harbour",), title="report.txt", date="2026-03-02"):
    return SpanPlace(title, date, heading, chunk, chunk_start, text, chunk_start + start, chunk_start + end)


def passage(start, end, score=1.0, *, source="d1", **where):
    found = place(start, end, **where)
    text = found.chunk_text[start:end]
    ref = f"{source}-{found.chunk_id}-{start}"
    return Candidate("evidence", ref, source, text, text, 0, score, found)


def evidence(text, score=1.0, source="q1"):
    return Candidate("evidence", f"{source}-{text}", source, text, text, 0, score)


def edge(text, score=1.0, source="q1"):
    return replace(evidence(text, score, source), kind="edge", ref=f"edge-{text}")


def filled(*candidates, budget=1000, count="characters / 4", **limits):
    return fill(candidates, count_tokens=COUNTERS[count], token_budget=budget, **limits)


def texts(selection):
    return [line.text for line in selection.lines]


def test_neighbours_are_joined_to_what_the_document_says_there():
    first, second = passage(0, 32), passage(33, 56, 0.5)
    (line,) = filled(second, first).lines
    assert line.text == "report.txt > Harbour, 2026-03-02: The harbour was dredged in 2024. A Dutch company did it."
    assert (line.kind, line.ref, line.evidence_ids) == ("span", first.ref, (first.ref, second.ref))
    assert line.text.removeprefix(line.opening) == TEXT[0:56]


def test_passages_apart_stay_apart_in_the_order_of_the_document():
    text = "Begin. A name. End."
    spans = filled(passage(15, 19, 2.0, text=text), passage(0, 6, 1.0, text=text))
    assert texts(spans) == ["report.txt > Harbour, 2026-03-02: Begin.", "End."]
    assert [line.n for line in spans.lines] == [1, 2]


def test_a_document_is_named_once_and_each_new_heading_once():
    other = {"chunk": "c2", "chunk_start": 200, "heading": ("Harbour", "Costs"), "text": "It costs 2 million euros. No more."}
    spans = filled(
        passage(0, 32),
        passage(33, 56),
        passage(58, 89),
        passage(0, 25, **other),
        passage(0, 6, 0.1, source="d2", title="b.md", date=""),
    )
    assert texts(spans) == [
        f"report.txt > Harbour, 2026-03-02: {' '.join(TEXT[:89].split())}",
        "Harbour > Costs: It costs 2 million euros.",
        "b.md > Harbour: The ha",
    ]


def test_rows_of_a_table_stand_alone():
    end = TABLE.index("\n")
    spans = filled(passage(0, end, text=TABLE), passage(end + 1, len(TABLE), text=TABLE))
    assert [line.text.removeprefix(line.opening) for line in spans.lines] == TABLE.split("\n")


def test_evidence_comes_in_the_order_of_its_score_and_edges_last():
    spans = filled(edge("Wood drives turbine", 9.0), evidence("Second.", 0.5), passage(0, 32, 0.7), evidence("First.", 0.9))
    assert [(line.kind, line.n) for line in spans.lines] == [("evidence", 1), ("span", 2), ("evidence", 3), ("edge", 4)]


def test_what_is_left_out_has_a_reason():
    repeated, limited, long = evidence("first", 0.8), evidence("Third.", 0.2), evidence("word " * 400, 0.9)
    chosen = filled(evidence("First.", 1.0), repeated, evidence("Second.", 0.3), limited, max_lines=2)
    assert [(item.ref, item.reason) for item in chosen.dropped] == [(repeated.ref, "duplicate"), (limited.ref, "line limit")]
    chosen = filled(long, evidence("Short.", 0.1), budget=20)
    assert texts(chosen) == ["Short."]
    assert [(item.ref, item.reason) for item in chosen.dropped] == [(long.ref, "token budget")]


@pytest.mark.parametrize("count", COUNTERS)
@given(
    budget=st.integers(0, 120),
    places=st.lists(st.tuples(st.integers(0, 100), st.integers(1, 60), st.sampled_from("123"), st.floats(0, 5)), max_size=12),
    others=st.lists(st.tuples(st.text(st.characters(codec="utf-8"), min_size=1, max_size=40), st.floats(0, 5)), max_size=6),
)
def test_the_budget_is_never_exceeded(count, budget, places, others):
    passages = [passage(start, min(start + size, len(TEXT)), score, source=f"d{name}") for start, size, name, score in places]
    plain = [edge(text, score) for text, score in others]
    every = {item.ref: item for item in passages + plain if item.text.strip()}
    chosen = filled(*every.values(), budget=budget, count=count)
    assert not chosen.lines or COUNTERS[count](block(chosen.lines)) <= budget
    for line in chosen.lines:
        if line.kind == "span":
            assert line.text.removeprefix(line.opening).strip() in " ".join(TEXT.split()), "word for word"
    shown = {ref for line in chosen.lines for ref in line.evidence_ids or [line.ref]}
    assert shown.isdisjoint(item.ref for item in chosen.dropped)
