"""Weighed lines and repeated lines (`drag_graph.ask.context_lines`)."""

from hypothesis import given
from hypothesis import strategies as st

from drag_graph.ask.context_lines import Candidate, Weighed, by_weight, without_repetitions
from drag_graph.model import SimpleEdge


def candidate(ref, text="", kind="edge", rank=0):
    return Candidate(kind, ref, "query", text or ref, text or ref, rank)


LINES = st.lists(
    st.builds(
        lambda ref, weight, kind, text: Weighed(candidate(ref, text, kind), weight),
        st.text("xyz", min_size=1, max_size=6),
        st.floats(0, 5),
        st.sampled_from(("edge", "evidence")),
        st.sampled_from(("one", "One.", "two", "three", "Three!")),
    ),
    unique_by=lambda line: line.candidate.ref,
    max_size=12,
)


def edge(ref, subject, predicates, object_, confidence=0.9):
    return SimpleEdge(
        id=ref,
        source_id="query",
        subject_id=f"{ref}-s",
        subject=subject,
        object_id=f"{ref}-o",
        object=object_,
        statement=f"{subject} {predicates[0]} {object_}",
        predicates=predicates,
        confidence=confidence,
        support=1,
        triple_ids=("t",),
        evidence_ids=("e",),
    )


def said(line):
    return line.candidate.kind, line.candidate.plain.rstrip(".!").lower()


@given(lines=LINES)
def test_repetitions_are_counted_and_the_heaviest_stays(lines):
    distinct, repeated = without_repetitions(lines, {})
    assert len(distinct) + len(repeated) == len(lines)
    assert sum(line.support for line in distinct) == len(repeated)
    assert [line.candidate for line in by_weight(distinct)] == [line.candidate for line in distinct]
    weights = {said(line): line.weight for line in distinct}
    assert len(weights) == len(distinct)
    assert all(line.weight <= weights[said(line)] for line in lines)


def test_ties_are_broken_by_rank_and_text_before_the_ref():
    lines = [
        Weighed(candidate("a", "third", rank=1), 0.5),
        Weighed(candidate("b", "second"), 0.5),
        Weighed(candidate("c", "first"), 0.5),
        Weighed(candidate("d", "zeroth", rank=9), 0.6),
    ]
    assert [line.candidate.ref for line in by_weight(lines)] == ["d", "c", "b", "a"]


def test_support_that_a_repetition_has_is_kept():
    lines = [Weighed(candidate("a", "one"), 1.0, support=2), Weighed(candidate("b", "One."), 0.5, support=3)]
    distinct, _ = without_repetitions(lines, {})
    assert [(line.candidate.ref, line.support) for line in distinct] == [("a", 6)]


def test_edges_with_the_same_normal_triple_say_the_same():
    edges = {
        item.id: item
        for item in (
            edge("a", "Red cells", ("contain",), "iron"),
            edge("b", "red cell", ("contains",), "the iron"),
            edge("c", "iron", ("contains",), "red cells"),
            edge("d", "red cells", ("lack",), "iron"),
        )
    }
    lines = [Weighed(candidate(ref, edges[ref].statement), 1 / rank) for rank, ref in enumerate(edges, start=1)]
    distinct, repeated = without_repetitions(lines, edges)
    assert [(line.candidate.ref, line.support) for line in distinct] == [("a", 1), ("c", 0), ("d", 0)]
    assert [item.ref for item in repeated] == ["b"]


def test_an_evidence_and_an_edge_of_the_same_words_both_stay():
    lines = [
        Weighed(candidate("a", "Iron binds oxygen.", "evidence"), 1.0),
        Weighed(candidate("b", "iron binds oxygen"), 0.8, confidence=0.8),
    ]
    distinct, repeated = without_repetitions(lines, {})
    assert len(distinct) == 2
    assert repeated == []
