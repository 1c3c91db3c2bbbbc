"""`kill -9` at random instants: schedules of one to four kills, made by hypothesis, each resumed in between.

These are promises 1 to 3. A schedule that breaks one is in the message of the failure, with what the runs did.
"""

import pytest
from harness import Job, Place, Trial, calm_run
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

JOBS = {workers: Job(good=6, workers=workers, delay=0.01) for workers in (2, 6)}

kills = st.tuples(st.integers(0, 14), st.floats(0, 0.06, allow_nan=False))
"""How many more requests the teacher has had, and how many seconds later the process is killed."""
schedules = st.lists(kills, min_size=1, max_size=4)


def profile(examples, *, random):
    # No shrinking and no data base: the machine's timing is part of what was drawn, and does not come again.
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=not random,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )


@pytest.fixture(params=["embedded", "neo4j"])
def place(request, tmp_path):
    neo4j = request.getfixturevalue("neo4j_lts") if request.param == "neo4j" else None
    found = Place(request.param, tmp_path, neo4j)
    yield found
    if neo4j:
        found.erase()


def run_schedules(nursery, place, tally, chosen):
    """Run schedules under the settings `chosen`, each on an empty place with some number of workers."""
    calm = {workers: calm_run(nursery, place, job) for workers, job in JOBS.items()}
    assert len({one.export for one in calm.values()}) == 1, "the export depends on the number of workers"

    @chosen
    @given(workers=st.sampled_from(sorted(JOBS)), schedule=schedules)
    def check(workers, schedule):
        with Trial(nursery, place, JOBS[workers], calm[workers]) as trial:
            for requests, seconds in schedule:
                if trial.kill_after(requests, seconds):
                    tally.add(place.kind, "random instants")
                trial.check_killed()
            trial.check_finished(trial.run())

    check()


@pytest.mark.long
def test_kills_at_some_random_instants_lose_nothing(nursery, place, tally):
    run_schedules(nursery, place, tally, profile(5, random=False))


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_kills_at_many_random_instants_lose_nothing(nursery, place, tally):
    run_schedules(nursery, place, tally, profile(60, random=True))
