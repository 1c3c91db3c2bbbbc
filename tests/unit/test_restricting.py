"""Restrictions of a search: which sources they allow, and how callers give them."""

import pytest

from drag_graph.app.questions import restriction
from drag_graph.errors import ConfigurationError
from drag_graph.ports.graph_search import Restriction, is_within

ID = "10a10146401ac2a50ff662fb87c2d0f9"


def within(only, *, id_=ID, title="docs/Budget.md", date="2026-03-02", tags=("orchid",)):
    return is_within(only, id_, title, date, tags)


@pytest.mark.parametrize(
    "source", [ID, ID[:8], ID[:12].upper(), "docs/budget.md", "*.md", "docs/*", "DOCS/BUDGET.??", "*/[ab]udget*"]
)
def test_a_source_is_selected_by_id_name_or_pattern(source):
    assert within(Restriction(sources=("nothing", source)))


@pytest.mark.parametrize("source", [ID[:7], ID[1:], "budget.md", "*.txt", "docs"])
def test_other_sources_are_not(source):
    assert not within(Restriction(sources=(source,)))


def test_a_name_with_the_signs_of_a_pattern_selects_itself():
    assert within(Restriction(sources=("Report [final].pdf",)), title="Report [final].pdf")


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        ("2026-03-02", "2026-03-02", True),
        ("2026", "2026", True),
        ("2026-03", "", True),
        ("2026-03-03", "", False),
        ("", "2026-03-01", False),
        ("", "2026-02", False),
        ("2027", "", False),
    ],
)
def test_a_period_includes_its_ends(since, until, expected):
    assert within(Restriction(since=since, until=until)) is expected


@pytest.mark.parametrize("date", ["2026", "2026-03"])
def test_a_year_or_month_overlaps_the_days_in_it(date):
    assert within(Restriction(since="2026-03-15", until="2026-03-20"), date=date)
    assert not within(Restriction(since="2027-01-01"), date=date)


def test_without_a_date_a_source_is_within_no_period():
    assert not within(Restriction(since="1000"), date="")
    assert not within(Restriction(until="3000"), date="")


def test_one_tag_is_enough_and_every_condition_must_hold():
    assert within(Restriction(tags=("other", "orchid")))
    assert not within(Restriction(tags=("Orchid",)))
    assert not within(Restriction(sources=("*.md",), tags=("other",)))


def test_a_single_text_is_one_source_or_tag():
    assert restriction("*.md", "2026", "", "orchid") == Restriction(("*.md",), "2026", "", ("orchid",))
    assert not restriction((), "", "", ())


@pytest.mark.parametrize(
    "date", ["yesterday", "2026-13", "2026-02-30", "26-01-01", "2026-1", "20260101", "2026-W05", "2026-W05-1", "٢٠٢٦"]
)
def test_a_date_that_does_not_exist_is_refused(date):
    with pytest.raises(ConfigurationError, match="is not a date"):
        restriction((), date, "", ())
    with pytest.raises(ConfigurationError, match="is not a date"):
        restriction((), "", date, ())


def test_a_period_that_ends_before_it_begins_and_empty_names_are_refused():
    with pytest.raises(ConfigurationError, match="ends before it begins"):
        restriction((), "2026-04", "2026-03-31", ())
    assert restriction((), "2026-04", "2026", ())
    for sources, tags in (([""], []), ([], [" "])):
        with pytest.raises(ConfigurationError, match="empty"):
            restriction(sources, "", "", tags)
