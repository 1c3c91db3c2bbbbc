import pytest
from hypothesis import given
from hypothesis import strategies as st

from drag_graph.ask.context_lines import Candidate
from drag_graph.ask.line_weights import (
    Way,
    Weighed,
    best_ways,
    by_weight,
    fuse,
    share,
    with_list,
    without_repetitions,
)
from drag_graph.model import SimpleEdge

LISTS = ("query", "evidence", "concept", "similar concept", "line")
RANKINGS = st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True), max_size=5)
WAYS = st.builds(Way, st.sampled_from(LISTS), st.integers(1, 500), st.integers(0, 3))


def candidate(ref, text="", kind="edge", rank=0):
    return Candidate(kind, ref, "query", text or ref, text or ref, rank)


LINES = st.lists(
    st.builds(
        lambda ref, ways, confidence, text: Weighed(candidate(ref, text), best_ways(ways), confidence),
        st.text("xyz", min_size=1, max_size=6),
        st.lists(WAYS, min_size=1, max_size=6),
        st.none() | st.floats(0, 1),
        st.sampled_from(("one", "One.", "two", "three")),
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


def test_the_scores_are_those_of_the_paper():
    scores = fuse([["a", "b"], ["b", "c"]])
    assert scores == pytest.approx({"a": 1 / 61, "b": 1 / 62 + 1 / 61, "c": 1 / 62})
    assert max(scores, key=scores.get) == "b"


@given(rankings=RANKINGS)
def test_what_is_nowhere_behind_comes_not_behind(rankings):
    """Whoever stands before another in every list that has either, scores more."""
    scores = fuse(rankings)
    assert set(scores) == {id_ for ids in rankings for id_ in ids}
    for one in scores:
        for other in scores:
            lists = [ids for ids in rankings if one in ids or other in ids]
            if one != other and all(one in ids and (other not in ids or ids.index(one) < ids.index(other)) for ids in lists):
                assert scores[one] > scores[other]


@given(rankings=RANKINGS, data=st.data())
def test_the_order_of_the_lists_does_not_matter(rankings, data):
    assert fuse(data.draw(st.permutations(rankings))) == pytest.approx(fuse(rankings))


def test_a_repeated_id_counts_at_its_first_place():
    assert fuse([["a", "a", "b"]]) == pytest.approx({"a": 1 / 61, "b": 1 / 62})


@given(ways=st.lists(WAYS, max_size=12))
def test_of_each_list_the_way_that_gives_most_counts(ways):
    best = best_ways(ways)
    assert {way.list for way in best} == {way.list for way in ways}
    assert len({way.list for way in best}) == len(best)
    assert all(share(way) == max(share(other) for other in ways if other.list == way.list) for way in best)
    assert list(map(share, best)) == sorted(map(share, best), reverse=True)


@given(way=WAYS)
def test_a_hop_halves(way):
    assert share(Way(way.list, way.rank, way.hop + 1)) == pytest.approx(share(way) / 2)


@given(ways=st.lists(WAYS, min_size=1, max_size=6), more=WAYS, confidence=st.floats(0, 1))
def test_another_way_never_takes_weight(ways, more, confidence):
    before = Weighed(candidate("x"), best_ways(ways), confidence)
    after = Weighed(candidate("x"), best_ways([*ways, more]), confidence)
    assert after.weight >= before.weight - 1e-15
    assert before.weight <= before.fused


@given(lines=LINES)
def test_a_ranking_adds_one_list(lines):
    plain = [Weighed(line.candidate, tuple(way for way in line.ways if way.list != "line"), line.confidence) for line in lines]
    refs = [line.candidate.ref for line in plain][::-1]
    for before, after in zip(plain, with_list(plain, "line", refs), strict=True):
        assert [way.rank for way in after.ways if way.list == "line"] == [refs.index(before.candidate.ref) + 1]


@given(lines=LINES)
def test_repetitions_are_counted_and_the_heaviest_stays(lines):
    kept, repeated = without_repetitions(lines, {})
    assert len(kept) + len(repeated) == len(lines)
    assert sum(line.support for line in kept) == len(repeated)
    assert [line.candidate for line in by_weight(kept)] == [line.candidate for line in kept]
    weights = {line.candidate.plain.rstrip(".").lower(): line.weight for line in kept}
    assert len(weights) == len(kept)
    assert all(line.weight <= weights[line.candidate.plain.rstrip(".").lower()] for line in lines)


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
    lines = [
        Weighed(candidate(ref, edges[ref].statement), (Way("concept", rank, 1),), 0.9)
        for rank, ref in enumerate(edges, start=1)
    ]
    kept, repeated = without_repetitions(lines, edges)
    assert [(line.candidate.ref, line.support) for line in kept] == [("a", 1), ("c", 0), ("d", 0)]
    assert [item.ref for item in repeated] == ["b"]


def test_an_evidence_and_an_edge_of_the_same_words_both_stay():
    lines = [
        Weighed(candidate("a", "Iron binds oxygen.", "evidence"), (Way("evidence", 1),)),
        Weighed(candidate("b", "iron binds oxygen"), (Way("evidence", 1, 1),), 0.8),
    ]
    kept, repeated = without_repetitions(lines, {})
    assert len(kept) == 2
    assert repeated == []
