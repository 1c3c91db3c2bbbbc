"""Precision, recall and F1 of predicted triples, and coverage, on cases counted by hand."""

import pytest

from bench.extraction_metrics import Score, clean, content_words, coverage, matches, normalise, score
from drag_graph.evaluation.metrics import words_f1

GOLD = [("Ann_Lee", "birthPlace", "Cork"), ("Ann_Lee", "employer", "The Tea Club")]


@pytest.mark.parametrize(
    ("left", "right"),
    [("birthPlace", "birth place"), ("Ann_Lee", "ann lee"), ("The Tea Club", "Tea Club!"), ("Café", "cafe"), ("a b", "B")],
)
def test_spelling_does_not_count(left, right):
    assert normalise(left) == normalise(right)


def test_strict_asks_for_the_predicate_and_pair_does_not():
    predicted = [("Ann Lee", "was born in", "Cork"), ("Ann Lee", "employer", "Tea Club")]
    strict, pair = score([(predicted, GOLD)], "strict"), score([(predicted, GOLD)], "pair")
    assert (strict.matched, strict.micro) == (1, Score(0.5, 0.5, 0.5))
    assert (pair.matched, pair.micro) == (2, Score(1.0, 1.0, 1.0))


def test_undirected_matchings_forgive_changed_places():
    turned = [("Cork", "is the birthplace of", "Ann Lee")]
    assert score([(turned, GOLD)], "pair").matched == 0
    assert score([(turned, GOLD)], "pair_undirected").matched == 1
    assert score([(turned, GOLD)], "soft").matched == 0
    assert score([(turned, GOLD)], "soft_undirected").matched == 1


def test_soft_wants_half_of_the_words_of_both_ends():
    assert words_f1("ann lee", "ann") == pytest.approx(2 / 3)
    assert words_f1("ann", "bob") == 0
    assert score([([("Ann", "in", "old Cork")], GOLD)], "soft").matched == 1
    assert score([([("Ann", "in", "old town near Cork")], GOLD)], "soft").matched == 0


def test_one_gold_triple_is_matched_once_and_repeats_count_once():
    predicted = [("Ann Lee", "in", "Cork"), ("Ann Lee", "of", "Cork"), ("ann_lee", "in", "cork")]
    report = score([(predicted, GOLD)], "pair")
    assert (report.matched, report.predicted, report.gold) == (1, 2, 2)
    assert matches(clean(predicted), clean(GOLD), "pair") == [(0, 0)]


def test_micro_weighs_triples_and_macro_weighs_rows():
    rows = [
        ([("a1", "p", "b1"), ("a2", "p", "b2"), ("a3", "p", "b3")], [("a1", "p", "b1")]),
        ([("c1", "p", "d1")], [("c1", "p", "d1")]),
    ]
    report = score(rows, "strict")
    assert report.micro.precision == pytest.approx(2 / 4)
    assert report.macro.precision == pytest.approx((1 / 3 + 1) / 2)
    assert report.micro.recall == report.macro.recall == 1


def test_rows_without_predictions_and_without_gold():
    assert score([([], GOLD)], "pair").macro == Score(0.0, 0.0, 0.0)
    assert score([([("a1", "p", "b1")], [])], "pair").macro == Score(0.0, 0.0, 0.0)
    assert score([([], [])], "pair").macro == Score(1.0, 1.0, 1.0)
    assert clean([("", "p", "b1"), ("a1", "p", "!")]) == []


def test_nothing_to_measure_is_an_error():
    with pytest.raises(ValueError, match="no rows"):
        score([], "strict")
    with pytest.raises(ValueError, match="no sentence"):
        coverage([("of the", [])])


def test_coverage_counts_content_words_and_lengths():
    figures = coverage(
        [
            ("The old tower stands in Pisa.", [("old tower", "stands in", "Pisa")]),
            ("Rain fell.", []),
        ]
    )
    assert content_words("The old tower stands in Pisa.") == {"old", "tower", "stands", "pisa"}
    assert (figures.sentences, figures.read, figures.triples) == (2, 0.5, 0.5)
    assert (figures.kept, figures.kept_where_read) == (0.5, 1.0)
    assert figures.length == pytest.approx(5 / 6)
