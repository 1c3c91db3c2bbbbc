"""A real service that is killed in the middle of a job: the next start ends the job, and pays nothing twice."""

import signal
import time
from collections import Counter
from contextlib import closing, contextmanager

import httpx
import pytest
from test_service_jobs import JOBS, QUESTIONS, ended, submit

from drag_graph.app import DragGraph
from drag_graph.compose.store_opening import open_ledger
from drag_graph.ledger.budget import dollars
from drag_graph.service.keys import KeyRing
from drag_graph.testing.server import ScriptedServer
from tests.service_clients import serving

SLOW = 5.0
"""Seconds that the teacher takes for the reply during which the service is killed."""


@contextmanager
def service(folder, teacher):
    """Lend the process of a service and a client."""
    with (
        serving(folder, teacher, model="openai/gpt-4o-mini", workers=1) as (process, address),
        httpx.Client(base_url=address, timeout=30, trust_env=False) as client,
    ):
        yield process, client


def test_a_killed_job_goes_on_and_no_reply_is_asked_for_twice(tmp_path):
    graph = DragGraph(tmp_path / "graph.lbug", embedder="lexical")
    secret = graph.service.add_key("a", "editor", budget_usd=5).secret
    headers = {"Authorization": f"Bearer {secret}"}
    with ScriptedServer(delay=0.1) as teacher:
        with service(tmp_path, teacher) as (process, client):
            job = submit(client, "distill", {"questions": QUESTIONS[:8]}, headers=headers)
            file = {"files": ("tides.txt", "The Moon causes tides.", "text/plain")}
            waiting = submit(client, "ingest", files=file, headers=headers)
            while client.get(f"{JOBS}/{job}", headers=headers).json()["progress"].get("done", 0) < 1:
                time.sleep(0.02)
            teacher.delay = SLOW
            asked = len(teacher.requests)
            while len(teacher.requests) < asked + 1:  # the only worker has the replies to all but the last
                time.sleep(0.02)
            process.send_signal(signal.SIGKILL)
            process.wait()
            teacher.delay = 0
            *paid, in_flight = [request.prompt for request in teacher.requests]
        assert len(paid) >= 3
        with service(tmp_path, teacher) as (process, client):
            assert ended(client, job, 60, headers=headers)["state"] == "done"
            report = client.get(f"{JOBS}/{job}/result", headers=headers).json()
            assert [query["status"] for query in report["queries"]] == ["complete"] * 8
            assert ended(client, waiting, headers=headers)["state"] == "done"
            spent = client.get(f"{JOBS}/{job}", headers=headers).json()["spent_usd"]
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        asked = Counter(request.prompt for request in teacher.requests)
        assert {prompt for prompt, number in asked.items() if number > 1} == {in_flight}
        assert asked[in_flight] == 2
    with closing(graph), closing(KeyRing(graph.settings.service_records_path)) as ring:
        assert graph.show(limit=20).total == 9
        with closing(open_ledger(graph.settings, read_only=True)) as ledger, ledger.reading() as rows:
            (paid_usd,) = rows.execute("SELECT sum(cost_usd) FROM calls").fetchone()
            ((killed,),) = rows.execute("SELECT nanos FROM reservations").fetchall()
        # The call that the kill interrupted may have been charged, so it counts in full.
        assert ring.key("a").spent_usd == spent == pytest.approx(paid_usd + dollars(killed))
        assert killed > 0
