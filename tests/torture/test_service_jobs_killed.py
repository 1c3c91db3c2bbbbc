"""A service is killed, or told to stop, again and again while jobs run: nothing is lost, and no reply is paid for twice."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import httpx
import pytest

from drag_graph.app import DragGraph
from drag_graph.testing.server import ScriptedServer

TIMES = 20
"""Number of interruptions; the kills and the stops take turns."""
JOBS = "/api/v1/jobs"
QUESTIONS = 12


@pytest.mark.torture
def test_jobs_survive_kills_and_stops(tmp_path):
    chance = random.Random(7)
    command = [sys.executable, "-m", "drag_graph", "serve", "--port", "0", "--json", "--store", str(tmp_path / "graph.lbug")]
    environment = {**os.environ, "DRAG_GRAPH_TEACHER_API_KEY": "k", "DRAG_GRAPH_EMBEDDER": "lexical"}
    jobs, asked, interruptions = [], 0, Counter()
    with ScriptedServer(delay=0.05) as teacher:
        model = ["--teacher", "openai/scripted", "--teacher-base-url", teacher.url, "--workers", "2", "--privacy", "off"]
        for turn in range(TIMES + 1):
            process = subprocess.Popen([*command, *model], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
            try:
                printed = ""
                while not printed.endswith("}\n"):
                    printed += process.stdout.readline()
                with httpx.Client(base_url=json.loads(printed)["address"], timeout=30, trust_env=False) as client:
                    if turn == TIMES:
                        states = finished(client, jobs)
                        break
                    questions = [f"Why does cause {turn}.{number} have an effect?" for number in range(QUESTIONS)]
                    reply = client.post(f"{JOBS}/distill", json={"questions": questions})
                    jobs.append(reply.raise_for_status().json()["id"])
                    asked += QUESTIONS
                    time.sleep(chance.uniform(0.05, 1.5))
                number = signal.SIGTERM if turn % 2 else signal.SIGKILL
                process.send_signal(number)
                assert process.wait(60) == (-signal.SIGKILL if number == signal.SIGKILL else 0)
                interruptions[number] += 1
            finally:
                process.kill()
                process.wait()
                process.stdout.close()
        prompts = Counter(request.prompt for request in teacher.requests)
    assert states == ["done"] * TIMES
    repeated = sum(number - 1 for number in prompts.values())
    assert repeated <= 2 * interruptions[signal.SIGKILL], "only calls in flight at a kill are repeated, one for each worker"
    with DragGraph(tmp_path / "graph.lbug", embedder="lexical") as graph:
        assert graph.show(limit=1).total == asked
        assert graph.store.verify().problems == ()


def finished(client, jobs):
    """Wait until all jobs have ended, and return their states."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        states = [client.get(f"{JOBS}/{job}").json()["state"] for job in jobs]
        if not {"queued", "running"} & set(states):
            return states
        time.sleep(0.5)
    raise AssertionError(states)
