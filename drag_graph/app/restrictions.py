"""Restrictions of a search as callers give them."""

from collections.abc import Sequence
from datetime import date

from drag_graph.errors import ConfigurationError
from drag_graph.ports.graph_search import Restriction

FIRST_DAYS = {4: "-01-01", 7: "-01", 10: ""}
"""What makes a day of a year, month or day, by its length."""


def restriction(sources: Sequence[str], since: str, until: str, tags: Sequence[str]) -> Restriction:
    """Return the restriction to sources (ids, names or patterns of names), dates and tags.

    Raises ConfigurationError for an empty name or tag, for a date that does not exist, and for a period that ends before it
    begins.
    """
    names, marks = _several(sources), _several(tags)
    if not all(one.strip() for one in (*names, *marks)):
        raise ConfigurationError("The name of a source or tag is empty.", hint="Leave it out to search everything.")
    for day in filter(None, (since, until)):
        if not _is_date(day):
            raise ConfigurationError(f"{day!r} is not a date.", hint="Write YYYY, YYYY-MM or YYYY-MM-DD.")
    if since and until and since[: len(until)] > until:
        raise ConfigurationError(f"The period from {since} until {until} ends before it begins.", hint="Swap the two dates.")
    return Restriction(names, since, until, marks)


def _several(values: Sequence[str]) -> tuple[str, ...]:
    return tuple([values] if isinstance(values, str) else values)


def _is_date(text: str) -> bool:
    """Whether a text is a year, a month or a day of the calendar, as ISO 8601 writes it."""
    try:
        date.fromisoformat(text + FIRST_DAYS[len(text)])
    except (KeyError, ValueError):
        return False
    return text.replace("-", "").isdigit() and text.count("-") == len(text) // 3 - 1
