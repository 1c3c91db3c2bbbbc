"""`kill -9` at every write boundary: the process ends itself between any two steps by which something becomes durable, and
goes on from there as if nothing had been (docs/explanation/reliability.md, promises 1 to 3).

A calm run is counted first. Then each of its boundaries kills one run, which is checked, resumed and checked again.
"""

import random
import signal

import pytest
from harness import Fatal, Job, Place, Trial, calm_run

ALWAYS = {
    "tape: half a record written",
    "tape: before a commit",
    "tape: committed",
    "journal: begun",
    "journal: before a commit",
    "journal: committed",
    "quarantine: half a record written",
    "quarantine: before a commit",
    "quarantine: committed",
    "store: before a transaction",
    "store: begun",
    "store: before a commit",
    "store: committed",
}
OF_A_STORE = {
    "embedded": {"store: statement done", "store: before closing", "store: closed"},
    "neo4j": {"store: statement sent"},
}


@pytest.fixture(params=["embedded", "neo4j"])
def place(request, tmp_path):
    neo4j = request.getfixturevalue("neo4j_lts") if request.param == "neo4j" else None
    found = Place(request.param, tmp_path, neo4j)
    yield found
    if neo4j:
        found.erase()


def kill(trial, fatal, tally):
    """Kill a run there and hold what must hold; return whether it died (an instant may come too late, or a name not at all)."""
    died = trial.run(fatal).signal == signal.SIGKILL
    if died:
        name = trial.boundaries()[-1]
        trial.hold(fatal.instant is not None or name.startswith(fatal.name), f"more was written after {fatal}")
        tally.add(trial.place.kind, name if fatal.instant is None else f"instants after {fatal.name}")
        trial.check_killed()
    return died


def kill_once(nursery, place, job, calm, fatal, tally):
    """Kill one distillation there, resume it, and hold all that must hold."""
    with Trial(nursery, place, job, calm) as trial:
        died = kill(trial, fatal, tally)
        trial.hold(died or fatal.instant is not None, f"{fatal} was not deadly")
        trial.check_finished(trial.run())


def check_kinds(place, boundaries):
    """Hold that every wrapped place was passed: else the wrapping, not the product, has come apart."""
    wanted = ALWAYS | OF_A_STORE[place.kind]
    assert wanted <= set(boundaries), f"never passed: {wanted - set(boundaries)}"


def kill_in_a_chain(nursery, place, job, calm, number, order, tally):
    """Let each run die at the `number`-th boundary of another kind, and the next go on; return the kinds that killed."""
    with Trial(nursery, place, job, calm) as trial:
        died = {kind for kind in order if kill(trial, Fatal(number, kind), tally)}
        trial.check_finished(trial.run())
    return died


@pytest.mark.long
def test_kills_at_a_write_boundary_of_each_kind_lose_nothing(nursery, place, tally):
    job = Job(good=2, bad=1)
    calm = calm_run(nursery, place, job)
    check_kinds(place, calm.boundaries)
    died = kill_in_a_chain(nursery, place, job, calm, 1, list(dict.fromkeys(calm.boundaries)), tally)
    wanted = ALWAYS | OF_A_STORE[place.kind]
    assert died >= wanted, f"nothing died at {wanted - died}"


@pytest.mark.torture
def test_kills_at_second_write_boundaries_in_another_order_lose_nothing(nursery, place, tally):
    job = Job(good=2, bad=1)
    calm = calm_run(nursery, place, job)
    kinds = list(dict.fromkeys(calm.boundaries))
    assert kill_in_a_chain(nursery, place, job, calm, 2, random.Random(4).sample(kinds, len(kinds)), tally)


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_a_kill_at_every_write_boundary_loses_nothing(nursery, place, tally):
    job = Job(good=2, bad=1)
    calm = calm_run(nursery, place, job)
    check_kinds(place, calm.boundaries)
    for number in range(1, len(calm.boundaries) + 1):
        kill_once(nursery, place, job, calm, Fatal(number), tally)


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_a_kill_at_every_write_boundary_of_a_replacement_loses_nothing(nursery, place, tally):
    """Other settings than before: each query's subgraph is the old one or the new one, and in the end the new one."""
    job = Job(good=2, replaces=True)
    calm = calm_run(nursery, place, job)
    for number, name in enumerate(calm.boundaries, start=1):
        if name.startswith("store:"):
            kill_once(nursery, place, job, calm, Fatal(number), tally)


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_a_kill_in_the_middle_of_the_engines_own_writing_loses_nothing(nursery, place, tally):
    """Instants within what a boundary lets in: a commit, a statement, the checkpoint that closing makes. Two workers."""
    job = Job(good=3, workers=2)
    calm = calm_run(nursery, place, job)
    chance = random.Random(9)
    for kind in ("store: before a commit", "store: begun", "store: before closing"):
        most = calm.boundaries.count(kind)
        for _ in range(20 if most else 0):
            fatal = Fatal(chance.randint(1, most), kind, instant=chance.uniform(0, 0.008))
            kill_once(nursery, place, job, calm, fatal, tally)
