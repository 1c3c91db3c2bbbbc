"""`kill -9` of a distillation at random instants: what was reported complete survives, nothing recorded is paid for twice, and
the resumed run's export equals that of a run that was left alone (design, section 8, promises 1 to 3)."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from pathlib import Path

import pytest

from drag_graph.testing.server import ScriptedServer

ROOT = Path(__file__).parents[2]
QUESTIONS = [{"id": str(n), "question": f"Why does thing number {n} cause effect number {n}?"} for n in range(16)]
WORKERS = 4


@pytest.fixture(params=["embedded", "neo4j"])
def place(request, tmp_path):
    """Return a function that gives the flags and environment of a store of its own."""
    if request.param == "embedded":
        return lambda name: (["--store", str(tmp_path / name / "graph.lbug")], {})
    uri, user, password = request.getfixturevalue("neo4j_lts")
    run = uuid.uuid4().hex
    variables = {"NEO4J_USERNAME": user, "NEO4J_PASSWORD": password}
    return lambda name: (["--store", uri], {**variables, "DRAG_GRAPH_NAMESPACE": f"{run}-{name}"})


def command(args, variables):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DRAG_GRAPH_EMBEDDER": "lexical", **variables}
    return [sys.executable, "-m", "drag_graph", *args], environment


def distil(folder, server, flags, tape):
    teacher = ["--teacher", "scripted", "--teacher-base-url", server.url, "--tape", str(tape)]
    return ["distill", str(folder / "q.jsonl"), *teacher, "--workers", str(WORKERS), "--json", *flags]


def finish(args, variables):
    line, environment = command(args, variables)
    done = subprocess.run(line, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def kill_during(args, variables, server, after):
    """Run until the server has seen `after` more requests, then kill -9; return whether it was killed in time."""
    line, environment = command(args, variables)
    seen = server.count()
    with subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + 120
        while process.poll() is None and server.count() < seen + after and time.monotonic() < until:
            time.sleep(0.002)
        time.sleep(random.uniform(0, 0.05))
        killed = process.poll() is None
        process.send_signal(signal.SIGKILL)
    return killed


def without_namespace(export):
    """Return the export's lines as records that two namespaces can be compared by: texts, not the ids made with it."""
    records = [json.loads(line) for line in export.splitlines()]
    texts = []
    for record in records:
        kept = {
            key: value
            for key, value in record["properties"].items()
            if key not in {"namespace", "id"} and not key.endswith(("_id", "_ids", "sha256")) and key != "settings_hash"
        }
        texts.append(json.dumps([record["kind"], record.get("label") or record.get("type"), kept], sort_keys=True))
    return sorted(texts)


def asked_of(server):
    """Return how often each distinct request was made."""
    return Counter(json.dumps(request.body, sort_keys=True) for request in server.requests if request.schema)


def test_kill_and_resume_end_as_an_undisturbed_run(tmp_path, place):
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in QUESTIONS), encoding="utf-8")
    with ScriptedServer(delay=0.02) as server:
        flags, variables = place("calm")
        finish(distil(tmp_path, server, flags, tmp_path / "calm.tape"), variables)
        calm, once = finish(["export", *flags], variables), asked_of(server)

    with ScriptedServer(delay=0.02) as server:
        flags, variables = place("killed")
        args = distil(tmp_path, server, flags, tmp_path / "killed.tape")
        kills, complete = 0, set()
        for after in (2, 9, 14):
            kills += kill_during(args, variables, server, after)
            stored = json.loads(finish(["show", "--limit", "1000", *flags, "--json"], variables))
            now = {query["id"] for query in stored}
            assert complete <= now, "a stored query was lost"
            complete = now
        assert kills >= 2
        assert complete, "the kills came before anything was stored"
        report = json.loads(finish(args, variables))
        assert {query["status"] for query in report["queries"]} == {"complete"}
        assert json.loads(finish(["db", "verify", *flags, "--json"], variables)) == {"problems": []}
        killed, asked = finish(["export", *flags], variables), asked_of(server)
    assert without_namespace(killed) == without_namespace(calm)
    assert set(asked) == set(once)
    repeated = sum(asked.values()) - len(asked)
    assert repeated <= (kills + 1) * WORKERS, "more was asked again than the calls in flight at each kill"
