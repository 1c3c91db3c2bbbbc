"""A service is killed, or told to stop, again and again while it runs jobs and answers: nothing is lost or mixed up."""

import json
import os
import random
import signal
import threading
import time
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import pytest

from drag_graph.app import DragGraph
from drag_graph.model import Document
from drag_graph.service.keys import KeyRing
from drag_graph.testing.server import ScriptedServer
from tests.service_clients import serving

TIMES = 20
"""Number of interruptions; the kills and the stops take turns."""
API = "/api/v1"
TEAMS = ("amber", "cobalt")
"""Names of two keys, each with a namespace of that name."""
QUESTIONS = 6
STOPPING = 503


def submitted(client, team, turn):
    """Submit questions and a document of a team, and return the ids of the jobs."""
    questions = [f"Why does {team} cause {turn}.{number} have an effect?" for number in range(QUESTIONS)]
    file = (f"{turn}.txt", f"Crane {turn} of the harbour is driven by {team} steam.", "text/plain")
    replies = [
        client.post(f"{API}/jobs/distill", json={"questions": questions}),
        client.post(f"{API}/jobs/ingest", files={"files": file}),
    ]
    return [reply.raise_for_status().json()["id"] for reply in replies]


def ask_until_the_end(client, turn, answers):
    """Ask until the service stops or is gone, and add the answers."""
    body = {"question": f"What drives crane {max(turn - 1, 0)} of the harbour?"}
    try:
        while (reply := client.post(f"{API}/ask", json=body)).status_code != STOPPING:
            answers.append(reply.raise_for_status().json())
    except httpx.TransportError:
        return


def finished(client, jobs):
    """Wait until all jobs have ended, and return their states."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        states = [client.get(f"{API}/jobs/{job}").json()["state"] for job in jobs]
        if not {"queued", "running"} & set(states):
            return states
        time.sleep(0.5)
    raise AssertionError(states)


def sizes(process):
    """Return the open files and the resident megabytes of a process."""
    folder = Path(f"/proc/{process.pid}")
    pages = int((folder / "statm").read_text().split()[1])
    return len(list((folder / "fd").iterdir())), pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.fixture
def headers(tmp_path):
    """The headers of each team's requests."""
    with (
        DragGraph(tmp_path / "graph.lbug", embedder="lexical") as graph,
        closing(KeyRing(graph.settings.service_records_path)) as ring,
    ):
        secrets = {team: ring.add(team, "editor", [team])[0] for team in TEAMS}
    return {team: {"Authorization": f"Bearer {secret}", "X-Namespace": team} for team, secret in secrets.items()}


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_jobs_survive_kills_and_stops(tmp_path, headers):
    chance = random.Random(7)
    jobs, answers = {team: [] for team in TEAMS}, {team: [] for team in TEAMS}
    interruptions, measured = Counter(), []
    with ScriptedServer(delay=0.05) as teacher:
        for turn in range(TIMES + 1):
            with serving(tmp_path, teacher, model="openai/scripted", workers=2) as (process, address), ExitStack() as opened:
                clients = {
                    team: opened.enter_context(
                        httpx.Client(base_url=address, timeout=60, trust_env=False, headers=headers[team])
                    )
                    for team in TEAMS
                }
                # Jobs of the turn before may still wait, so that a service starts with work to resume.
                waited_for = -2 if turn < TIMES else None
                states = [state for team in TEAMS for state in finished(clients[team], jobs[team][:waited_for])]
                if turn == TIMES:
                    break
                asking = []
                for team in TEAMS:
                    jobs[team] += submitted(clients[team], team, turn)
                    asking.append(threading.Thread(target=ask_until_the_end, args=(clients[team], turn, answers[team])))
                    asking[-1].start()
                time.sleep(chance.uniform(0.3, 3))
                measured.append(sizes(process))
                number = signal.SIGTERM if turn % 2 else signal.SIGKILL
                process.send_signal(number)
                assert process.wait(60) == (-signal.SIGKILL if number == signal.SIGKILL else 0)
                interruptions[number] += 1
                for thread in asking:
                    thread.join()
        prompts = Counter(request.prompt for request in teacher.requests)
    repeated = sum(number - 1 for number in prompts.values())
    files, megabytes = zip(*measured, strict=True)
    print({"answers": {team: len(answers[team]) for team in TEAMS}, "repeated": repeated, "files": files, "MB": megabytes})  # noqa: T201
    assert states == ["done"] * 4 * TIMES
    assert repeated <= 2 * interruptions[signal.SIGKILL], "only calls in flight at a kill are repeated, one for each worker"
    for team, other in (TEAMS, TEAMS[::-1]):
        check_team(tmp_path / "graph.lbug", team, other, answers[team])
    assert max(files[-5:]) <= max(files[:5]) + 5
    assert max(megabytes[-5:]) <= 1.2 * max(megabytes[:5])
    assert not [*tmp_path.glob("*.service-records-files/*")], "the files of jobs are removed"


def check_team(store, team, other, answers):
    """Check that a team's documents and answers are stored once, and that it received nothing of the other team."""
    assert any(f"{team} steam" in answer["answer"] for answer in answers)
    assert other not in json.dumps(answers)
    with DragGraph(store, embedder="lexical", namespace=team) as graph:
        documents = [one.source.name for one in graph.show(limit=1000).subgraphs if isinstance(one.source, Document)]
        assert sorted(documents) == sorted(f"{turn}.txt" for turn in range(TIMES))
        assert graph.show(limit=1).total == TIMES * (QUESTIONS + 1)
        kept = {answer["answer_id"] for answer in answers if answer["answer_id"]}  # None while nothing is stored
        assert kept <= {answer.id for answer in graph.answers(limit=100_000)}
        assert graph.store.verify().problems == ()
