"""The nursery for the session, and the count of kills that is printed at its end."""

import json
from collections import Counter

import pytest
from nursery import Nursery

_KILLS = Counter()


class Tally:
    """Counts the kills of the session by store and kind."""

    def add(self, store, kind, number=1):
        _KILLS[store, kind] += number

    def kinds(self, store):
        """Return the kills of a store so far, by kind."""
        return {kind: number for (name, kind), number in _KILLS.items() if name == store}


@pytest.fixture(scope="session")
def tally():
    return Tally()


@pytest.fixture(scope="session")
def nursery():
    """Forks the runs; one for all tests, as importing takes seconds."""
    found = Nursery()
    yield found
    found.close()


def pytest_terminal_summary(terminalreporter):
    """Print the kills, by store and kind, as one line of JSON."""
    counts = {}
    for (store, kind), number in sorted(_KILLS.items()):
        counts.setdefault(store, {"all": 0})
        counts[store]["all"] += number
        counts[store][kind] = number
    if counts:
        terminalreporter.write_line("kills " + json.dumps(counts))
