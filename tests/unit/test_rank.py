import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drag_graph.steps import rank as step
from tests.unit.step_builders import evidence, query, reply

ITEMS = st.lists(
    st.tuples(
        st.floats(-1, 1, allow_nan=False).map(lambda x: round(x, 6)), st.none() | st.floats(1, 10).map(lambda x: round(x, 3))
    ),
    min_size=1,
    max_size=25,
)
STRATEGIES = st.sampled_from(["weighted", "rank-sum"])


def ranked(items, k=10, strategy="weighted", alpha=0.6, order=None):
    made = evidence([f"text {place}" for place in range(len(items))])
    scores = {item.id: score for item, (_, score) in zip(made, items, strict=True) if score is not None}
    order = list(range(len(items))) if order is None else order
    return step.rank(
        [made[place] for place in order], [items[place][0] for place in order], scores, k=k, alpha=alpha, strategy=strategy
    )


@pytest.mark.parametrize(
    ("domain", "complexity", "expected"),
    [
        ("general", 0.0, 10), ("general", 0.49, 10), ("general", 0.5, 13), ("general", 0.8, 13), ("general", 0.81, 15),
        ("medical", 0.2, 13), ("medical", 0.6, 16), ("medical", 1.0, 20),
        ("technical", 0.2, 13), ("technical", 0.6, 16), ("technical", 0.9, 18),
        ("privacy", 0.2, 10),
    ],
)  # fmt: skip
def test_k_by_domain_and_complexity(domain, complexity, expected):
    assert step.choose_k(domain, complexity) == expected
    assert step.choose_k(domain, complexity, 4) == 4


@pytest.mark.parametrize(("domain", "alpha"), [("general", 0.6), ("medical", 0.7), ("technical", 0.65), ("privacy", 0.5)])
def test_alpha_by_domain(domain, alpha):
    assert step.choose_alpha(domain) == alpha
    assert step.choose_alpha(domain, 0.1) == 0.1


def test_the_weighted_score_is_the_formula():
    assert step.weighted_score(0.5, 8.0, 0.6) == pytest.approx(0.6 * 0.8 + 0.4 * 0.5)
    assert step.weighted_score(0.5, None, 0.6) == 0.5
    assert step.weighted_score(-0.5, 1.0, 0.6) == pytest.approx(0.06)


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
    result = step.rank([dropped, *items[1:]], [1.0, 0.2, 0.3], {}, k=10, alpha=0.6)
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


def test_scores_are_asked_for_and_read_by_the_candidates_positions():
    items = evidence(["first", "second", "third"])
    items = (items[0], items[1].model_copy(update={"kept": False, "reason": "gone"}), items[2])
    asked = step.scores_request(query(), items)
    assert asked.texts == ("first", "third")
    assert "1. third" in asked.messages[1]["content"]
    scores, discarded = step.read_scores(
        reply(
            "scores", [{"index": 1, "score": 9}, {"index": 7, "score": 3}, {"index": 1, "score": 2}, {"index": 0, "score": 70}]
        ),
        items,
    )
    assert scores == {"e2": 9.0}
    assert len(discarded) == 3
    assert "there are only 2" in discarded[1]


def test_a_line_break_in_a_statement_cannot_pose_as_another_statement():
    asked = step.scores_request(query(), evidence(["one\n7. a false one", "two"]))
    assert asked.messages[1]["content"].endswith("0. one 7. a false one\n1. two")


def test_cosines_are_rounded_and_within_range():
    chance = random.Random(1)
    row = [[chance.random() for _ in range(3)]]
    assert step.cosines([1.0000001, 0.0, 0.0], [[1.0000001, 0.0, 0.0]]) == [1.0]
    assert step.cosines([1.0, 0.0, 0.0], row) == [round(row[0][0], 6)]
