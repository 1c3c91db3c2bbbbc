"""Passages of the time that a question asks about (`drag_graph.ask.dated_passages`)."""

import pytest
from search_units import valued

from drag_graph.ask.dated_passages import COMPARED, FIT, MISFIT, by_date, date_of

OLD = "The budget of the Orchid project is 4 million euros."
NEW = "The budget of the Orchid project is 5 million euros."


def order(passages, question="What is the budget of Orchid?"):
    return [item.passage.id for item in by_date(passages, question)]


def test_passages_of_the_year_that_is_asked_for_come_first():
    passages = [valued("old", 1.0, date="2024-03"), valued("unknown", 0.95), valued("new", 0.9, date="2026-03-02")]
    question = "What was decided in 2026?"
    found = {item.passage.id: item.value for item in by_date(passages, question)}
    assert order(passages, question) == ["new", "unknown", "old"]
    assert found == pytest.approx({"old": MISFIT, "unknown": 0.95, "new": 0.9 * FIT})
    assert order(passages, "What was decided?") == ["old", "unknown", "new"]


def test_the_date_that_a_passage_names_counts_before_that_of_its_document():
    named = valued("named", 1.0, "In May 2026, the pump broke.", date="2024-01-01")
    assert date_of(named) == "2026-05"
    assert date_of(valued("plain", 1.0, "The pump broke.", date="2024-01-01")) == "2024-01-01"
    assert date_of(valued("none", 1.0, "The pump broke.")) == ""
    assert order([valued("other", 1.1, date="2024-06-01"), named], "What broke in 2026?") == ["named", "other"]


def test_a_date_decides_between_passages_of_about_the_same_value_only():
    passages = [valued("far", 9.0, date="2020-01-01"), valued("near", 1.0, date="2026-01-01")]
    assert order(passages, "What was decided in 2026?") == ["far", "near"]


def test_a_date_that_fits_raises_a_negative_value_too():
    """A walk that moves a unit back may leave some of its passages below 0."""
    passages = [valued("old", -1.0, date="2024-03"), valued("new", -1.1, date="2026-03-02")]
    assert order(passages, "What was decided in 2026?") == ["new", "old"]


def test_for_the_newest_older_passages_count_less():
    passages = [valued(f"y{year}", 1.0 + (2026 - year) / 100, date=f"{year}-05-01") for year in (2020, 2024, 2026)]
    assert order(passages, "What is the latest decision?") == ["y2026", "y2024", "y2020"]


@pytest.mark.parametrize("dates", [("2024-01-01", "2026-01-01"), ("2026-01-01", "2024-01-01")])
def test_of_two_that_contradict_each_other_the_newer_one_is_first(dates):
    passages = [
        valued("one", 2.0, OLD, date=dates[0]),
        valued("between", 1.5, date="2022"),
        valued("two", 1.0, NEW, date=dates[1]),
    ]
    newer = "one" if dates[0] > dates[1] else "two"
    assert order(passages) == (["two", "one", "between"] if newer == "two" else ["one", "between", "two"])


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ({"date": "2024-01-01"}, {"date": ""}),
        ({"date": "2024-01-01", "source": "same"}, {"date": "2026-01-01", "source": "same"}),
        ({"date": "2026-01-01"}, {"date": "2026-01-01"}),
    ],
    ids=["a date is unknown", "one document", "the same day"],
)
def test_without_two_dates_of_two_sources_values_stay(one, two):
    assert order([valued("one", 2.0, OLD, **one), valued("two", 1.0, NEW, **two)]) == ["one", "two"]


def test_passages_that_agree_stay_in_their_order():
    passages = [valued("one", 2.0, OLD, date="2024-01-01"), valued("two", 1.0, OLD, date="2026-01-01")]
    assert order(passages) == ["one", "two"]


def test_only_the_best_are_compared():
    others = [valued(f"p{n:02}", 5.0 - n / 100, f"The pump P-{n} is red.", date="2025-01-01") for n in range(COMPARED - 1)]
    passages = [*others, valued("one", 2.0, OLD, date="2024-01-01"), valued("two", 1.0, NEW, date="2026-01-01")]
    assert order(passages)[-2:] == ["one", "two"]
    assert order(passages[1:])[-2:] == ["two", "one"]


def test_nothing_stays_nothing():
    assert by_date([], "What happened in 2026?") == []


def test_the_newer_of_two_freely_worded_texts_is_first_also_if_only_the_text_has_a_date():
    old = valued("old", 2.0, "The budget of Orchid is 4 M.", date="2023")
    new = valued("new", 1.0, "In 2025 Orchid has a budget of 5 M.")
    assert order([old, new]) == ["new", "old"]
