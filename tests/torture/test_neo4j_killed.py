"""`kill -9` of Neo4j itself in the middle of a distillation (docs/explanation/reliability.md, promises 1 to 3).

The command that distills waits for the server and goes on, or gives up with exit code 3 and is resumed, or is killed with it.
"""

import itertools
import os
import random
import signal
import time

import pytest
from harness import LONGEST, Job, Place, Trial, calm_run
from own_server import OwnServer

from drag_graph.errors import StoreUnavailable

JOB = Job(good=6, workers=3, delay=0.01)
PATIENCE = {"waits": 400.0, "gives up": 0.5, "is killed too": 400.0}
pytestmark = pytest.mark.timeout(3600)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with OwnServer(tmp_path_factory.mktemp("neo4j") / "home") as found:
        yield found


def kill_both(trial, server, passed, seconds, way):
    """Run until so many boundaries of the store were passed, and that long on; kill the server, and bring it back."""
    pid = trial.start()
    deadline = time.monotonic() + LONGEST
    while sum(name.startswith("store:") for name in trial.boundaries()) < passed:
        assert time.monotonic() < deadline, "the run stands still"
        time.sleep(0.001)
    time.sleep(seconds)
    server.kill()
    if way == "is killed too":
        os.kill(pid, signal.SIGKILL)
    if way != "waits":
        ended = trial.end(f"the server was killed {seconds:.4f} s after {passed} boundaries, and the run {way}")
    server.gone()
    server.start()
    return trial.end(f"the server was killed {seconds:.4f} s after {passed} boundaries") if way == "waits" else ended


def kill_server(nursery, place, calm, tally, server, kills):
    """Kill the server in a distillation for each (boundaries passed, seconds, way), and hold what must hold."""
    for passed, seconds, way in kills:
        place.variables["DRAG_GRAPH_STORE_TIMEOUT"] = str(PATIENCE[way])
        with Trial(nursery, place, JOB, calm) as trial:
            ended = kill_both(trial, server, passed, seconds, way)
            tally.add("neo4j", f"the server, and the command {way}")
            place.variables["DRAG_GRAPH_STORE_TIMEOUT"] = "60"
            trial.check_killed()
            if way == "waits":
                trial.check_finished(ended)
            elif way == "gives up":
                said = (trial.folder / "report-0.err").read_text()
                trial.hold(ended == ([StoreUnavailable.exit_code], 0), f"the run ended {ended}: {said}")
                trial.hold("Traceback" not in said, said)
                trial.hold(trial.reported() <= trial.complete, "the report calls complete what is not stored")
            if way != "waits":
                trial.check_finished(trial.run())


def calm_of(nursery, server, folder):
    """Return the place on the server, and what a calm run ends with there."""
    place = Place("neo4j", folder, server.login, store_timeout=60)
    calm_run(nursery, place, JOB)  # this one migrates
    calm = calm_run(nursery, place, JOB)
    return place, calm, sum(name.startswith("store:") for name in calm.boundaries)


@pytest.mark.long
@pytest.mark.parametrize(("share", "seconds", "way"), [(1 / 2, 0.0, "waits"), (1 / 3, 0.002, "gives up")])
def test_a_distillation_survives_a_kill_of_neo4j(nursery, server, tmp_path, tally, share, seconds, way):
    place, calm, most = calm_of(nursery, server, tmp_path)
    kill_server(nursery, place, calm, tally, server, [(int(most * share), seconds, way)])


@pytest.mark.torture
def test_a_distillation_survives_many_kills_of_neo4j(nursery, server, tmp_path, tally):
    place, calm, most = calm_of(nursery, server, tmp_path)
    chance = random.Random(6)
    ways = itertools.islice(itertools.cycle(PATIENCE), 24)
    kills = [(chance.randint(1, most - 6), chance.uniform(0, 0.02), way) for way in ways]
    kill_server(nursery, place, calm, tally, server, kills)
