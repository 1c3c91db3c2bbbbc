import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drag_graph.distill import evidence_ranking as step
from drag_graph.distill.plans import plan_settings
from drag_graph.errors import ConfigurationError
from drag_graph.model import Triple
from drag_graph.settings import load_settings
from tests.unit.step_builders import evidence, query, reply

ITEMS = st.lists(
    st.tuples(
        st.floats(-1, 1, allow_nan=False).map(lambda x: round(x, 6)), st.none() | st.floats(1, 10).map(lambda x: round(x, 3))
    ),
    min_size=1,
    max_size=25,
)
STRATEGIES = st.sampled_from(["weighted", "rank-sum"])


def settings(k=10, ranking="weighted", alpha=0.6, plan="lean"):
    return plan_settings(load_settings({"top_k": k, "ranking": ranking, "alpha": alpha, "plan": plan}), query())


def ranked(items, k=10, strategy="weighted", order=None, plan="lean", reply_order=None):
    made = evidence([f"text {place}" for place in range(len(items))])
    scores = {made[place].id: items[place][1] for place in reply_order or range(len(items)) if items[place][1] is not None}
    order = list(range(len(items))) if order is None else order
    how = settings(k, strategy, plan=plan)
    return step.rank([made[place] for place in order], [items[place][0] for place in order], scores, how)


def test_the_weighted_score_is_the_formula():
    combined = step.combine([0.5, 0.5, -0.5], [0.8, None, 0.1], None, settings(alpha=0.6))
    assert combined == [pytest.approx(0.6 * 0.8 + 0.4 * 0.5), 0.5, pytest.approx(0.06)]


@pytest.mark.parametrize("scores", [[0.5], [0.5, 1.5], [0.5, float("nan")]])
def test_a_ranking_of_another_package_must_score_each_statement(monkeypatch, scores):
    monkeypatch.setattr(step, "find_plugin", lambda _group, _name: lambda _near, _judged: scores)
    with pytest.raises(ConfigurationError, match="The ranking 'acme' gave no score"):
        step.combine([0.2, 0.4], [0.3, None], None, replace(settings(), ranking="acme"))


def test_rank_sum_takes_the_order_of_the_reply_where_one_was_asked_for():
    """Not of the scores, which a model may give in another order or all alike."""
    items = [(0.3, 5.0), (0.2, 5.0), (0.1, 9.0), (0.0, None)]
    by_reply = ranked(items, strategy="rank-sum", plan="paper", reply_order=[1, 0, 2])
    assert [(item.position, item.score) for item in by_reply] == [(0, 0.833333), (1, 0.833333), (2, 0.333333), (3, 0.0)]
    by_score = ranked(items, strategy="rank-sum", reply_order=[1, 0, 2])
    assert [(item.position, item.score) for item in by_score] == [(0, 0.833333), (1, 0.666667), (2, 0.666667), (3, 0.0)]


def triples(*given):
    parts = {"source_id": "q", "subject_id": "s", "object_id": "o", "predicate_key": "is", "predicate": "is"}
    return [
        Triple(id=id_, subject=subject, object="b", confidence=confidence, evidence_id=f"e-{id_}", call_ids=("c",), **parts)
        for id_, subject, confidence in given
    ]


def test_triples_are_ranked_by_confidence_where_the_teacher_is_not_asked_for_an_order():
    three = triples(("t1", "a", 0.9), ("t2", "b", 0.5), ("t3", "c", 0.1))
    near = {"t1": 0.0, "t2": 0.9, "t3": 1.0}
    assert [item.id for item in step.rank_triples(three, near, {}, settings(alpha=1.0))] == ["t1", "t2", "t3"]
    found = step.rank_triples(three, near, {}, settings(alpha=0.0))
    assert [(item.id, item.rank) for item in found] == [("t3", 0), ("t2", 1), ("t1", 2)]
    by_sum = step.rank_triples(three, near, {}, settings(ranking="rank-sum", plan="paper"))
    assert [item.id for item in by_sum] == ["t1", "t2", "t3"], "all sums are equal"


def test_triples_are_ranked_by_the_teachers_order_where_it_gave_one():
    three = triples(("t1", "a", 0.9), ("t2", "b", 0.5), ("t3", "c", 0.1))
    near = {"t1": 0.1, "t2": 0.2, "t3": 0.3}
    order = {"t3": 9.0, "t2": 8.0}
    found = step.rank_triples(three, near, order, settings(ranking="rank-sum", plan="paper"))
    assert [item.id for item in found] == ["t3", "t2", "t1"]
    weighted = step.rank_triples(three, near, {"t1": 1.0, "t2": 10.0}, settings(alpha=1.0))
    assert [item.id for item in weighted] == ["t2", "t3", "t1"], "what has no score has its nearness"


