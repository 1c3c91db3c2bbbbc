"""A real service that is killed in the middle of a job: the next start ends the job, and pays nothing twice."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing, contextmanager

import httpx
from test_service_jobs import JOBS, QUESTIONS, ended, submit

from drag_graph.app import DragGraph
from drag_graph.service.keys import KeyRing
from drag_graph.testing.server import ScriptedServer

DELAY = 0.4
"""Seconds that the teacher takes for a reply."""


@contextmanager
def service(folder, teacher):
    """Start `drag-graph serve` and lend its process and a client; kill it at the end if it still runs."""
    command = [sys.executable, "-m", "drag_graph", "serve", "--port", "0", "--json", "--store", str(folder / "graph.lbug")]
    model = ["--teacher", "openai/gpt-4o-mini", "--teacher-base-url", teacher.url, "--workers", "1", "--privacy", "off"]
    environment = {**os.environ, "DRAG_GRAPH_TEACHER_API_KEY": "k", "DRAG_GRAPH_EMBEDDER": "lexical"}
    process = subprocess.Popen([*command, *model], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    lines = []
    try:
        for line in process.stdout:
            lines.append(line)
            if line == "}\n":
                break
        address = json.loads("".join(lines))["address"]
        with httpx.Client(base_url=address, timeout=30, trust_env=False) as client:
            yield process, client
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_killed_job_goes_on_and_no_reply_is_asked_for_twice(tmp_path):
    graph = DragGraph(tmp_path / "graph.lbug", embedder="lexical")
    secret = graph.service.add_key("a", "editor", budget_usd=5).secret
    headers = {"Authorization": f"Bearer {secret}"}
    with ScriptedServer(delay=DELAY) as teacher:
        with service(tmp_path, teacher) as (process, client):
            job = submit(client, "distill", {"questions": QUESTIONS[:5]}, headers=headers)
            file = {"files": ("tides.txt", "The Moon causes tides.", "text/plain")}
            waiting = submit(client, "ingest", files=file, headers=headers)
            while client.get(f"{JOBS}/{job}", headers=headers).json()["progress"].get("done", 0) < 2:
                time.sleep(0.02)
            time.sleep(DELAY / 2)
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed_at = time.monotonic()
            paid = [request.prompt for request in teacher.requests if request.at + DELAY < killed_at]
            in_flight = {request.prompt for request in teacher.requests if request.at + DELAY >= killed_at}
        assert len(paid) >= 2
        with service(tmp_path, teacher) as (process, client):
            assert ended(client, job, 60, headers=headers)["state"] == "done"
            report = client.get(f"{JOBS}/{job}/result", headers=headers).json()
            assert [query["status"] for query in report["queries"]] == ["complete"] * 5
            assert ended(client, waiting, headers=headers)["state"] == "done"
            spent = client.get(f"{JOBS}/{job}", headers=headers).json()["spent_usd"]
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        asked = Counter(request.prompt for request in teacher.requests)
        assert {prompt for prompt, number in asked.items() if number > 1} <= in_flight
        assert len(in_flight) <= 1
    with closing(graph), closing(KeyRing(graph.settings.service_records_path)) as ring:
        assert graph.show(limit=10).total == 6
        # The call that the kill interrupted may have been charged, so it counts in full.
        assert ring.key("a").spent_usd == spent > 0
        assert spent >= sum(call.cost_usd for item in graph.show(limit=10).subgraphs for call in item.calls)
