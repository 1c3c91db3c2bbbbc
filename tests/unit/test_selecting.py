"""What a selection to erase is read from (`drag_graph.manage.erasing`)."""

import pytest

from drag_graph.errors import ConfigurationError
from drag_graph.manage.erasing import ErasureFilter, filter_of


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-31", "2026-01-31T00:00:00+00:00"),
        ("2026-01-31T12:30:00", "2026-01-31T12:30:00+00:00"),
        ("2026-01-31T12:30:00+02:00", "2026-01-31T10:30:00+00:00"),
        ("2026-01-31T12:30:00Z", "2026-01-31T12:30:00+00:00"),
    ],
)
def test_a_moment_is_said_as_stores_have_it(text, moment):
    assert filter_of([f"created-before={text}"]) == ErasureFilter(created_before=moment)


@pytest.mark.parametrize("text", ["yesterday", "now", "2026", "2026-13-01", "Jan 2026", "31.01.2026", "9"])
def test_what_is_no_date_selects_nothing_but_an_error(text):
    with pytest.raises(ConfigurationError, match="is not a date"):
        filter_of([f"created-before={text}"])