def test_a_relation_that_several_evidence_state_is_asked_about_once():
    assert step.relations(triples(("t1", "a", 0.9), ("t2", "c", 0.5), ("t3", "a", 0.1))) == {
        "a is b": ["t1", "t3"],
        "c is b": ["t2"],
    }


def test_rank_sum_lets_the_most_similar_win_a_tie():
    # The first is best by the teacher, the last by the cosine: their sums of ranks are equal.
    result = ranked([(0.1, 9.0), (0.5, 5.0), (0.9, 1.0)], strategy="rank-sum")
    assert [item.position for item in result] == [2, 1, 0]
    assert len({item.score for item in result}) == 1


def test_rank_sum_without_scores_is_the_cosine_descending():
    result = ranked([(0.1, None), (0.9, None), (0.5, None)], strategy="rank-sum")
    assert [item.position for item in result] == [1, 2, 0]


def test_what_lies_beyond_k_says_so_and_the_best_three_stay():
    result = ranked([(place / 20, 5.0) for place in range(15)], k=10)
    assert [item.kept for item in result] == [True] * 10 + [False] * 5
    assert result[11].reason == "rank 12 is beyond the best 10"
    assert sum(item.kept for item in ranked([(place / 20, 5.0) for place in range(15)], k=1)) == 3


def test_repeats_stay_dropped_behind_all_others():
    items = evidence(["a", "b", "c"])
    dropped = items[0].model_copy(update={"kept": False, "reason": "says the same as evidence 9"})
    result = step.rank([dropped, *items[1:]], [1.0, 0.2, 0.3], {}, settings())
    assert [item.id for item in result] == ["e2", "e1", "e0"]
    assert result[2].reason == "says the same as evidence 9"
    assert result[2].cosine == 1.0


@given(ITEMS, STRATEGIES, st.integers(1, 30), st.randoms(use_true_random=False))
def test_the_given_order_does_not_matter(items, strategy, k, chance):
    order = list(range(len(items)))
    chance.shuffle(order)
    assert ranked(items, k, strategy) == ranked(items, k, strategy, order=order)


@given(ITEMS, STRATEGIES, st.integers(1, 30))
def test_k_is_respected_and_ranks_are_places(items, strategy, k):
    result = ranked(items, k, strategy)
    assert sum(item.kept for item in result) == min(len(items), max(3, k))
    assert [item.rank for item in result] == list(range(len(items)))
    assert all(0.0 <= item.score <= 1.0 for item in result)
    assert all(bool(item.reason) is not item.kept for item in result)


@given(ITEMS, STRATEGIES, st.integers(0, 24), st.floats(0.01, 1), st.booleans())
def test_a_better_score_or_cosine_never_ranks_lower(items, strategy, place, more, by_cosine):
    place %= len(items)
    cosine, score = items[place]
    better = (min(1.0, cosine + more), score) if by_cosine else (cosine, None if score is None else min(10.0, score + 9 * more))
    before = next(item.rank for item in ranked(items, strategy=strategy) if item.position == place)
    changed = [*items[:place], better, *items[place + 1 :]]
    after = next(item.rank for item in ranked(changed, strategy=strategy) if item.position == place)
    assert after <= before


def test_scores_are_asked_for_and_read_by_position_in_the_order_of_the_reply():
    asked = step.request(query(), ["first", "third"], "lean")
    assert asked.texts == ("first", "third")
    assert "1. third" in asked.messages[1]["content"]
    given = [(1, 9), (7, 3), (1, 2), (0, 70), (0, 4)]
    scores, discarded = step.read_scores(reply("scores", [{"index": index, "score": score} for index, score in given]), 2)
    assert list(scores.items()) == [(1, 9.0), (0, 4.0)]
    assert len(discarded) == 3
    assert "there are only 2" in discarded[1]


def test_relations_are_asked_for_as_evidence_is_under_a_version_of_their_own():
    one, other = (step.request(query(), ["a", "b"], "paper", stage) for stage in ("scores", "relations"))
    assert one.messages == other.messages
    assert (other.stage, other.schema) == ("relations", one.schema)
    assert one.prompt_version != other.prompt_version
    assert "carbon dioxide" not in step.request(query(), ["a"], "paper", "relations", blind=True).messages[1]["content"]


def test_a_line_break_in_a_statement_cannot_pose_as_another_statement():
    asked = step.request(query(), ["one\n7. a false one", "two"], "lean")
    assert asked.messages[1]["content"].endswith("0. one 7. a false one\n1. two")


def test_cosines_are_rounded_and_within_range():
    chance = random.Random(1)
    row = [[chance.random() for _ in range(3)]]
    assert step.cosines([1.0000001, 0.0, 0.0], [[1.0000001, 0.0, 0.0]]) == [1.0]
    assert step.cosines([1.0, 0.0, 0.0], row) == [round(row[0][0], 6)]
