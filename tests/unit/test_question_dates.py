"""What time a question asks about, and how well dates fit it."""

import pytest

from drag_graph.ask.question_dates import DateWish, date_wish, fits, span_of
from drag_graph.graph.written_dates import dates_in

REFERENCE = "2025-06-16"


@pytest.mark.parametrize(
    ("question", "since", "until"),
    [
        ("What happened in 2026?", "2026-01-01", "2026-12-31"),
        ("What was decided in March 2025?", "2025-03-01", "2025-03-31"),
        ("What was decided on 2 March 2025?", "2025-03-02", "2025-03-02"),
        ("What was the budget of Orchid before 2024?", "", "2023-12-31"),
        ("Who led it before March?", "", "2025-02-28"),
        ("Who led it before August?", "", "2024-07-31"),
        ("Who led it after May 2023?", "2023-06-01", ""),
        ("What changed since March?", "2025-03-01", ""),
        ("What is due until 3 March 2025?", "", "2025-03-03"),
        ("What was it between 2020 and 2022?", "2020-01-01", "2022-12-31"),
        ("What was sold from March to May 2024?", "2024-03-01", "2024-05-31"),
        ("What was sold from 3 March 2025 to 5 May 2025?", "2025-03-03", "2025-05-05"),
        ("What did we buy last March?", "2025-03-01", "2025-03-31"),
        ("What did we buy last year?", "2024-01-01", "2024-12-31"),
        ("What did we buy this month?", "2025-06-01", "2025-06-30"),
        ("What did the 2024 audit find?", "2024-01-01", "2024-12-31"),
        ("Wie hoch war das Budget vor 2024?", "", "2023-12-31"),
        ("Was kostet die Pumpe seit 2022?", "2022-01-01", ""),
        ("Was geschah im März 2025?", "2025-03-01", "2025-03-31"),
        ("Was geschah zwischen 2020 und 2022?", "2020-01-01", "2022-12-31"),
        ("Was galt nach dem 3.4.2025?", "2025-04-04", ""),
        ("What was valid after 31 December 2024, and before March 2025?", "2025-01-01", "2025-02-28"),
    ],
)
def test_a_question_names_a_time(question, since, until):
    assert date_wish(question, REFERENCE) == DateWish(since, until)


@pytest.mark.parametrize(
    "question",
    [
        "What is the latest price of the gateway?",
        "What is the current budget of Orchid?",
        "When was the last audit?",
        "Show the most recent minutes.",
        "What is the newest version?",
        "Was war die letzte Sitzung?",
        "Wie hoch ist das aktuelle Budget?",
    ],
)
def test_a_question_wants_the_newest(question):
    assert date_wish(question, REFERENCE) == DateWish(newest=True)


@pytest.mark.parametrize(
    "question",
    [
        "What is the lead time of Fjordmetall?",
        "What is her last name?",
        "How long does the battery last?",
        "What current does the pump draw?",
        "How many signatures does an order of 2000 euros need?",
        "What is the status of order 2024?",
        "May I use it?",
        "When may we leave before Christmas?",
        "Who marched in the parade?",
        "",
    ],
)
def test_other_questions_name_no_time(question):
    assert date_wish(question, REFERENCE) is None


def test_without_a_reference_a_month_alone_says_nothing():
    assert date_wish("Who led it before March?") is None
    assert date_wish("What did we buy last year?") is None
    assert date_wish("What did we buy in March 2025?") == DateWish("2025-03-01", "2025-03-31")


def test_a_reference_may_be_a_year_or_a_month():
    assert date_wish("Who led it before August?", "2025") == DateWish(until="2025-07-31")
    assert date_wish("Who led it before August?", "2025-03") == DateWish(until="2024-07-31")


def test_a_date_fits_by_the_days_that_it_covers():
    wish = DateWish("2025-03-01", "2025-03-31")
    fitting = [fits(when, wish) for when in ("2025-03-02", "2025-03", "2025", "", "2025-04", "2024")]
    assert fitting == [1.0, 1.0, 0.75, 0.5, 0.0, 0.0]
    assert [fits(when, DateWish(until="2023-12-31")) for when in ("2023", "2024-01-01")] == [1.0, 0.0]
    assert [fits(when, DateWish(since="2024-01-01")) for when in ("2023-12-31", "2024", "2030")] == [0.0, 1.0, 1.0]


def test_the_newest_fits_best_and_each_year_halves():
    wish = DateWish(newest=True)
    values = [fits(when, wish, "2025-02-11") for when in ("2025-02-11", "2024-02-12", "2023-02-11")]
    assert values == [1.0, pytest.approx(0.5), pytest.approx(0.25, abs=0.01)]
    assert fits("2026", wish, "2025-02-11") == fits("2019", wish) == 1.0


def test_a_date_spans_days():
    assert [span_of(when) for when in ("2024-02-03", "2024-02", "2024")] == [
        ("2024-02-03", "2024-02-03"),
        ("2024-02-01", "2024-02-29"),
        ("2024-01-01", "2024-12-31"),
    ]


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("(2025-03-02) The budget grew.", ["2025-03-02"]),
        ("The board met on 3 March 2026 and on March 5th, 2026.", ["2026-03-03", "2026-03-05"]),
        ("Am 3. März 2025 oder 03.04.2025", ["2025-03-03", "2025-04-03"]),
        ("2025年9月18日", ["2025-09-18"]),
        ("In 2023 it was 4 M, (2025) 5 M.", ["2023", "2025"]),
        ("On 03/04/2025 or 25/12/2024", ["2025", "2024-12-25"]),
        ("Until 31 February 2025", ["2025-02"]),
        ("Invoice 2025-118 of 2000 euros, phone 020250302123, version 1.2.2025.1, part 2025-13-40", []),
        ("It may take 3 days.", []),
    ],
)
def test_a_text_has_explicit_dates(text, dates):
    assert dates_in(text) == dates


def test_the_order_of_day_and_month_can_be_given():
    assert dates_in("03/04/2025", day_first=True) == ["2025-04-03"]
    assert dates_in("03/04/2025", day_first=False) == ["2025-03-04"]
