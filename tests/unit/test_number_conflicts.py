"""Statements that say the same but for a number, a date or an amount."""

import pytest

from drag_graph.graph.number_conflicts import conflicting, conflicting_values

OLD = "Memo of 6 February 2023\n\nThe board has approved the budget of Orchid for this year. It is 4 million euros."
NEW = "The board has approved the budget of Orchid for this year. It is 5 million euros, because a chamber was added."


@pytest.mark.parametrize(
    ("one", "two", "reason"),
    [
        ("The budget of Orchid is 4 M", "The budget of Orchid is 5 M", "different numbers: 4,000,000 and 5,000,000"),
        ("The budget of Orchid is 4 M euros.", "Orchid's budget is 5,500,000 \u20ac.", "4,000,000 and 5,500,000 euro"),
        (OLD, NEW, "4,000,000 and 5,000,000 euro"),
        ("The deadline of Orchid is 3 March 2025.", "The deadline of Orchid is 5 May 2025.", "2025-03-03 and 2025-05-05"),
        ("The brackets leave the plant on 27 March.", "The brackets leave the plant on 13 March.", "03-27 and 03-13"),
        (
            "Fjordmetall | product: castings | lead time: 10 weeks",
            "Fjordmetall | product: castings | lead time: 12 weeks",
            "10 and 12",
        ),
        ("The seedlings survive about five hours at night.", "The seedlings survive about 7 hours at night.", "5 and 7 hour"),
        ("Das Budget von Orchid beträgt 4 Millionen Euro.", "Das Budget von Orchid beträgt 5 Millionen Euro.", "euro"),
        ("[2025-03-02 10:11] Orchid needs 4 pumps.", "[2025-03-05 08:00] Orchid needs 5 pumps.", "4 and 5"),
        ("The budget of Orchid is 4 M.", "In 2025 Orchid has a budget of 5 M.", "4,000,000 and 5,000,000"),
        (
            "The board set the budget of the Orchid project to 4 million euros.",
            "For Orchid, the team now plans with a budget of 5 million euros.",
            "4,000,000 and 5,000,000 euro",
        ),
        (
            "The deadline of the Orchid project is 3 March 2025.",
            "We have moved the Orchid project to a new date: its deadline is 5 May 2025.",
            "2025-03-03 and 2025-05-05",
        ),
        ("Employees get 28 days of paid leave.", "Employees get 30 days of paid leave.", "28 and 30 day"),
    ],
)
def test_two_statements_conflict(one, two, reason):
    assert reason in conflicting(one, two)
    assert conflicting(two, one)
    assert not conflicting(one, one)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("The budget of Orchid is 4 million euros.", "The budget of Orchid is 4,000,000 EUR."),
        ("The budget of Orchid is 4 million euros.", "The budget of Tulip is 5 million euros."),
        ("The budget of Orchid is 4 million euros.", "The travel budget of Orchid in Lisse is 5 million euros."),
        (
            "The shop in Lisse sold 5 controllers to farmers in March.",
            "The shop in Lisse sold 6 controllers to farmers in April.",
        ),
        ("In 2023 the budget of Orchid was 4 M.", "In 2025 the budget of Orchid was 5 M."),
        ("Phase 2 of Orchid starts in Lisse today.", "Phase 3 of Orchid starts in Lisse today."),
        ("Part NL-4000 is on the first shelf.", "Part NL-4007 is on the first shelf."),
        ("The deadline of Orchid is 3 March 2025.", "The deadline of Orchid is in March 2025."),
        ("The pump of Orchid runs for 12 hours.", "The pump of Orchid runs for 2 days."),
        ("Orchid needs at least 4 weeks of tests.", "Orchid needs 3 weeks of tests."),
        ("The budget of Orchid is not 4 M.", "The budget of Orchid is 5 M."),
        ("The travel budget of Orchid is 4 M.", "In 2025 Orchid has a budget of 5 M."),
        ("The budget of Tulip is 4 M.", "In 2025 Orchid has a budget of 5 M."),
        ("The board set a budget of 4 M for the pump.", "In 2025 we plan with a budget of 5 M."),
        ("The temperature in May is 26 \u00b0C.", "A mean temperature of 25 \u00b0C is usual here."),
        ("The lead time is 10 weeks.", "The lead time is 12 weeks."),
        ("It costs 4 euros.", "It costs 5 euros."),
        ("The pump is blue.", "The pump is green."),
        ("", ""),
        ("[2025-03-02 10:11] Anna: Orchid needs pumps now.", "[2025-03-05 08:00] Anna: Orchid needs pumps now."),
        ("Time: 20260105_11:00\nLiHua: Hey Jennifer!", "Time: 20260113_11:00\nLiHua: Hey Jennifer!"),
        ("Minutes of the Orchid board, 3 March 2025", "Minutes of the Orchid board, 5 May 2025"),
        ("Noor ran at the 1996 Summer Olympics.", "Noor ran at the 2000 Summer Olympics."),
        ("1.2.3 , 4..5", "4.5.6 , 7,,8"),
    ],
)
def test_what_may_both_be_true_is_no_conflict(one, two):
    assert conflicting(one, two) == ""


def test_dates_can_be_left_out():
    phrases = ["3 March 2025", "4 March 2025", "4 M euros", "5 M euros"]
    assert conflicting_values(phrases, dates=False) == [("4 M euros", "5 M euros")]
    assert conflicting_values(["1998", "2001"], dates=False) == []


@pytest.mark.parametrize(
    ("phrases", "pairs"),
    [
        (["4 M euros", "5 M euros"], [("4 M euros", "5 M euros")]),
        (["4 M euros", "4 million euros", "5 M euros"], [("4 M euros", "5 M euros"), ("4 million euros", "5 M euros")]),
        (["4 M euros", "4 million euros"], []),
        (["1998", "2001", "the barn"], [("1998", "2001")]),
        (["3 March 2025", "4 March 2025"], [("3 March 2025", "4 March 2025")]),
        (["45 people", "52 people"], [("45 people", "52 people")]),
        (["1998", "2001", "2005"], []),
        (["5 units in March", "6 units in April"], []),
        (["phase 2", "phase 3"], []),
        (["type 1 diabetes", "type 2 diabetes"], []),
        (["1996 Summer Olympics", "2000 Summer Olympics"], []),
        (["carbon 12", "carbon 14"], []),
        (["vitamin B6", "vitamin B12"], []),
        (["4 weeks", "5 months"], []),
        (["March 2025", "2025-03-02"], []),
    ],
)
def test_phrases_conflict_by_one_value(phrases, pairs):
    assert conflicting_values(phrases) == pairs
