"""`kill -9` at every write boundary: the process ends itself between any two steps by which something becomes durable, and
goes on from there as if nothing had been (design, section 8, promises 1 to 3).

A calm run is counted first. Then each of its boundaries kills one run, which is checked, resumed and checked again.
"""

import itertools
import random
import signal

import pytest
from harness import Job, Place, Trial, calm_run

ALWAYS = {
    "tape: before a line",
    "tape: half a line written",
    "tape: line written, not synced",
    "tape: synced",
    "quarantine: before a line",
    "quarantine: half a line written",
    "quarantine: line written",
    "store: before a transaction",
    "store: begun",
    "store: before a commit",
    "store: committed",
}
OF_A_STORE = {"embedded": {"store: statement done", "store: before closing", "store: closed"}, "neo4j": {"store: statement sent"}}


@pytest.fixture(params=["embedded", "neo4j"])
def place(request, tmp_path):
    neo4j = request.getfixturevalue("neo4j_lts") if request.param == "neo4j" else None
    found = Place(request.param, tmp_path, neo4j)
    yield found
    if neo4j:
        found.erase()


def kill_at(nursery, place, job, calm, fatal, tally, instant=None):
    """Kill a run at its n-th boundary, or that long after; resume it, and hold all that must hold. Return what it died of."""
    with Trial(nursery, place, job, calm) as trial:
        died = trial.run(fatal, instant)
        name = trial.boundaries()[fatal - 1] if len(trial.boundaries()) >= fatal else "none"
        if instant is None:
            trial.hold(died.signal == signal.SIGKILL, f"boundary {fatal} ({name}) was not deadly: {died}")
            trial.hold(len(trial.boundaries()) == fatal, f"more was written after boundary {fatal} ({name})")
        if died.signal == signal.SIGKILL:
            tally.add(place.kind, name if instant is None else f"instants after {name}")
            trial.check_killed()
        trial.check_finished(trial.run())


def of_each_kind(boundaries, number):
    """Return the numbers of some boundaries of every kind, the first and the last among them."""
    chosen = set()
    for kind in dict.fromkeys(boundaries):
        places = [n for n, name in enumerate(boundaries, start=1) if name == kind]
        step = max(1, (len(places) - 1) // max(1, number - 1))
        chosen |= {*places[::step][: number - 1], places[-1]}
    return sorted(chosen)


def check_kinds(place, boundaries):
    """Hold that every wrapped place was passed: else the wrapping, not the product, has come apart."""
    wanted = ALWAYS | OF_A_STORE[place.kind]
    assert wanted <= set(boundaries), f"never passed: {wanted - set(boundaries)}"


def test_a_kill_at_a_write_boundary_of_each_kind_loses_nothing(nursery, place, tally):
    job = Job(good=2, bad=1)
    calm = calm_run(nursery, place, job)
    check_kinds(place, calm.boundaries)
    for fatal in of_each_kind(calm.boundaries, 2):
        kill_at(nursery, place, job, calm, fatal, tally)


@pytest.mark.torture
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_kill_at_every_write_boundary_loses_nothing(nursery, place, tally, workers):
    job = Job(good=2, bad=1, workers=workers)
    calm = calm_run(nursery, place, job)
    check_kinds(place, calm.boundaries)
    # Two workers pass as many boundaries in another order each time; some fewer where one finds the other's work done.
    for fatal in range(1, len(calm.boundaries) + 1 if workers == 1 else len(calm.boundaries) - 4):
        kill_at(nursery, place, job, calm, fatal, tally)


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_a_kill_in_the_middle_of_the_engines_own_writing_loses_nothing(nursery, place, tally):
    """Instants within what the boundaries let in: a commit, a statement, the checkpoint that closing makes."""
    job = Job(good=2)
    calm = calm_run(nursery, place, job)
    chance = random.Random(9)
    kinds = [name for name in dict.fromkeys(calm.boundaries) if name in {"store: before a commit", "store: begun", "store: before closing"}]
    for kind, _ in itertools.product(kinds, range(25)):
        fatal = chance.choice([n for n, name in enumerate(calm.boundaries, start=1) if name == kind])
        kill_at(nursery, place, job, calm, fatal, tally, instant=chance.uniform(0, 0.01))
