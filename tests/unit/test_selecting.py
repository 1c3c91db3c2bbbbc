"""What a selection to erase is read from (`drag_graph.erasing`)."""

import pytest

from drag_graph.erasing import Selection, selection_of
from drag_graph.errors import ConfigurationError


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
    assert selection_of([f"created-before={text}"]) == Selection(created_before=moment)


@pytest.mark.parametrize("text", ["yesterday", "now", "2026", "2026-13-01", "Jan 2026", "31.01.2026", "9"])
def test_what_is_no_date_selects_nothing_but_an_error(text):
    with pytest.raises(ConfigurationError, match="is no date"):
        selection_of([f"created-before={text}"])
